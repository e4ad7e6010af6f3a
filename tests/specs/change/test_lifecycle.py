"""The table of moves, and groups that follow their members."""

from __future__ import annotations

import itertools
import re

import pytest

from clew.kit.errors import ClewError, Conflict, Invalid
from clew.specs.change.lifecycle import ALLOWED, after_move, apply_status, check_move
from clew.specs.model import STATUSES
from tests.specs.making import Project

TABLE = {
    "pending": "in_progress blocked cancelled",
    "in_progress": "pending paused completed failed needs_attention cancelled",
    "paused": "pending in_progress cancelled",
    "completed": "pending needs_attention cancelled",
    "failed": "pending in_progress completed cancelled",
    "needs_attention": "pending in_progress cancelled",
    "ready": "pending in_progress blocked cancelled",
    "blocked": "pending in_progress cancelled",
    "cancelled": "pending",
}
PAIRS = list(itertools.product(STATUSES, STATUSES))


def test_there_are_81_pairs():
    assert len(PAIRS) == 81
    assert ALLOWED.keys() == TABLE.keys() == set(STATUSES)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_every_pair(old, new):
    if new == old or new in TABLE[old].split():
        check_move(old, new)
        return
    with pytest.raises(Conflict) as caught:
        check_move(old, new)
    assert caught.value.message == f"Invalid transition from {old} to {new}"
    assert set(re.findall(r"[a-z_]+", caught.value.hint.partition(":")[2])) == set(
        TABLE[old].split()
    )


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_every_pair_on_disk(tmp_path, old, new):
    project = Project(tmp_path)
    path = project.spec("a", f"status: {old}")
    before = path.read_bytes()
    if new == old or new in TABLE[old].split():
        assert apply_status(project.store, "a", new, actor="test").status == new
        assert project.store.head("a").status == new
        return
    with pytest.raises(Conflict):
        apply_status(project.store, "a", new, actor="test")
    assert path.read_bytes() == before
    assert apply_status(project.store, "a", new, actor="test", force=True).status == new


def test_unknown_statuses_are_refused_even_by_force(tmp_path):
    project = Project(tmp_path)
    project.spec("a")
    for force in (False, True):
        with pytest.raises(Invalid, match=r"Invalid status: done\. Must be one of: pending"):
            apply_status(project.store, "a", "done", actor="test", force=force)


def test_completed_at_comes_and_goes(tmp_path):
    project = Project(tmp_path)
    project.spec("a", "status: in_progress")
    done = apply_status(project.store, "a", "completed", actor="test")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", done.text("completed_at"))
    drifted = apply_status(project.store, "a", "needs_attention", actor="test")
    assert drifted.text("completed_at") == done.text("completed_at")
    assert "completed_at" not in apply_status(project.store, "a", "pending", actor="test").fields


def group(tmp_path, driver="pending", **members):
    project = Project(tmp_path)
    project.spec("d", f"type: group\nstatus: {driver}\nmodel: opus")
    for name, status in members.items():
        project.spec(f"d.{name[1:].replace('_', '.')}", f"status: {status}")
    return project.store


def test_the_first_member_that_starts_starts_the_driver(tmp_path):
    store = group(tmp_path, m1="pending", m2="pending")
    apply_status(store, "d.1", "in_progress", actor="test")
    assert store.head("d").status == "in_progress"


def test_the_last_member_that_is_done_completes_the_driver(tmp_path):
    store = group(tmp_path, "in_progress", m1="in_progress", m2="in_progress", m3="cancelled")
    apply_status(store, "d.1", "completed", actor="test")
    assert store.head("d").status == "in_progress"
    apply_status(store, "d.2", "completed", actor="test")
    driver = store.load("d")
    assert (driver.status, driver.text("model")) == ("completed", "auto-completed")
    assert driver.text("completed_at")


def test_nested_groups_complete_upwards(tmp_path):
    store = group(tmp_path, m1="pending", m1_1="in_progress", m2="completed")
    moved = apply_status(store, "d.1.1", "completed", actor="test")
    assert [store.head(name).status for name in ("d.1", "d")] == ["completed", "completed"]
    assert after_move(store, moved, actor="test") == []  # nothing is left to complete


def test_a_member_that_fails_fails_the_driver_unless_that_is_done(tmp_path):
    store = group(tmp_path, "in_progress", m1="in_progress")
    apply_status(store, "d.1", "failed", actor="test")
    assert store.head("d").status == "failed"
    other = group(tmp_path / "other", "completed", m1="in_progress")
    apply_status(other, "d.1", "failed", actor="test")
    assert other.head("d").status == "completed"


def test_cancelling_every_member_completes_nothing(tmp_path):
    store = group(tmp_path, "in_progress", m1="pending")
    apply_status(store, "d.1", "cancelled", actor="test")
    assert store.head("d").status == "in_progress"


def test_a_members_archived_driver_stays_as_it_is(tmp_path):
    project = Project(tmp_path)
    project.spec("d", "status: pending", archived=True)
    project.spec("d.1", "status: pending")
    apply_status(project.store, "d.1", "in_progress", actor="test")
    assert project.store.head("d").status == "pending"


def test_archived_specs_do_not_move(tmp_path):
    project = Project(tmp_path)
    project.spec("a", "status: completed", archived=True)
    with pytest.raises(ClewError, match="archived"):
        apply_status(project.store, "a", "pending", actor="test")
