"""Writing specs: the old file or the new one, every spec still listed, and the next write works."""

from __future__ import annotations

import json
import os
import re
import resource
import signal

import pytest

from clew.specs.model import Changes
from clew.specs.store.store import SpecStore
from tests.specs.making import Project
from tests.support.client import BIN
from tests.support.faults import (
    EIO,
    ENOSPC,
    KILL,
    assert_civil,
    chosen,
    clock,
    ended,
    is_stopped,
    need_strace,
    python,
    run,
    run_with,
    small_disk,
    start,
    steps_of,
)
from tests.support.proof import FULL, amount
from tests.support.waiting import wait_until

BODY = "# Title\n\n" + "some text\n" * 2000
YEAR = 365 * 24 * 3600
READING = (("list",), ("ready",), ("show", "a"), ("status",), ("search", "title"))
# Changes a spec; stops itself, lock in hand, before the file is written.
STOPPED = """
import os, signal, sys
from pathlib import Path
from clew.specs.model import Changes
from clew.specs.store.store import SpecStore
def edit(spec):
    os.kill(os.getpid(), signal.SIGSTOP)
    return Changes({"model": "late"})
SpecStore(Path(sys.argv[1])).change("a", edit, actor="test")
"""
LABELS = """
import sys
from pathlib import Path
from clew.specs.model import Changes
from clew.specs.store.store import SpecStore
store = SpecStore(Path(sys.argv[1]))
for turn in range(int(sys.argv[3])):
    label = f"{sys.argv[2]}-{turn}"
    store.change("a", lambda spec: Changes({"labels": [*spec.words("labels"), label]}), actor="t")
    store.create({}, f"# {label}", actor="t")
"""


@pytest.fixture
def project(tmp_path):
    return filled(tmp_path / "project")


def filled(root):
    """A project with three specs."""
    made = Project(root)
    for name in ("a", "b", "c"):
        made.spec(name, "status: pending\nunknown: kept", BODY)
    return made


def chant(root, *words):
    return [BIN / "chant", *words, "--project", root]


def listed(root):
    """The ids as a process of its own lists them."""
    done = run(chant(root, "list", "--json"))
    assert done.returncode == 0, done.stderr
    return {spec["id"] for spec in json.loads(done.stdout)["data"]["specs"]}


def assert_whole(project, before, extra=0):
    """Every file is one that was there before, or complete."""
    store = SpecStore(project.root)
    heads = store.heads(archived=True)
    assert store.problems() == []
    assert {"a", "b", "c"} <= {head.id for head in heads}
    assert before <= len(heads) <= before + extra
    for head in heads:
        spec = store.load(head.id)
        assert b"unknown: kept" in spec.raw or spec.title.startswith("new")
        assert not spec.body.startswith("# Title") or BODY.rstrip() in spec.body
    if FULL:
        assert listed(project.root) == {head.id for head in store.heads()}


def leftovers(project):
    """What lies among the specs and is none."""
    return {path.name for path in project.store.paths.specs.rglob(".*")}


COMMANDS = {
    "update": ("update", "a", "--output", "more words", "--label", "seen"),
    "add": ("add", "new thing"),
    "begin": ("update", "b", "--status", "in_progress"),
}


FAULTS = [(name, fault) for name in COMMANDS for fault in (KILL, EIO, ENOSPC)]


@pytest.mark.parametrize(("name", "fault"), amount(FAULTS[::4], FAULTS))
def test_a_fault_at_any_step_of_a_write(project, dice, faults, tmp_path, name, fault):
    need_strace()
    command = chant(project.root, *COMMANDS[name])
    steps = steps_of(command, tmp_path)
    for step in chosen(dice, steps, amount(1, 5)):
        before = len(SpecStore(project.root).heads())
        left = leftovers(project)
        done = run_with(fault, step, command)
        new = leftovers(project) - left
        if fault != KILL:
            assert_civil(done)
        assert len(new) <= (fault == KILL and name != "add"), new
        assert_whole(project, before, extra=1)
        again = run(command)
        assert again.returncode == 0 or "in_progress" in again.stderr + again.stdout, again.stderr
        faults.survived()


