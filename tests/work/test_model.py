"""Ids, times and phases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid
from clew.work.model import (
    ENDED,
    LEGAL_MOVES,
    OPEN,
    Phase,
    check_run_id,
    check_spec_id,
    new_run_id,
    now_text,
    second_text,
)


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


def test_the_time_in_which_a_person_has_a_spec_is_not_the_agents(project):
    run = project.ended(project.start("leave 1"))
    project.work.journal.update(run.run_id, heartbeat_at=run.started_at)
    held = project.work.journal.move(run.run_id, Phase.HELD)
    assert held.ended_at is None
    assert held.elapsed_seconds() == 0


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


def test_new_run_ids_are_run_ids_and_times_sort():
    assert check_run_id(new_run_id())
    assert len(now_text()) == 24
    assert second_text("2026-02-02T10:30:00.123Z") == "2026-02-02T10:30:00Z"
