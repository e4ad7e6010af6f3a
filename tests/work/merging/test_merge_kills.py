"""kill -9 at every step of a merge: main is old or new, and the next one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.work.journal.active import has_active_runs
from clew.work.runs.reconcile import reconcile
from tests.work.merging.making import run_python, status_of

# Merges one spec; is killed before or after it writes its nth step into the journal.
MERGE = """
import os, sys
from pathlib import Path
from clew.work.journal.sqlite import SqliteJournal
from clew.work.merging.queue import Merger
from clew.work.workspace import Workspace

root, step, when, spec_id = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
record, count = SqliteJournal.update_merge, 0

def killing(queue, *arguments, **fields):
    global count
    count += 1
    if count == step and when == "before":
        os.kill(os.getpid(), 9)
    entry = record(queue, *arguments, **fields)
    if count == step:
        os.kill(os.getpid(), 9)
    return entry

SqliteJournal.update_merge = killing
work = Workspace(root)
Merger(work, work.config()).merge([spec_id])
print("done", count)
"""
STEPS = 5  # merging, the commit, its checks, moving, merged


@pytest.mark.parametrize(
    ("when", "strategy"), [("before", "merge"), ("after", "merge"), ("before", "rebase")]
)
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_the_merger_is_killed(shop, step, when, strategy):
    shop.configure("merge:", f"  strategy: {strategy}", "  checks: [test -f a.txt]")
    shop.finished("001", {"new.txt": "new\n"})
    shop.repo.commit("meanwhile", {"c.txt": "c\n"})
    shop.repo.write("b.txt", "mine\n")
    old = shop.main()
    done = run_python(MERGE, shop.root, step, when, "001", check=False)
    assert done.returncode == -9, done
    moved = shop.main() != old
    assert moved == (step == STEPS)
    assert shop.repo.git("status", "--porcelain") == b" M b.txt\n"
    shop.repo.git("fsck", "--no-dangling")
    reconcile(shop.work)
    assert shop.entry("001").status == ("merged" if moved else "queued")
    assert not has_active_runs(shop.root)
    results = shop.merger().work_off()
    assert [result.status for result in results] == ([] if moved else ["merged"])
    assert shop.shown("new.txt") == "new\n"
    assert (shop.root / "new.txt").read_text() == "new\n"
    assert shop.repo.git("status", "--porcelain") == b" M b.txt\n"
    assert status_of(shop, "001") == "completed"


def test_the_merger_is_killed_by_its_own_check_which_goes_on(shop):
    mark = shop.root / "ignored" / "mark"
    mark.parent.mkdir()
    check = f"test -e {mark} || {{ touch {mark}; kill -9 $PPID; sleep 600; }}"
    shop.configure("merge:", "  checks:", f"    - {check}")
    shop.finished("001", {"new.txt": "new\n"})
    old = shop.main()
    assert run_python(MERGE, shop.root, 0, "after", "001", check=False).returncode == -9
    assert shop.main() == old
    assert shop.merge("001").status == "merged"


def test_a_merger_that_is_killed_in_the_middle_of_a_conflict(shop):
    shop.finished("001", {"a.txt": "1\n"})
    shop.finished("002", {"a.txt": "2\n"})
    shop.merge("001")
    assert run_python(MERGE, shop.root, 2, "before", "002", check=False).returncode == -9
    (found,) = shop.merger().work_off()
    assert found.status == "conflict"
    assert [head.type for head in shop.store.heads()].count("conflict") == 1


def test_a_fast_forward_that_was_killed_in_the_middle_is_finished(shop):
    shop.finished("001", {"a.txt": "1\n", "new.txt": "new\n", "b.txt": None, "x/y.txt": "y\n"})
    shop.configure("merge:", "  checks: [kill -9 $PPID]")
    assert run_python(MERGE, shop.root, 0, "after", "001", check=False).returncode == -9
    shop.repo.write("a.txt", "1\n")  # as git leaves it: some files there, the index as it was
    shop.repo.write("new.txt", "new\n")
    (shop.root / "b.txt").unlink()
    shop.configure()
    assert [result.status for result in shop.merger().work_off()] == ["merged"]
    assert shop.repo.git("status", "--porcelain") == b""


def test_rubbish_in_the_integration_worktree_does_no_harm(shop):
    from clew.work.paths import worktree_home

    shop.finished("001", {"one.txt": "1\n"})
    shop.finished("002", {"two.txt": "2\n"})
    shop.configure("merge:", "  checks: [test ! -e rubbish]")
    shop.merge("001")
    tree = worktree_home(shop.root) / ".integration"
    (tree / "rubbish").write_text("left\n")
    own = (tree / ".git").read_text().split()[1]
    Path(own, "index.lock").write_text("")
    assert shop.merge("002").status == "merged"
    shop.finished("003", {"three.txt": "3\n"})
    (tree / ".git").write_text("gitdir: nowhere\n")
    assert shop.merge("003").status == "merged"


def test_two_mergers_at_once_merge_one_after_the_other(shop):
    import subprocess
    import sys

    shop.configure("merge:", "  checks: [sleep 0.3]")
    for spec_id in ("001", "002", "003"):
        shop.finished(spec_id, {f"{spec_id}.txt": "x\n"})
    children = [
        subprocess.Popen(
            [sys.executable, "-c", MERGE, str(shop.root), "0", "after", spec_id],
            stdout=subprocess.PIPE,
        )
        for spec_id in ("001", "002", "003")
    ]
    assert [child.communicate(timeout=60)[0][:4] for child in children] == [b"done"] * 3
    assert all((shop.root / f"{spec_id}.txt").exists() for spec_id in ("001", "002", "003"))
    assert shop.repo.git("status", "--porcelain") == b""