@pytest.mark.thorough
def test_a_killed_write_of_a_new_spec_leaves_nothing(project, faults, tmp_path):
    need_strace()
    command = chant(project.root, *COMMANDS["add"])
    for step in steps_of(command, tmp_path, calls=("fsync", "linkat", "rename", "unlink")):
        run_with(KILL, step, command)
        assert leftovers(project) == set()
        faults.survived()
    assert_whole(project, 4, extra=100)


@pytest.mark.thorough
def test_what_a_killed_write_leaves_hinders_nobody(project, faults, tmp_path):
    """One file at most, where it had a name already but not its place: seen by nobody."""
    need_strace()
    command = chant(project.root, *COMMANDS["update"])
    steps = steps_of(command, tmp_path, calls=("linkat", "rename"))
    specs = SpecStore(project.root).heads()
    for step in steps:
        left = leftovers(project)
        run_with(KILL, step, command)
        assert len(leftovers(project) - left) <= 1
        faults.survived()
    left = leftovers(project)
    assert left, "no step was the one before the file takes its place"
    for file in left:
        assert re.fullmatch(r"\..+\.md\.[0-9a-f]{8}", file)
        os.utime(project.store.paths.specs / file, (0, 0))
    assert_whole(project, len(specs), extra=len(steps))
    assert_civil(run(command))
    assert leftovers(project) == left
    done = run([BIN / "clew", "doctor", "--fix", "--project", project.root])
    assert f"Removed {len(left)} files of interrupted writes" in done.stdout + done.stderr
    assert leftovers(project) == set()
    assert_whole(project, len(specs), extra=len(steps) + 1)


@pytest.mark.thorough
def test_archiving_is_killed_at_any_step(project, dice, faults, tmp_path):
    need_strace()
    project.spec("x", "status: completed", BODY)
    steps = steps_of(chant(project.root, "archive", "x"), tmp_path)
    for number, step in enumerate(chosen(dice, steps, amount(1, 5))):
        name = f"y{number}"
        project.spec(name, "status: completed\nunknown: kept", BODY)
        run_with(KILL, step, chant(project.root, "archive", name))
        assert SpecStore(project.root).load(name).body.startswith("# Title")
        run(chant(project.root, "archive", name))
        assert SpecStore(project.root).head(name).archived
        faults.survived()


def test_a_full_disk_refuses_and_loses_nothing(tmp_path, faults):
    with small_disk(tmp_path / "disk", 4) as disk:
        project = filled(disk.path / "project")
        for free in amount((4096,), (0, 4096, 16384)):
            for words in list(COMMANDS.values())[: amount(1, 3)]:
                before = len(SpecStore(project.root).heads())
                disk.leave(free)
                done = run(chant(project.root, *words))
                assert_civil(done)
                assert_whole(project, before, extra=1)
                disk.empty()
                assert_civil(run(chant(project.root, *words)))
                faults.survived()
        done = run(chant(project.root, "add", "new room"))
        assert done.returncode == 0, done.stderr


def test_files_that_may_not_grow(project, faults):
    project.spec("a", "status: pending\nunknown: kept", BODY * 10)
    before = (project.store.paths.specs / "a.md").read_bytes()
    limits = (resource.RLIMIT_FSIZE, (100_000, 100_000))
    done = run(chant(project.root, *COMMANDS["update"]), limits=limits)
    assert_civil(done)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert (project.store.paths.specs / "a.md").read_bytes() == before
    assert_whole(project, 3)
    faults.survived()


