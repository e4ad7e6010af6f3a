"""The journal: schedules and the merge queue."""

from __future__ import annotations

import pytest

from clew.kit.errors import NotFound
from clew.work.model import ACTIVE_MERGES, MergeStatus


def queued(journal, spec_id="001", **changed):
    given = {"strategy": "merge", "delete_branch": False, **changed}
    return journal.queue_merge(spec_id, f"chant/{spec_id}", "main", **given)


def test_a_schedule_runs_until_it_ended(journal):
    first = journal.add_schedule("001", "chain", {"ids": ["001", "002"], "slots": 1})
    assert (first.status, first.plan["ids"], first.pid) == ("running", ["001", "002"], None)
    assert not first.stop_asked
    assert journal.is_active()
    assert journal.update_schedule(first.schedule_id, pid=7, stop_asked=1).stop_asked
    second = journal.add_schedule("003", "parallel(2)", {})
    assert {one.schedule_id for one in journal.schedules(running=True)} == {
        first.schedule_id,
        second.schedule_id,
    }
    for one in (first, second):
        journal.update_schedule(one.schedule_id, status="completed", ended_at="2026-01-01")
    assert journal.schedules(running=True) == []
    assert len(journal.schedules()) == 2
    assert not journal.is_active()
    with pytest.raises(NotFound, match="No such schedule"):
        journal.schedule("20260101T000000-00000000")


def test_a_branch_is_in_the_queue_once_and_keeps_its_place(journal):
    first, second = queued(journal), queued(journal, "002")
    again = queued(journal, strategy="rebase", delete_branch=True)
    assert (again.number, again.strategy, again.delete_branch) == (first.number, "rebase", True)
    assert [entry.spec_id for entry in journal.merges()] == ["001", "002"]
    journal.update_merge(first.number, MergeStatus.MERGED)
    later = queued(journal)
    assert later.number > second.number
    assert [entry.spec_id for entry in journal.merges()] == ["002", "001"]
    assert journal.latest_merge("001") == later
    assert journal.latest_merge("009") is None


def test_what_becomes_known_about_a_merge_is_kept(journal):
    entry = queued(journal)
    assert not journal.is_active()
    known = {"tip": "a", "onto": "b", "files": ("x.py",), "left_out": ("y.md",), "is_checked": 1}
    moved = journal.update_merge(entry.number, MergeStatus.MERGING, **known)
    assert (moved.tip, moved.onto, moved.files, moved.left_out) == ("a", "b", ("x.py",), ("y.md",))
    assert moved.is_checked
    assert journal.is_active()
    assert journal.merges(ACTIVE_MERGES) == [moved]
    assert journal.merge(entry.number) == moved
    assert journal.update_merge(entry.number, MergeStatus.WAITING, note="later").note == "later"
    assert journal.merges(ACTIVE_MERGES) == []
