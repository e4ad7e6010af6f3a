"""The merge queue: main is old or new, the user's own changes stay, and the next merge works."""

from __future__ import annotations

import signal

import pytest

from clew.specs.store.consent import Consent
from clew.work.journal.active import has_active_runs
from clew.work.runs.reconcile import reconcile
from tests.support.faults import (
    EIO,
    ENOSPC,
    KILL,
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
from tests.support.proof import amount
from tests.support.waiting import wait_until
from tests.work.merging.making import Shop

MERGE = """
import sys
from pathlib import Path
from clew.kit.errors import ClewError
from clew.work.merging.queue import Merger
from clew.work.workspace import Workspace
work = Workspace(Path(sys.argv[1]))
try:
    for result in Merger(work, work.config()).merge(sys.argv[2:]):
        print(result.status, result.note)
except (ClewError, OSError) as error:
    sys.exit(f"refused: {error}")
"""
STOPPED = """
import os, signal, sys
from pathlib import Path
from clew.work.merging.queue import Merger
from clew.work.workspace import Workspace
work = Workspace(Path(sys.argv[1]))
with Merger(work, work.config())._alone():
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def ready_to_merge(path):
    """A shop with a finished spec, another commit on main, and a change that is not committed."""
    shop = Shop(path)
    shop.finished("001", {"new.txt": "new\n"})
    shop.repo.commit("meanwhile", {"c.txt": "c\n"})
    shop.repo.write("b.txt", "mine\n")
    return shop


def assert_old_or_new(shop, old):
    """Nothing half done is to be seen, and nothing of the user's is gone."""
    shop.repo.git("fsck", "--no-dangling")
    assert (shop.root / "b.txt").read_text() == "mine\n"
    assert shop.shown("a.txt") == "a\n"
    files = shop.repo.text("ls-tree", "--name-only", "main").split()
    assert ("new.txt" in files) == (shop.main() != old)


def assert_merges_now(shop):
    """Whatever happened, the next command gets it done."""
    reconcile(shop.work)
    shop.merge("001")
    assert shop.shown("new.txt") == "new\n"
    assert shop.repo.git("status", "--porcelain") == b" M b.txt\n"
    assert shop.store.load("001").status == "completed"
    assert not has_active_runs(shop.root)


@pytest.mark.parametrize("fault", amount([KILL], [KILL, EIO, ENOSPC]))
def test_a_fault_at_any_step(tmp_path, dice, faults, fault):
    need_strace()
    steps = steps_of(python(MERGE, ready_to_merge(tmp_path / "shop").root, "001"), tmp_path)
    for number, step in enumerate(chosen(dice, steps, amount(1, 5))):
        shop = ready_to_merge(tmp_path / f"shop{number}")
        old = shop.main()
        done = run_with(fault, step, python(MERGE, shop.root, "001"))
        assert "Traceback" not in done.stderr, done.stderr
        assert_old_or_new(shop, old)
        assert_merges_now(shop)
        faults.survived()


@pytest.mark.thorough
def test_a_full_disk(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        for free in amount((8192,), (0, 8192, 65536, 200_000)):
            shop = ready_to_merge(disk.path / f"shop{free}")
            old = shop.main()
            disk.leave(free)
            done = run(python(MERGE, shop.root, "001"))
            assert "Traceback" not in done.stderr, done.stderr
            disk.empty()
            assert_old_or_new(shop, old)
            assert_merges_now(shop)
            faults.survived()


@pytest.mark.thorough
def test_a_read_only_disk(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        shop = ready_to_merge(disk.path / "shop")
        old = shop.main()
        with disk.read_only():
            done = run(python(MERGE, shop.root, "001"))
            assert "Traceback" not in done.stderr, done.stderr
            assert "Read-only file system" in done.stderr
            assert shop.main() == old
        assert_old_or_new(shop, old)
        assert_merges_now(shop)
        faults.survived()


@pytest.mark.thorough
def test_a_merger_that_stays_stopped_is_named_instead_of_waited_for(tmp_path, faults):
    shop = ready_to_merge(tmp_path / "shop")
    stopped = start(python(STOPPED, shop.root))
    wait_until(lambda: is_stopped(stopped.pid))
    done = run(python(MERGE, shop.root, "001"))
    assert f"refused: Process {stopped.pid}, which holds the lock " in done.stderr
    stopped.send_signal(signal.SIGCONT)
    assert ended(stopped) == (0, "")
    assert_merges_now(shop)
    faults.survived()


def test_a_stopped_merger_is_waited_for_and_a_killed_one_is_not(tmp_path, faults):
    shop = ready_to_merge(tmp_path / "shop")
    shop.finished("002", {"two.txt": "2\n"})
    mark = tmp_path / "mark"
    check = f"test -e {mark} || {{ touch {mark}; sleep 60; }}"
    shop.configure("merge:", f"  checks: ['{check}']")
    Consent(shop.root).approve([check], "a person")
    first = start(python(MERGE, shop.root, "001"))
    wait_until(mark.exists)
    first.send_signal(signal.SIGSTOP)
    second = start(python(MERGE, shop.root, "002"))
    first.kill()
    ended(first)
    assert ended(second) == (0, "")
    assert shop.shown("two.txt") == "2\n"
    assert_merges_now(shop)
    faults.survived()


@pytest.mark.thorough
def test_what_a_killed_write_of_a_spec_left_is_never_merged(tmp_path, faults):
    shop = ready_to_merge(tmp_path / "shop")
    (shop.root / ".git" / "info" / "exclude").write_text("")
    (shop.root / ".chant" / "specs" / ".001.md.0123abcd").write_text("---\nstatus: pending\n")
    shop.merge("001")
    files = shop.repo.text("ls-tree", "-r", "--name-only", "main")
    assert "new.txt" in files
    assert ".001.md" not in files
    assert (shop.root / ".chant" / "specs" / ".001.md.0123abcd").exists()
    faults.survived()


@pytest.mark.thorough
@pytest.mark.parametrize("homes", [("one", "two"), ("one", "one")])
def test_two_machines_merge_into_one_checkout(tmp_path, faults, homes):
    shop = ready_to_merge(tmp_path / "shop")
    shop.finished("002", {"two.txt": "2\n"})
    machines = [
        start(python(MERGE, shop.root, spec_id), env={"CLEW_HOME": str(tmp_path / home)})
        for spec_id, home in zip(("001", "002"), homes, strict=True)
    ]
    assert [ended(machine) for machine in machines] == [(0, "")] * 2
    assert (shop.shown("new.txt"), shop.shown("two.txt")) == ("new\n", "2\n")
    assert_merges_now(shop)
    faults.survived()


@pytest.mark.thorough
def test_the_clock_jumps_back_in_the_middle(tmp_path, faults):
    shop = ready_to_merge(tmp_path / "shop")
    shop.finished("002", {"two.txt": "2\n"})
    for spec_id, offset in (("002", 10**9), ("001", -(10**9))):
        done = run(python(MERGE, shop.root, spec_id), env=clock(offset))
        assert done.stdout.startswith("merged"), done
        faults.survived()
    assert_merges_now(shop)