def test_a_read_only_disk_is_still_read(tmp_path, faults):
    with small_disk(tmp_path / "disk") as disk:
        project = filled(disk.path / "project")
        with disk.read_only():
            for words in READING[: amount(1, 5)]:
                done = run(chant(project.root, *words))
                assert done.returncode == 0, (words, done.stderr)
                faults.survived()
            for words in list(COMMANDS.values())[: amount(1, 3)]:
                done = run(chant(project.root, *words))
                assert_civil(done)
                assert done.returncode == 1
                assert "Read-only file system" in done.stderr
                faults.survived()
        assert_whole(project, 3)


def test_a_writer_that_is_stopped_holds_up_nobody_else(project, faults):
    writer = start(python(STOPPED, project.root))
    wait_until(lambda: is_stopped(writer.pid))
    assert listed(project.root) == {"a", "b", "c"}
    assert run(chant(project.root, "update", "b", "--label", "x")).returncode == 0
    waiting = start(chant(project.root, "update", "a", "--label", "mine"))
    os.kill(writer.pid, signal.SIGCONT)
    assert ended(writer) == (0, "")
    assert ended(waiting) == (0, "")
    spec = SpecStore(project.root).load("a")
    assert (spec.text("model"), spec.words("labels")) == ("late", ("mine",))
    faults.survived()


@pytest.mark.thorough
def test_a_stopped_writer_that_is_killed_frees_its_spec(project, faults):
    writer = start(python(STOPPED, project.root))
    wait_until(lambda: is_stopped(writer.pid))
    waiting = start(chant(project.root, "update", "a", "--label", "mine"))
    writer.kill()
    ended(writer)
    assert ended(waiting) == (0, "")
    assert SpecStore(project.root).load("a").text("model") is None
    faults.survived()


@pytest.mark.thorough
def test_a_writer_that_stays_stopped_is_named_instead_of_waited_for(project, faults):
    writer = start(python(STOPPED, project.root))
    wait_until(lambda: is_stopped(writer.pid))
    done = run(chant(project.root, "update", "a", "--label", "mine"))
    assert_civil(done)
    assert done.returncode == 1
    assert f"Process {writer.pid}, which holds the lock " in done.stderr
    os.kill(writer.pid, signal.SIGCONT)
    assert ended(writer) == (0, "")
    assert SpecStore(project.root).load("a").words("labels") == ()
    faults.survived()


@pytest.mark.parametrize("years", amount([30], [-30, 30]))
def test_the_clock_jumps(project, faults, years):
    """Ids stay unique, and changes are seen, whatever the times say."""
    for offset in (0, years * YEAR, 0):
        done = run(chant(project.root, "add", f"new at {offset}"), env=clock(offset))
        assert done.returncode == 0, done.stderr
        faults.survived()
    assert_whole(project, 6)
    path = project.store.paths.specs / "a.md"
    for moment in amount((0,), (0, 4_000_000_000)):
        os.utime(path, (moment, moment))
        SpecStore(project.root).heads()
        project.store.change("a", lambda _, m=moment: Changes({"model": str(m)}), actor="t")
        os.utime(path, (moment, moment))
        assert SpecStore(project.root).load("a").text("model") == str(moment)
        done = run(chant(project.root, "show", "a", "--json"), env=clock(-years * YEAR))
        assert f'"{moment}"' in done.stdout
        faults.survived()


def test_two_machines_share_a_checkout(project, tmp_path, faults):
    """Each with a home of its own: no change is lost, no id is given twice."""
    turns = amount(5, 40)
    machines = [
        start(
            python(LABELS, project.root, name, turns),
            env={"CLEW_HOME": str(tmp_path / name), "HOME": str(tmp_path / name)},
        )
        for name in ("one", "two")
    ]
    for machine in machines:
        assert ended(machine) == (0, "")
    labels = {f"{name}-{turn}" for name in ("one", "two") for turn in range(turns)}
    heads = SpecStore(project.root).heads()
    assert set(SpecStore(project.root).load("a").words("labels")) == labels
    assert {head.title for head in heads} - {"Title"} == labels
    assert len({head.id[:14] for head in heads}) == 3 + 2 * turns
    faults.survived()
