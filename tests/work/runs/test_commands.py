"""The commands, as people type them: in a pipe, with --json, and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import threading

import pytest

from tests.support.client import BIN
from tests.support.waiting import wait_until

WORKS = ("tool Bash make_test", "edit a.txt", "commit a.txt", "tick")


def start(house, *words, name="clew", **settings):
    """Start a command in the project."""
    return subprocess.Popen(
        [str(BIN / name), *words],
        cwd=house.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def said(house, *words, code=0, name="clew"):
    """What a command says on standard output and standard error."""
    process = start(house, *words, name=name)
    out, errors = process.communicate(timeout=90)
    assert process.returncode == code, (out, errors)
    return out, errors


def data(house, *words, **settings):
    """What a command answers with --json."""
    return json.loads(said(house, *words, "--json", **settings)[0])["data"]


def test_work_in_a_pipe_tells_its_steps_and_its_end(house):
    house.spec("001", *WORKS)
    out, errors = said(house, "work", "001", "--no-watch")
    assert out == "001: completed; the work is on branch chant/001, merge it: `clew merge 001`.\n"
    lines = [line.partition(" ")[2] for line in errors.splitlines()]
    assert "001: run started" in lines
    assert '001: tool: Bash {"command":"make test"}' in lines
    assert lines[-1] == "001: run finished"


def test_work_on_a_terminal_shows_a_table_that_lives(house):
    house.spec("001", *WORKS, "sleep 1")
    near, far = pty.openpty()
    process = subprocess.Popen(
        [str(BIN / "clew"), "work", "001", "--no-watch"],
        cwd=house.root, stdout=subprocess.PIPE, stderr=far,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(far)
    seen = bytearray()

    def read():
        while True:
            try:
                chunk = os.read(near, 65536)
            except OSError:
                return
            if not chunk:
                return
            seen.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    out, _ = process.communicate(timeout=90)
    reader.join(120)
    os.close(near)
    assert out.decode().startswith("001: completed; the work is on branch chant/001, merge it")
    assert b"spec" in seen
    assert b"started" in seen
    assert b"\x1b[" in seen


def test_work_that_is_not_done_says_why_and_fails(house):
    house.spec("001", "edit a.txt", "commit a.txt")
    out, _ = said(house, "work", "001", "--no-watch", code=1)
    assert out.startswith("001: needs attention\n1 of 1 acceptance criteria are not checked:\n")
    answer = data(house, "work", "001", "--no-watch", code=1)
    assert (answer["spec_status"], answer["failure_class"]) == ("needs_attention", "criteria")
    assert answer["attempt"] == 2


def test_several_specs_end_in_a_table(house):
    for name in ("a", "b"):
        house.spec(name, f"edit {name}.txt", f"commit {name}.txt", "tick")
    out, _ = said(house, "work", "--parallel", "2", name="chant")
    assert out.endswith("parallel(2): 2 completed\n")
    answer = data(house, "runs")["runs"]
    assert {run["spec_id"]: run["phase"] for run in answer} == {"a": "finished", "b": "finished"}


def test_a_run_is_paused_resumed_taken_over_and_released(house):
    house.spec("001", "edit a.txt", "mark run-1", "once run-h hang", "commit a.txt", "tick")
    assert data(house, "work", "001", "--detach", "--no-watch")["mode"] == "single"
    wait_until((house.root / "run-1").exists)
    assert said(house, "pause", "001")[0] == "Successfully paused work for spec '001'\n"
    out, _ = said(house, "resume", "001", "--no-watch")
    assert out.startswith("001: completed")
    assert "No runs yet" not in said(house, "runs", "001")[0]
    house.spec("002", "edit b.txt", "mark run-2", "once run-k hang", "commit b.txt", "tick")
    said(house, "work", "002", "--detach", "--no-watch")
    wait_until((house.root / "run-2").exists)
    out, _ = said(house, "takeover", "002")
    assert "Uncommitted: b.txt." in out
    assert "clew release 002 --continue" in out
    assert "002: completed" in said(house, "release", "002", "--continue")[0]


def test_all_work_is_paused_at_once(house):
    for name in ("a", "b", "c"):
        house.spec(name, f"mark run-{name}", "hang")
    said(house, "work", "--parallel", "2", "--detach")
    wait_until((house.root / "run-a").exists)
    wait_until((house.root / "run-b").exists)
    paused = data(house, "pause", "--all")["paused"]
    assert sorted(entry["id"] for entry in paused) == ["a", "b"]
    assert (house.status("a"), house.status("c")) == ("in_progress", "pending")


def test_logs_are_followed_until_the_run_is_over(house):
    house.spec("001", "say hello there", "mark run-1", "wait_for run-go", *WORKS)
    said(house, "work", "001", "--detach", "--no-watch")
    wait_until((house.root / "run-1").exists)
    process = start(house, "logs", "-f", "001")
    (house.root / "run-go").write_text("")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "hello there" in out
    assert "state: run finished" in out


def test_ctrl_c_leaves_the_work_running(house):
    import signal

    house.spec("001", "mark run-1", "wait_for run-go", *WORKS)
    process = start(house, "work", "001", "--no-watch", start_new_session=True)
    while "run started" not in process.stderr.readline():
        pass
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "The work goes on without you" in errors
    (house.root / "run-go").write_text("")
    assert house.settled("001").phase == "finished"


def test_the_watch_is_started_with_the_work_and_merges_it(house):
    house.spec("001", *WORKS)
    try:
        said(house, "work", "001")
        wait_until(lambda: "a.txt" in house.repo.text("ls-tree", "--name-only", "main"))
    finally:
        said(house, "watch", "--stop")
    assert house.status("001") == "completed"


@pytest.mark.parametrize(
    ("words", "code", "wanted"),
    [
        (("work",), 2, "No spec is named"),
        (("work", "zz"), 1, "Spec not found: zz"),
        (("pause",), 2, "Name one spec, or use --all"),
        (("pause", "001"), 1, "No running process found"),
        (("resume", "001"), 1, "No agent has worked on spec '001'"),
        (("release", "001", "--continue", "--finish"), 2, "exclude each other"),
        (("logs", "001"), 1, "No log file found for spec '001'"),
        (("work", "001", "--agent", "nobody"), 1, "Unknown agent: nobody"),
    ],
)
def test_mistakes_are_explained(house, words, code, wanted):
    house.spec("001")
    assert wanted in said(house, *words, code=code)[1]
