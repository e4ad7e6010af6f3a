"""Whole runs: real processes, real worktrees, agents that behave well and badly."""

from __future__ import annotations

import json
import re
import sys

import pytest

from clew.kit.errors import Conflict, Invalid, NotFound, Unavailable
from clew.work.journal.run_log import read_events
from clew.work.model import AgentChoice, Limits, WorktreeSettings
from clew.work.processes.identity import processes_of_run
from clew.work.runs.prepare import continuation, preflight, start_run
from tests.support.waiting import wait_until
from tests.work.conftest import SCRIPT

STAMPED = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] ")


def worktree_file(run, name):
    from pathlib import Path

    return Path(run.worktree) / name


def test_an_agent_edits_and_commits_on_its_own_branch(project):
    head = project.repo.head()
    run = project.ended(project.start("edit", "commit"))
    assert (run.phase, run.exit_code, run.failure_class) == ("finished", 0, None)
    assert project.history(run.run_id) == [
        "prepared", "worktree", "started", "agent_exited", "finished",
    ]  # fmt: skip
    assert run.base_commit == head == project.repo.head()
    assert project.repo.text("log", "--format=%s", f"{head}..chant/001") == (
        "chant(001): make made.txt"
    )
    assert project.repo.text("status", "--porcelain") == ""
    assert not (project.root / "made.txt").exists()


def test_the_stream_becomes_events_cost_and_session(project):
    run = project.ended(project.start("stream"))
    assert (run.session_id, run.cost_usd, run.result) == ("s-1", 0.25, "All done")
    events = read_events(project.paths.events_file("001"), run.run_id)
    kinds = [event["type"] for event in events]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {"text", "tool", "result", "cost", "state"} <= set(kinds)
    tool = next(event for event in events if event["type"] == "tool")
    assert (tool["name"], tool["input"]) == ("Bash", {"command": "ls"})


def test_the_log_has_the_documented_header_and_every_line_a_time(project):
    project.ended(project.start("say=hello"))
    project.ended(project.start("say=again"))
    lines = project.log().splitlines()
    assert lines[0] == "# Agent Log: 001"
    assert re.fullmatch(r"# Started: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", lines[1])
    assert lines[2:4] == ["# Prompt: standard", ""]
    again = next(n for n, line in enumerate(lines) if line.startswith("# New Run: "))
    assert lines[again - 1] == lines[again + 2] == "=" * 80
    said = [line for line in lines if line and not line.startswith(("#", "="))]
    assert said
    assert all(STAMPED.match(line) for line in said)
    assert [STAMPED.sub("", line) for line in said if "hello" in line] == ["hello"]


def test_an_agent_that_floods_standard_error_is_drained(project):
    run = project.ended(project.start("flood=30000", "edit", "commit"), seconds=60)
    assert (run.phase, run.exit_code) == ("finished", 0)
    assert "29999 xxx" in project.log()


def test_an_agent_that_does_nothing_is_recorded_as_just_that(project):
    run = project.ended(project.start())
    assert (run.phase, run.exit_code, run.result, run.snapshot) == ("finished", 0, None, None)


def test_an_agent_that_fails_says_why(project):
    run = project.ended(project.start("say=Error: 429 rate limit, retry-after: 30", "leave=3"))
    assert (run.phase, run.exit_code, run.failure_class) == ("failed", 3, "rate_limit")
    assert "exited with status 3: Error: 429" in run.failure
    assert run.retry_at > run.ended_at


def test_uncommitted_work_is_kept_when_an_agent_leaves_it(project):
    run = project.ended(project.start("edit", "leave=1"))
    assert run.phase == "failed"
    assert run.snapshot == project.repo.text("rev-parse", f"refs/chant/snapshots/{run.run_id}")
    assert "made by" in project.repo.text("show", f"{run.snapshot}:made.txt")
    assert worktree_file(run, "made.txt").exists()
    names = project.repo.text("show", "--name-only", "--format=", run.snapshot)
    assert names == "made.txt"


@pytest.mark.parametrize(
    ("steps", "limits", "kind"),
    [
        (("hang",), Limits(wall_seconds=0.5, stop_grace_seconds=2), "wall_time"),
        (("say", "hang"), Limits(idle_seconds=0.5, stop_grace_seconds=2), "idle"),
        (("cost=2", "hang"), Limits(cost_usd=1.0, stop_grace_seconds=2), "cost"),
        (("stubborn",), Limits(wall_seconds=0.5, stop_grace_seconds=0.3), "wall_time"),
    ],
)
def test_limits_end_an_agent(project, steps, limits, kind):
    run = project.ended(project.start("edit", *steps, limits=limits))
    assert (run.phase, run.failure_class) == ("failed", kind)
    assert "limit" in run.failure
    assert run.snapshot
    assert processes_of_run(run.run_id) == []


def test_what_an_agent_leaves_running_is_ended(project):
    run = project.ended(project.start("background"))
    assert run.phase == "finished"
    assert processes_of_run(run.run_id) == []


