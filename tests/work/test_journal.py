"""The journal: claims, legal moves, history."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Conflict, Invalid, NotFound
from clew.work.journal.journal import open_journal, read_journal
from clew.work.model import (
    ENDED,
    LEGAL_MOVES,
    OPEN,
    Check,
    Phase,
    Request,
    check_run_id,
    check_spec_id,
    new_run_id,
    now_text,
    second_text,
)
from clew.work.paths import Places

CLAIM = """
import sys
from pathlib import Path
from clew.kit.errors import Conflict
from clew.work.journal.journal import open_journal
from clew.work.paths import Places
sys.stdin.readline()
with open_journal(Places(Path(sys.argv[1]))) as journal:
    try:
        journal.claim("001", mode="single", agent="command", model=None, plan={})
        print("won")
    except Conflict as error:
        print(error.message)
"""


@pytest.fixture
def journal(tmp_path):
    with open_journal(Places(tmp_path)) as opened:
        yield opened


def claim(journal, spec_id="001"):
    return journal.claim(spec_id, mode="single", agent="command", model="m", plan={"a": 1})


def walk(journal, run, *phases):
    for phase in phases:
        run = journal.move(run.run_id, phase)
    return run


def test_a_claim_is_a_run_owned_by_its_claimer(journal):
    run = claim(journal)
    assert (run.phase, run.attempt, run.mode, run.model, run.plan) == (
        "prepared", 1, "single", "m", {"a": 1},
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


def test_every_phase_leads_to_an_end_and_no_end_comes_back_to_life():
    for phase in Phase:
        reached, todo = set(), [phase]
        while todo:
            for after in LEGAL_MOVES[todo.pop()] - reached:
                reached.add(after)
                todo.append(after)
        assert phase in (Phase.FINISHED, Phase.CANCELLED) or reached & set(ENDED)
    for phase in ENDED:
        assert not LEGAL_MOVES[phase] & set(OPEN) - {Phase.HELD}


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


def test_runs_are_found_by_a_part_of_their_process_id(journal):
    run = claim(journal)
    claim(journal, "002")
    journal.update(run.run_id, process_id="001-77")
    assert [r.spec_id for r in journal.runs(process_id="01-7")] == ["001"]
    assert journal.runs(process_id="%") == []


def test_reading_does_not_make_a_journal(tmp_path):
    with read_journal(Places(tmp_path)) as journal:
        assert journal is None
    assert not (tmp_path / ".chant").exists()


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "../x", "a/b", "-x", "a b", "a\0", "a..b", "x.lock", "x."]
)
def test_ids_that_would_lead_elsewhere_are_refused(bad):
    with pytest.raises(Invalid):
        check_spec_id(bad)
    with pytest.raises(Invalid):
        check_run_id(bad)


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9-]{0,40}(\.[0-9]{1,3})*", fullmatch=True))
def test_ordinary_ids_are_fine(spec_id):
    assert check_spec_id(spec_id) == spec_id


def test_runs_under_way_are_counted_by_worker(journal):
    plans = ({"worker": "fast"}, {"worker": "fast"}, {}, {"worker": "slow"}, {"worker": "held"})
    runs = [
        journal.claim(f"00{n}", mode="single", agent="command", model=None, plan=plan)
        for n, plan in enumerate(plans)
    ]
    walk(journal, runs[3], Phase.FAILED)
    walk(journal, runs[4], Phase.PAUSED, Phase.HELD)

    assert journal.running_by_worker() == {"fast": 2, "": 1}
    assert journal.count() == len(plans)


def test_checks_are_kept_by_number_and_the_last_outcome_counts(journal):
    run = claim(journal)
    failed = Check(2, "It is fast", "make bench", passed=False, said="slow", seconds=1.5)
    passed = Check(2, "It is fast", "make bench", passed=True, said="ok", seconds=0.5)
    first = Check(1, "It works", "make test", passed=True, said="ok", seconds=2.0)
    for check in (failed, first, passed):
        journal.keep_check(run.run_id, check)

    assert journal.checks(run.run_id) == [first, passed]
    assert journal.checks("20260101T000000-00000000") == []


def test_new_run_ids_are_run_ids_and_times_sort():
    assert check_run_id(new_run_id())
    assert len(now_text()) == 24
    assert second_text("2026-02-02T10:30:00.123Z") == "2026-02-02T10:30:00Z"
