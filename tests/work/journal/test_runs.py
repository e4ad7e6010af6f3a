"""The journal: claims, legal moves, history."""

from __future__ import annotations

import subprocess
import sys

import pytest

from clew.kit.errors import Conflict, NotFound
from clew.kit.paths import ProjectPaths
from clew.work.journal.sqlite import read_journal
from clew.work.model import (
    AgentChoice,
    Check,
    ClaimLost,
    Limits,
    MergeStatus,
    Phase,
    Request,
    RunPlan,
    WorktreeSettings,
    now_text,
)

CLAIM = """
import sys
from pathlib import Path
from clew.kit.errors import Conflict
from tests.support.journals import open_journal
from clew.work.model import RunPlan
from clew.kit.paths import ProjectPaths
sys.stdin.readline()
with open_journal(ProjectPaths(Path(sys.argv[1]))) as journal:
    try:
        journal.claim("001", RunPlan(), mode="single")
        print("won")
    except Conflict as error:
        print(error.message)
"""


PLAN = RunPlan(
    agent=AgentChoice("command", command=("make", "it"), model="m"),
    worktree=WorktreeSettings(setup=("make setup", ("make", "more"))),
    limits=Limits(wall_seconds=5, cost_usd=None),
    criteria=(("It works", "make test"), ("It is nice", None)),
)


def claim(journal, spec_id="001", plan=PLAN):
    return journal.claim(spec_id, plan, mode="single")


def walk(journal, run, *phases):
    for phase in phases:
        run = journal.move(run.run_id, phase)
    return run


def test_a_claim_is_a_run_owned_by_its_claimer(journal):
    run = claim(journal)
    assert (run.phase, run.attempt, run.mode, run.model, run.plan) == (
        "prepared", 1, "single", "m", PLAN,
    )  # fmt: skip
    assert run.owner is not None
    assert journal.open_run("001") == run == journal.get(run.run_id)


def test_of_many_racing_processes_exactly_one_gets_the_spec(tmp_path):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(tmp_path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(6)
    ]  # fmt: skip
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    answers = [racer.communicate(timeout=60)[0].strip() for racer in racers]
    assert answers.count("won") == 1
    assert all("'001' is already being worked (run " in a for a in answers if a != "won")


def test_a_spec_can_be_claimed_again_when_its_run_ended(journal):
    first = claim(journal)
    with pytest.raises(Conflict, match="already being worked"):
        claim(journal)
    journal.move(first.run_id, Phase.FAILED, failure="no")
    second = claim(journal)
    assert second.attempt == 2
    assert journal.latest("001") == second
    assert [run.run_id for run in journal.runs(spec_id="001")] == [second.run_id, first.run_id]


def test_a_claim_that_names_its_attempt_is_for_no_other(journal):
    first = journal.claim("001", PLAN, mode="single", attempt=1)
    journal.move(first.run_id, Phase.FAILED, failure="no")
    with pytest.raises(ClaimLost, match=f"run {first.run_id}, failed"):  # not on its spec yet
        journal.claim("001", PLAN, mode="single", attempt=2)
    journal.update(first.run_id, settled_at=now_text())
    with pytest.raises(ClaimLost, match="worked by somebody else meanwhile"):
        journal.claim("001", PLAN, mode="single", attempt=1)
    assert journal.claim("001", PLAN, mode="single", attempt=2).attempt == 2


def test_the_newest_run_is_the_last_claimed_even_if_the_clock_was_set_back(journal, monkeypatch):
    first = claim(journal)
    journal.move(first.run_id, Phase.FAILED)
    monkeypatch.setattr("clew.work.journal.sqlite.now_text", lambda: "2001-01-01T00:00:00.000Z")
    second = claim(journal)
    assert journal.latest("001") == second


def test_progress_changes_with_moves_and_merges_but_not_with_heartbeats(journal, monkeypatch):
    monkeypatch.setattr("clew.work.journal.sqlite.now_text", lambda: "2026-01-01T00:00:00.000Z")
    seen = [journal.progress()]

    def has_changed():
        seen.append(journal.progress())
        return seen[-1] != seen[-2]

    run = claim(journal)
    assert has_changed()
    journal.update(run.run_id, heartbeat_at=now_text())
    assert not has_changed()
    journal.move(run.run_id, Phase.WORKTREE)
    assert has_changed()
    entry = journal.queue_merge("001", "chant/001", "main", strategy="merge", delete_branch=False)
    assert has_changed()
    for status in (MergeStatus.MERGING, MergeStatus.MOVING, MergeStatus.MERGED):
        journal.update_merge(entry.number, status)
        assert has_changed()