def test_the_prompt_and_the_environment_reach_the_agent(project, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLEW_READ_ONLY", "1")
    spec = project.root / ".chant/specs/001.md"
    run = project.ended(
        project.start("prompt", "environment", prompt="Do ünusual things.\n", spec_file=str(spec))
    )
    assert worktree_file(run, "prompt.txt").read_text(encoding="utf-8") == "Do ünusual things.\n"
    seen = json.loads(worktree_file(run, "environment.json").read_text(encoding="utf-8"))
    assert seen["CHANT_SPEC_ID"] == "001"
    assert seen["CHANT_SPEC_FILE"] == str(spec)
    assert (seen["CHANT_WORKTREE"], seen["CHANT_WORKTREE_PATH"]) == ("1", run.worktree)
    assert (seen["CHANT_BRANCH"], seen["CLEW_PROJECT"]) == ("chant/001", str(project.root))
    assert "CLAUDECODE" not in seen
    assert "CLEW_READ_ONLY" not in seen
    with open(seen["CLEW_MCP_CONFIG"], encoding="utf-8") as file:
        server = json.load(file)["mcpServers"]["chant"]
    assert server["env"] == {"CLEW_PROJECT": str(project.root)}
    assert server["command"].startswith("/")


def test_the_process_view_and_the_agent_status_follow_the_run(project):
    run = project.start("wait_for=go", "leave=1")
    file = project.paths.processes / f"{run.process_id}.json"
    status = worktree_file(run, ".chant-status.json")
    view = json.loads(file.read_text(encoding="utf-8"))
    assert run.process_id == f"001-{run.owner.pid}"
    assert (view["status"], view["completed_at"], view["mode"]) == ("running", None, "single")
    assert json.loads(status.read_text(encoding="utf-8"))["status"] == "working"
    worktree_file(run, "go").touch()
    run = project.ended(run)
    wait_until(lambda: json.loads(file.read_text(encoding="utf-8"))["status"] == "failed")
    wait_until(lambda: json.loads(status.read_text(encoding="utf-8"))["status"] == "failed")
    assert json.loads(file.read_text(encoding="utf-8"))["completed_at"]
    assert "made" not in project.repo.text("status", "--porcelain", "--ignored=no")


def test_a_second_start_is_refused_with_the_first_one_named(project):
    run = project.start("hang")
    with pytest.raises(Conflict, match=rf"already being worked \(run {run.run_id}"):
        project.start("edit")


def test_nothing_changes_when_something_is_missing(project):
    missing = AgentChoice("command", command=("no-such-program",))
    cases = (
        (project.request(spec_id="../x"), Invalid),
        (project.request(prompt=" \n"), Invalid),
        (project.request(worktree=WorktreeSettings(base_ref="nowhere")), NotFound),
        (project.request(worktree=WorktreeSettings(branch_prefix="-x")), Invalid),
        (project.request(worktree=WorktreeSettings(branch_prefix="a b/")), Invalid),
    )
    for request, error in cases:
        with pytest.raises(error):
            start_run(project.work, request)
    with pytest.raises(Unavailable, match=r"'no-such-program'\. Is it installed and in PATH"):
        start_run(project.work, project.request(agent=missing))
    assert not project.paths.journal.exists()
    assert project.repo.text("branch", "--list", "chant/*") == ""


def test_a_program_that_cannot_run_is_told_at_once(project, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    broken.chmod(0o755)
    request = project.request(agent=AgentChoice("command", command=(str(broken),)))
    with pytest.raises(Unavailable, match="could not be run"):
        start_run(project.work, request, seconds=20)
    with pytest.raises(Unavailable):  # the failed run does not hold the spec
        start_run(project.work, request, seconds=20)


def test_setup_runs_in_a_new_worktree_and_its_failure_stops_the_run(project):
    good = WorktreeSettings(setup=("echo prepared > setup.txt", ("touch", "a b")))
    run = project.ended(project.start("edit", worktree=good))
    assert worktree_file(run, "setup.txt").read_text(encoding="utf-8") == "prepared\n"
    assert worktree_file(run, "a b").exists()
    bad = WorktreeSettings(setup=("echo broken >&2; exit 7",))
    with pytest.raises(Unavailable, match=r"setup command failed.*exited with status 7"):
        project.start("edit", spec_id="002", worktree=bad)
    assert "stderr: broken" in project.log("002")


def test_a_start_returns_in_time_though_setup_takes_long(project):
    slow = WorktreeSettings(setup=("while [ ! -e go ]; do sleep 0.05; done",))
    started = start_run(project.work, project.request("edit", worktree=slow), seconds=1.5)
    assert started.agent_process is None
    run = wait_until(lambda: (r := project.run(started.run_id)).worktree and r)
    worktree_file(run, "go").touch()
    assert project.ended(run).phase == "finished"


def test_a_run_goes_on_where_an_earlier_one_stopped(project):
    first = project.ended(project.start("edit", "stream", "leave=1"))
    request = project.request("commit")
    following = continuation(request, first)
    assert following.plan.continues == first.run_id
    assert following.plan.agent.session is None  # `command` has no sessions
    run = project.ended(start_run(project.work, following, seconds=20))
    assert (run.phase, run.attempt) == ("finished", 2)
    assert project.repo.text("log", "--format=%s", "-1", "chant/001").endswith("made.txt")


def test_preflight_names_the_program(project):
    assert preflight(project.paths, project.request()).plan.program == sys.executable
    assert SCRIPT.exists()
