"""The watch: one a project, ended by SIGTERM, and all it does is what anybody could do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from jsonschema import Draft202012Validator

from clew.kit.call import Call
from clew.kit.errors import Conflict, NotFound
from clew.program import all_tools
from clew.work.processes.identity import identity_of, is_alive
from clew.work.scheduling.start import start_watch
from clew.work.scheduling.watch import (
    Watch,
    WatchOptions,
    is_watched,
    stop_watch,
    watch_status,
)
from clew.work.worktrees.worktrees import path_of
from tests.specs.tools.project import Chant
from tests.support.client import BIN
from tests.support.proof import amount
from tests.support.waiting import LIMIT_SECONDS, wait_until
from tests.work.merging.making import status_of


def log_of(shop):
    return (shop.root / ".chant" / "logs" / "watch.log").read_text(encoding="utf-8")


def test_the_tools_say_what_is_documented(shop):
    with Chant(shop.root) as chant:
        assert chant.error("chant_watch_stop") == "Watch is not running"
        assert chant.json("chant_watch_status") == {
            "watch_running": False,
            "worktrees": [],
            "worktree_count": 0,
        }
        text = chant.text("chant_watch_start")
        pid = int((shop.root / ".chant" / "watch.pid").read_text())
        assert text == f"Started watch process (PID: {pid})"
        assert chant.error("chant_watch_start") == "Watch is already running"
        assert chant.json("chant_watch_status")["watch_running"] is True
        process = identity_of(pid)
        assert chant.text("chant_watch_stop") == f"Sent stop signal to watch process (PID: {pid})"
        wait_until(lambda: not is_alive(process))
        wait_until(lambda: not (shop.root / ".chant" / "watch.pid").exists())
        assert chant.error("chant_watch_stop") == "Watch is not running"
    assert "watch ended" in log_of(shop)


@pytest.mark.parametrize(
    "name", ["chant_watch_status", "chant_watch_start", "chant_watch_stop", "chant_split"]
)
def test_answers_keep_their_schemas(shop, name):
    shop.spec("001", False, False, status="pending")
    shop.finished("002", {"two.txt": "2\n"}, status="in_progress")
    if name == "chant_watch_stop":
        start_watch(shop.work)
    tool = next(tool for tool in all_tools() if tool.name == name)
    given = {"id": "001"} if name == "chant_split" else {}
    answer = tool.handler(given, Call(settings={"project": str(shop.root)}))
    Draft202012Validator(tool.output_schema).validate(answer.structured())


def test_without_a_store_the_tools_say_so(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with Chant(tmp_path) as chant:
        for name in ("chant_watch_status", "chant_watch_start", "chant_watch_stop"):
            assert chant.error(name) == "Chant not initialized. Run `chant init` first."


def test_worktrees_are_told_with_their_state(shop):
    work = shop.finished("001", {"new.txt": "new\n"})
    (view,) = watch_status(shop.paths)["worktrees"]
    assert view == {
        "spec_id": "001",
        "path": str(work.path),
        "status": "unknown",
        "updated_at": None,
        "error": "No status file found",
        "commits": [work.text("rev-parse", "--short", "HEAD")],
    }
    told = '{"spec_id": "001", "status": "done", "updated_at": "2026-02-02T10:30:00Z"}'
    (work.path / ".chant-status.json").write_text(told)
    (view,) = watch_status(shop.paths)["worktrees"]
    assert (view["status"], view["updated_at"], view["error"]) == (
        "done", "2026-02-02T10:30:00Z", None,
    )  # fmt: skip


def test_the_watch_merges_and_cleans_up(shop):
    shop.finished("001", {"one.txt": "1\n"})
    shop.finished("002", {"two.txt": "2\n"}, status="in_progress")
    start_watch(shop.work)
    wait_until((shop.root / "one.txt").exists)
    wait_until(lambda: not path_of(shop.root, "001").exists())
    stop_watch(shop.paths, 120)
    assert not is_watched(shop.paths)
    assert not (shop.root / "two.txt").exists()
    assert path_of(shop.root, "002").exists()
    assert "001: merge into main: merged" in log_of(shop)


def test_two_watches_one_runs(shop):
    start_watch(shop.work)
    with pytest.raises(Conflict, match="Watch is already running"):
        start_watch(shop.work)
    done = subprocess.run(
        [str(BIN / "chant"), "watch"], cwd=shop.root, capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, b"Watch is already running" in done.stderr) == (1, True)
    stop_watch(shop.paths, 120)


def test_of_many_starters_one_wins(shop):
    children = [
        subprocess.Popen(
            [str(BIN / "chant"), "watch", "--background"],
            cwd=shop.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for child in children:
        child.communicate(timeout=60)
    assert sorted(child.returncode for child in children) == [0, 1, 1, 1]
    stop_watch(shop.paths, 120)


def cost_of(pid):
    """What a process has used so far: seconds of its own, of its children, and its wake-ups."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        said = dict(line.split(":", 1) for line in file)
    own, own_system, children, children_system = (int(field) for field in fields[11:15])
    ticks = os.sysconf("SC_CLK_TCK")
    wakes = int(said["voluntary_ctxt_switches"])
    return (own + own_system) / ticks, (children + children_system) / ticks, wakes


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_idle_watch_sleeps(shop):
    """In full: a minute at the usual interval, at most 0.1 % of a core and a wake-up each time."""
    interval, seconds = amount((0.2, 4), (5.0, 60))
    for number in range(20):
        shop.spec(f"{number:03}", False, status="pending")
    shop.finished("100", {"one.txt": "1\n"}, status="in_progress")
    command = [BIN / "chant", "watch", "--background", "--poll-interval", str(int(interval * 1000))]
    subprocess.run(command, cwd=shop.root, check=True, capture_output=True, timeout=60)
    pid = int((shop.root / ".chant" / "watch.pid").read_text())

    def is_idle():
        before, began = cost_of(pid), time.monotonic()
        time.sleep(seconds)
        after, took = cost_of(pid), time.monotonic() - began
        own, children, wakes = (b - a for a, b in zip(before, after, strict=True))
        quiet = own <= amount(0.2, 0.001 * took) and wakes <= 1.5 * took / interval + 3
        return after[1] > 0 and children == 0 and quiet

    wait_until(is_idle, limit=max(LIMIT_SECONDS, 5 * seconds))  # once its first looks are over


