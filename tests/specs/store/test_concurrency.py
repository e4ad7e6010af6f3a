"""Many processes at once lose nothing, and a killed one leaves nothing half done."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.specs.model import Changes
from clew.specs.store import audit
from tests.specs.making import Project

ROOT = Path(__file__).parents[3]
CROWD = 50


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def crowd(mode, project, count=CROWD):
    return [sys.executable, "-m", "tests.specs.crowd", mode, str(project.root), str(count)]


def run_crowd(mode, project, count=CROWD):
    done = subprocess.run(
        crowd(mode, project, count), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_updates_of_the_same_and_of_different_specs(project):
    project.spec("shared", "unknown: kept  # with this\nlabels: []", "# Shared\n")
    for number in range(CROWD):
        project.spec(f"own-{number}", "labels:\n- first", "# Own\n")
    run_crowd("add_label", project)
    labels = {f"p{number}-{turn}" for number in range(CROWD) for turn in range(3)}
    shared = project.store.load("shared")
    assert set(shared.words("labels")) == set(shared.body.split()[2:]) == labels
    assert len(shared.words("labels")) == len(labels)
    assert b"unknown: kept  # with this\n" in shared.raw
    for number in range(CROWD):
        own = project.store.load(f"own-{number}").words("labels")
        assert own == ("first", *(f"p{number}-{turn}" for turn in range(3)))
    assert len(list(audit.entries(project.store.paths))) == 2 * len(labels)
    assert project.store.problems() == []


def test_compare_and_swap_counts_everybody_once(project):
    project.spec("shared", "count: 0")
    run_crowd("compare_and_swap", project)
    assert project.store.load("shared").text("count") == str(CROWD)


def test_new_specs_never_share_an_id_or_a_sequence_number(project):
    run_crowd("create", project)
    heads = project.store.heads()
    assert len({head.title for head in heads}) == len(heads) == 2 * CROWD
    assert len({head.id[:14] for head in heads}) == 2 * CROWD


def test_a_group_whose_members_finish_at_once_is_completed_once(project):
    project.spec("d", "type: group\nstatus: pending")
    for number in range(CROWD):
        project.spec(f"d.{number + 1}", "status: pending\ndepends_on: []")
    run_crowd("finish", project)
    assert project.store.head("d").status == "completed"
    completed = [
        entry
        for entry in audit.entries(project.store.paths, "d")
        if entry["fields"].get("status", [None, None])[1] == "completed"
    ]
    assert len(completed) == 1


def test_a_forked_process_does_not_take_the_events_of_its_parent(project):
    project.spec("a", body="# A\n")
    run_crowd("fork_reads", project, 1)


def wait_for_a_change(path, before):
    """Until the writer is at it."""
    for _ in range(3000):
        if path.read_bytes() != before:
            return
        time.sleep(0.01)
    pytest.fail("the writer wrote nothing")


def test_a_killed_writer_leaves_the_old_or_the_new_file(project):
    path = project.spec("a", "model: a", "# T\n\n" + "a" * 300_000)
    dice = random.Random(4)
    for _ in range(10):
        before = path.read_bytes()
        with subprocess.Popen(crowd("write_for_ever", project, 0), cwd=ROOT) as writer:
            wait_for_a_change(path, before)
            time.sleep(dice.random() / 50)
            writer.kill()
        spec = project.store.load("a")
        assert spec.body == "# T\n\n" + spec.text("model") * 300_000
    assert [head.id for head in project.store.heads()] == ["a"]
    freed = project.store.change("a", lambda _: Changes({"model": "free"}), actor="test")
    assert freed.text("model") == "free"
