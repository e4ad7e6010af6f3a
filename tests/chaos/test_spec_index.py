"""The index of specs: whatever happens to its file, answers are those of the specs themselves."""

from __future__ import annotations

import shutil

import pytest

from clew.specs.store.store import SpecStore
from tests.specs.making import Project
from tests.support.faults import (
    EIO,
    KILL,
    chosen,
    clock,
    need_strace,
    python,
    run,
    run_with,
    small_disk,
    steps_of,
)
from tests.support.proof import amount

LOOK = """
import sys
from pathlib import Path
from clew.specs.store.store import SpecStore
store = SpecStore(Path(sys.argv[1]))
print([(head.id, head.title, head.status) for head in store.heads()], store.graph().ready())
"""


def filled(root, count=60):
    """A project with specs that wait for each other."""
    made = Project(root)
    for number in range(count):
        needs = f"depends_on: [s{number - 1:03}]" if number % 3 else ""
        made.spec(f"s{number:03}", f"status: pending\n{needs}", f"# Number {number}\n")
    return made


@pytest.fixture
def project(tmp_path):
    return filled(tmp_path / "project")


def answer(project, **how):
    """What a process of its own says."""
    done = run(python(LOOK, project.root), **how)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def damages(dice, raw):
    """The index's bytes, spoilt in many ways."""
    yield b""
    yield raw[: len(raw) // 2]
    yield b"\0" * len(raw)
    yield b"[" * 100_000
    while True:
        spoilt = bytearray(raw)
        for _ in range(dice.randrange(1, 20)):
            spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
        yield bytes(spoilt)
        yield raw[: dice.randrange(len(raw))] + raw[dice.randrange(len(raw)) :]


def test_a_damaged_index_is_built_again(project, dice, faults):
    wanted = answer(project)
    index = project.store.paths.spec_index
    if not index.exists():
        answer(project)
    raw = index.read_bytes()
    made = damages(dice, raw)
    for _ in range(amount(20, 200)):
        index.write_bytes(next(made))
        store = SpecStore(project.root)
        heads = [(head.id, head.title, head.status) for head in store.heads()]
        assert f"{heads} {store.graph().ready()}\n" == wanted
        faults.survived()
    index.unlink(missing_ok=True)
    index.mkdir()
    assert answer(project) == wanted
    shutil.rmtree(project.store.paths.store)
    assert answer(project) == wanted


@pytest.mark.parametrize("fault", amount([KILL], [KILL, EIO]))
def test_a_fault_while_the_index_is_written(project, dice, faults, tmp_path, fault):
    need_strace()
    wanted = answer(project)
    index = project.store.paths.spec_index
    index.unlink()
    steps = steps_of(python(LOOK, project.root), tmp_path)
    for step in chosen(dice, steps, amount(1, 6)):
        index.unlink(missing_ok=True)
        done = run_with(fault, step, python(LOOK, project.root))
        assert wanted.startswith(done.stdout)
        assert answer(project) == wanted
        faults.survived()


def test_a_full_or_read_only_disk_changes_no_answer(tmp_path, faults):
    with small_disk(tmp_path / "disk", 2) as disk:
        project = filled(disk.path / "project")
        wanted = answer(project)
        project.store.paths.spec_index.unlink()
        disk.leave(0)
        assert answer(project) == wanted
        disk.empty()
        project.store.paths.spec_index.unlink(missing_ok=True)
        with disk.read_only():
            assert answer(project) == wanted
        faults.survived()


def test_the_clock_jumps(project, faults):
    wanted = answer(project, env=clock(10**9))
    assert answer(project, env=clock(-(10**9))) == wanted
    for number, offset in enumerate(amount((10**9,), (10**9, -(10**9), 0))):
        project.spec("s001", "status: pending", f"# Then {number}\n")
        assert f"('s001', 'Then {number}', 'pending')" in answer(project, env=clock(offset))
        faults.survived()