def test_what_changes_while_the_watch_sleeps_is_seen(shop):
    watch = Watch(shop.root)
    while watch.look_if_changed():
        pass
    assert watch.is_idle
    shop.finished("001", {"one.txt": "1\n"})
    wait_until(watch.look_if_changed)
    assert shop.shown("one.txt") == "1\n"
    file = shop.root / "one.txt"
    file.write_text("mine\n")
    shop.finished("002", {"one.txt": "2\n"})
    wait_until(lambda: watch.look_if_changed() == 0 and shop.entry("002"))
    assert (shop.entry("002").status, watch.is_idle) == ("waiting", False)
    file.write_text("1\n")  # which no picture shows
    wait_until(watch.look_if_changed)
    assert shop.shown("one.txt") == "2\n"


def test_a_watch_ends_with_its_project(shop):
    process = identity_of(start_watch(shop.work))
    shop.root.rename(shop.root.with_name("elsewhere"))
    wait_until(lambda: not is_alive(process))
    assert not shop.root.exists()


def test_a_killed_watch_leaves_nothing_that_is_in_the_way(shop):
    pid = start_watch(shop.work)
    process = identity_of(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(process))
    assert (shop.root / ".chant" / "watch.pid").exists()
    # A child that it had just forked has the lock until it is a program of its own.
    wait_until(lambda: not is_watched(shop.paths))
    with pytest.raises(NotFound, match="Watch is not running"):
        stop_watch(shop.paths)
    assert start_watch(shop.work) != pid
    stop_watch(shop.paths, 120)


def test_a_pid_file_of_somebody_else_does_no_harm(shop):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        (shop.root / ".chant" / "watch.pid").write_text(f"{sleeper.pid}\n")
        with pytest.raises(NotFound):
            stop_watch(shop.paths)
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_sigterm_in_the_middle_of_a_check_keeps_the_entry(shop):
    shop.configure("watch:", "  poll_interval_ms: 100", "merge:", "  checks: [sleep 600]")
    shop.finished("001", {"one.txt": "1\n"})
    main = shop.main()
    process = identity_of(start_watch(shop.work))
    wait_until(lambda: (entry := shop.entry("001")) and entry.candidate)
    stop_watch(shop.paths, 120)
    assert not is_alive(process)
    assert not (shop.root / ".chant" / "watch.pid").exists()
    assert (shop.entry("001").status, shop.main()) == ("queued", main)
    shop.configure("merge:", "  checks: [test -f one.txt]")
    assert [result.status for result in shop.merger().work_off()] == ["merged"]


def test_an_idle_watch_ends_by_itself(shop):
    shop.configure("watch:", "  poll_interval_ms: 100", "  idle_timeout_minutes: 0.005")
    start_watch(shop.work)
    wait_until(lambda: not is_watched(shop.paths))
    assert "nothing to do" in log_of(shop)


def test_a_conflict_is_told_once_and_tried_again_when_something_changed(shop):
    shop.finished("001", {"a.txt": "1\n"})
    shop.finished("002", {"a.txt": "2\n"})
    said = []
    watch = Watch(shop.root, say=said.append)
    while watch.look():
        pass
    assert status_of(shop, "002") == "needs_attention"
    count = len(said)
    assert watch.look() == 0
    assert len(said) == count
    shop.repo.commit("back", {"a.txt": "a\n"})  # now it fits
    assert watch.look() > 0
    assert shop.shown("a.txt") == "2\n"
    assert status_of(shop, "002") == "completed"


def test_a_dry_look_changes_nothing(shop):
    shop.finished("001", {"one.txt": "1\n"})
    before, main, said = shop.picture(), shop.main(), []
    Watch(shop.root, options=WatchOptions(dry_run=True), say=said.append).look()
    assert said == ["001: would be merged"]
    assert (shop.picture(), shop.main()) == (before, main)


def test_ready_specs_are_started_only_if_asked(shop):
    shop.configure(
        "defaults:", "  provider: command", "  command: [touch, started.txt]",
        "watch:", "  poll_interval_ms: 100",
    )  # fmt: skip
    shop.spec("001", False, status="pending")
    said = []
    Watch(shop.root, say=said.append).look()
    assert status_of(shop, "001") == "pending"
    Watch(shop.root, options=WatchOptions(start=1), say=said.append).look()
    assert "001: started" in said
    watch = Watch(shop.root, say=said.append)

    def is_over():
        watch.look_if_changed()
        return watch.is_idle

    wait_until(is_over)
    assert status_of(shop, "001") == "needs_attention"  # it left a file that it did not commit