def test_a_spec_that_somebody_holds_cannot_be_claimed(journal):
    run = claim(journal)
    journal.move(run.run_id, Phase.HELD)
    with pytest.raises(Conflict, match="taken over"):
        claim(journal)
    journal.move(run.run_id, Phase.PAUSED)
    other = claim(journal)
    with pytest.raises(Conflict, match="already being worked"):
        journal.move(run.run_id, Phase.HELD)
    assert journal.open_run("001").run_id == other.run_id


def test_the_way_of_a_run_is_kept_for_good(journal):
    run = claim(journal)
    walk(journal, run, Phase.WORKTREE, Phase.STARTED, Phase.AGENT_EXITED, Phase.CHECKED)
    done = walk(journal, run, Phase.MERGED, Phase.FINISHED)
    assert done.ended_at
    moves = journal.history(run.run_id)
    assert [move.after for move in moves] == [
        "prepared", "worktree", "started", "agent_exited", "checked", "merged", "finished",
    ]  # fmt: skip
    assert [move.before for move in moves][:2] == [None, "prepared"]


def test_an_illegal_move_changes_nothing(journal):
    run = claim(journal)
    with pytest.raises(Conflict, match="prepared cannot become merged"):
        journal.move(run.run_id, Phase.MERGED, failure="x")
    assert journal.get(run.run_id) == run
    with pytest.raises(Conflict, match="is prepared already"):
        journal.move(run.run_id, Phase.FAILED, expected=(Phase.STARTED,))


def test_unknown_fields_and_runs_are_refused(journal):
    run = claim(journal)
    with pytest.raises(ValueError, match="no field"):
        journal.update(run.run_id, spec_id="other")
    with pytest.raises(NotFound, match="No such run"):
        journal.get("20260101T000000-00000000")


def test_only_a_running_run_can_be_asked_to_stop(journal):
    run = claim(journal)
    journal.ask(run.run_id, Request.PAUSE)
    assert journal.get(run.run_id).request == "pause"
    journal.move(run.run_id, Phase.PAUSED)
    with pytest.raises(Conflict, match="not running"):
        journal.ask(run.run_id, Request.CANCEL)


def test_reading_does_not_make_a_journal(tmp_path):
    with read_journal(ProjectPaths(tmp_path)) as journal:
        assert journal is None
    assert not (tmp_path / ".chant").exists()


def test_runs_under_way_are_counted_by_worker(journal):
    names = ("fast", "fast", "", "slow", "held")
    runs = [claim(journal, f"00{n}", RunPlan(worker=name)) for n, name in enumerate(names)]
    walk(journal, runs[3], Phase.FAILED)
    walk(journal, runs[4], Phase.PAUSED, Phase.HELD)

    assert journal.running_by_worker() == {"fast": 2, "": 1}
    assert journal.count() == len(names)


def test_checks_are_kept_by_number_and_the_last_outcome_counts(journal):
    run = claim(journal)
    failed = Check(2, "It is fast", "make bench", passed=False, said="slow", seconds=1.5)
    passed = Check(2, "It is fast", "make bench", passed=True, said="ok", seconds=0.5)
    first = Check(1, "It works", "make test", passed=True, said="ok", seconds=2.0)
    for check in (failed, first, passed):
        journal.keep_check(run.run_id, check)

    assert journal.checks(run.run_id) == [first, passed]
    assert journal.checks("20260101T000000-00000000") == []


def test_two_connections_see_the_same(journal, open_one):
    run = claim(journal)
    other = open_one()
    assert other.get(run.run_id) == run
    other.move(run.run_id, Phase.FAILED)
    assert journal.get(run.run_id).phase == "failed"
    with pytest.raises(Conflict):
        journal.move(run.run_id, Phase.WORKTREE)


def test_runs_at_rest_wait_for_their_spec_to_follow(journal):
    first, second = claim(journal), claim(journal, "002")
    assert journal.unreported() == []
    assert journal.is_active()
    walk(journal, second, Phase.FAILED)
    walk(journal, first, Phase.HELD)
    assert [run.spec_id for run in journal.unreported()] == ["001", "002"]
    for run in journal.unreported():
        journal.update(run.run_id, settled_at=now_text())
    assert journal.unreported() == []
    assert not journal.is_active()
    walk(journal, first, Phase.PAUSED)
    assert [run.spec_id for run in journal.unreported()] == ["001"]


def test_processes_are_stored_and_forgotten(journal):
    run = claim(journal)
    assert journal.update(run.run_id, agent_process=run.owner).agent_process == run.owner
    assert journal.update(run.run_id, agent_process=None).agent_process is None


def test_a_plan_of_another_version_is_understood():
    old = {"agent": {"name": "codex", "gone": 1}, "limits": {}, "worktree": None, "later": True}
    plan = RunPlan.of(old)
    assert (plan.agent.name, plan.limits, plan.worktree) == ("codex", Limits(), WorktreeSettings())
    assert RunPlan.of({}) == RunPlan()
