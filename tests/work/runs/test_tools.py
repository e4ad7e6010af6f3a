"""The tools, through a real server: names, shapes and texts as they are documented."""

from __future__ import annotations

import json

import pytest

from clew.kit.errors import ClewError
from clew.work.runs.prepare import start_work
from tests.specs.tools.project import Chant
from tests.support.client import face
from tests.support.waiting import wait_until

EXTENDED = face("chant", "mcp", "--extended")


@pytest.fixture
def chant(house):
    """A server for the project."""
    with Chant(house.root, EXTENDED) as server:
        yield server


def test_work_is_started_listed_and_seen_in_the_log(house, chant):
    house.spec("001", "mark run-001", "wait_for run-go", "edit a.txt", "commit a.txt", "tick")
    started = chant.json("chant_work_start", id="001")  # the agent still waits
    assert list(started) == ["process_id", "spec_id", "pid", "started_at", "mode"]
    view = json.loads(
        (house.root / ".chant" / "processes" / f"{started['process_id']}.json").read_text("utf-8")
    )
    assert {name: view[name] for name in started} == started
    wait_until((house.root / "run-001").exists)
    listed = chant.json("chant_work_list")
    assert [p["process_id"] for p in listed["processes"]] == [started["process_id"]]
    assert listed["processes"][0]["status"] == "running"
    assert listed["processes"][0]["completed_at"] is None
    assert listed["summary"] == {"running": 1, "completed": 0, "failed": 0}
    (house.root / "run-go").write_text("")
    house.settled("001")
    assert chant.json("chant_work_list")["processes"] == []
    (ended,) = chant.json("chant_work_list", include_completed=True)["processes"]
    assert (ended["status"], ended["mode"]) == ("completed", "single")
    assert ended["completed_at"] >= started["started_at"]
    log = chant.json("chant_log", id="001", since=started["started_at"])
    assert "run finished" in log["content"]
    assert chant.json("chant_log", id="001", since="2999-01-01T00:00:00Z")["content"] == ""


def test_pause_says_what_is_documented(house, chant):
    house.spec("001", "mark run-001", "hang")
    text = "Failed to pause work for spec '001': No running process found"
    assert chant.error("chant_pause", id="001") == text
    chant.json("chant_work_start", id="001")
    wait_until((house.root / "run-001").exists)
    assert chant.text("chant_pause", id="001") == "Successfully paused work for spec '001'"
    assert chant.json("chant_spec_get", id="001")["status"] == "in_progress"


def test_takeover_and_release(house, chant):
    house.spec("001", "edit a.txt", "mark run-001", "once run-o hang", "commit", "tick")
    text = "Failed to take over spec '001': Spec not currently being worked"
    assert chant.error("chant_takeover", id="001") == text
    chant.json("chant_work_start", id="001")
    wait_until((house.root / "run-001").exists)
    taken = chant.json("chant_takeover", id="001")
    assert list(taken)[:5] == ["spec_id", "analysis", "log_tail", "suggestion", "worktree_path"]
    assert taken["worktree_path"] == house.latest("001").worktree
    assert taken["facts"]["dirty_files"] == ["a.txt"]
    said = chant.text("chant_release", id="001", then="continue")
    assert said.startswith("Released spec '001'; an agent goes on with it (001-")
    assert house.settled("001").phase == "finished"
    assert chant.error("chant_release", id="001").startswith("Spec '001' has not been taken over")


def test_what_was_taken_over_can_be_finished_by_hand(house, chant):
    house.spec("001", "edit a.txt", "commit a.txt", "tick", "mark run-001", "hang")
    chant.json("chant_work_start", id="001")
    wait_until((house.root / "run-001").exists)
    chant.json("chant_takeover", id="001")
    chant.text("chant_release", id="001", then="finish")
    assert house.settled("001").phase == "finished"
    assert house.status("001") == "completed"


def test_modes_are_named_as_documented(house, chant):
    for name in ("a", "b", "c"):
        house.spec(name, f"edit {name}.txt", f"commit {name}.txt", "tick")
    chain = chant.json("chant_work_start", id="b", chain=True)
    assert (chain["spec_id"], chain["mode"]) == ("b", "chain")
    wait_until(lambda: house.status("c") == "completed")
    wait_until(lambda: chant.json("chant_work_list")["summary"]["running"] == 0)
    house.spec("d", "edit d.txt", "commit d.txt", "tick")
    assert chant.json("chant_work_start", id="d", parallel=2)["mode"] == "parallel(2)"
    wait_until(lambda: house.status("d") == "completed")


def test_a_start_that_fails_says_why(house, chant):
    assert "Missing required parameter: id" in chant.error("chant_work_start")
    assert "Spec not found: zz" in chant.error("chant_work_start", id="zz")
    house.spec("001", fields="provider: no-such-agent")
    assert chant.error("chant_work_start", id="001").startswith("Unknown agent: no-such-agent")
    house.configure("worktree:\n  setup: ['exit 9']")
    house.spec("002", "edit a.txt")
    with pytest.raises(ClewError, match="The setup command failed: exit 9"):
        start_work(house.work, "002", seconds=60)


def test_any_call_about_specs_puts_right_what_was_cut_off(house, chant):
    from clew.work.processes.identity import is_alive
    from tests.work.conftest import kill

    house.spec("001", "edit a.txt", "mark run-001", "hang")
    chant.json("chant_work_start", id="001")
    wait_until((house.root / "run-001").exists)
    run = house.latest("001")
    kill(run.owner)
    wait_until(lambda: not is_alive(run.owner))
    assert chant.json("chant_spec_get", id="001")["status"] == "failed"
    assert house.latest("001").phase == "interrupted"
