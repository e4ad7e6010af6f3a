"""merge, split, watch and cleanup on the command line of both faces."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from clew.work.worktrees.worktrees import path_of
from tests.specs.tools.project import Chant
from tests.support.client import BIN
from tests.support.waiting import wait_until
from tests.work.merging.making import status_of


def run(shop, face, *words, code=0):
    done = subprocess.run(
        [str(BIN / face), *words],
        cwd=shop.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def data(shop, *words, code=0):
    envelope = json.loads(run(shop, "clew", *words, "--json", code=code))
    assert envelope["exit_code"] == code
    return envelope["data"]


@pytest.fixture
def three(shop):
    """One that merges, one that conflicts with it, one that is not done."""
    shop.finished("001", {"a.txt": "1\n"})
    shop.finished("002", {"a.txt": "2\n"})
    shop.finished("003", {"three.txt": "3\n"}, status="in_progress")
    return shop


def test_list_and_dry_run_change_nothing(three):
    before = (three.main(), three.picture())
    listed = data(three, "merge", "--list")["branches"]
    assert [(b["spec_id"], b["state"], b["commits"]) for b in listed] == [
        ("001", "ready", 1), ("002", "ready", 1), ("003", "incomplete", 1),
    ]  # fmt: skip
    assert len(data(three, "merge", "--dry-run")["branches"]) == 2
    assert len(data(three, "merge", "--dry-run", "003")["branches"]) == 1
    assert (three.main(), three.picture()) == before


@pytest.mark.parametrize("face", ["clew", "chant"])
def test_merging_by_name(three, face):
    assert "merged" in run(three, face, "merge", "001")
    said = run(three, face, "merge", "002", code=1)
    assert "conflict" in said
    assert "a.txt" in said
    assert f"{face} work" in said
    assert "merged" in run(three, face, "merge", "003", "--rebase")


def test_merging_all_tells_each_and_fails_if_one_does(three):
    found = data(three, "merge", "--all", "--delete-branch", code=1)["merges"]
    assert [(m["spec_id"], m["status"]) for m in found] == [("001", "merged"), ("002", "conflict")]
    assert found[1]["files"] == ["a.txt"]
    assert not path_of(three.root, "001").exists()
    assert status_of(three, "002") == "needs_attention"
    assert run(three, "clew", "merge", "--all") == "Nothing to merge.\n"


def test_a_group_stands_for_its_members(shop):
    shop.spec("001", type="group", status="completed")
    for number in (1, 2):
        shop.finished(f"001.{number}", {f"{number}.txt": "x\n"})
    found = data(shop, "merge", "001")["merges"]
    assert [(m["spec_id"], m["status"]) for m in found] == [
        ("001.1", "merged"), ("001.2", "merged"),
    ]  # fmt: skip


def test_mistakes_are_told_with_the_next_step(shop):
    assert "Name them, or use --all" in run(shop, "clew", "merge", code=2)
    assert "Spec not found" in run(shop, "clew", "merge", "404", code=1)
    assert "--force needs the specs by name" in run(shop, "clew", "cleanup", "--force", code=2)
    assert "No worktree of these specs" in run(shop, "clew", "cleanup", "404", code=1)
    assert "Watch is not running" in run(shop, "clew", "watch", "--stop", code=1)


def test_cleanup_lists_and_removes(three):
    run(three, "clew", "merge", "001")
    found = data(three, "cleanup", "--dry-run")["worktrees"]
    assert [(w["spec_id"], w["deed"]) for w in found] == [
        ("001", "would remove"), ("002", "refused"), ("003", "refused"),
    ]  # fmt: skip
    assert data(three, "cleanup")["worktrees"][0]["deed"] == "removed"
    assert "not in" in run(three, "chant", "cleanup", "002", code=1)
    forced = data(three, "cleanup", "002", "--force")["worktrees"]
    assert forced[0]["kept"][0].startswith("refs/chant/kept/002-branch-")


def test_split_shows_and_undoes(shop):
    shop.spec("001", *[False] * 6, status="pending")
    assert "Would split" in run(shop, "chant", "split", "001", "--dry-run")
    assert "001.2" in run(shop, "chant", "split", "001")
    assert "Undone; removed 001.1, 001.2." in run(shop, "chant", "split", "001", "--undo")


def test_watch_once_and_its_status(three):
    said = run(three, "clew", "watch", "--once")
    assert "001: merge into main: merged" in said
    assert "001: worktree removed" in said
    assert "002: merge into main: conflict" in said
    assert "No watch is running." in run(three, "clew", "watch", "--status")


def test_watch_in_the_foreground_ends_by_sigterm(shop):
    shop.configure("watch:", "  poll_interval_ms: 100")
    child = subprocess.Popen(
        [str(BIN / "clew"), "watch"], cwd=shop.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pid_file = shop.root / ".chant" / "watch.pid"
    wait_until(pid_file.exists)
    assert int(pid_file.read_text()) == child.pid
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, err) == (0, b"")
    assert out.decode().splitlines()[-1] == "watch ended"
    assert not pid_file.exists()


def test_unmerged_work_is_not_archived_unless_it_is_forced(three):
    said = run(three, "chant", "archive", "001", code=1)
    assert "feature branch 'chant/001' has not been merged to main" in said
    with Chant(three.root) as chant:
        assert "`chant merge 001`" in chant.error("chant_archive", id="001")
    run(three, "chant", "merge", "001")
    with Chant(three.root) as chant:
        assert chant.text("chant_archive", id="001").startswith("Archived spec: 001 -> ")
    said = run(three, "chant", "archive", "--older-than", "0")
    assert said.startswith("Not archived: Cannot archive spec '002'")
    run(three, "chant", "archive", "002", "--force")
    assert three.store.load("002").head.archived


def test_a_spec_is_finalized_and_merged_in_one_step(three):
    done = data(three, "spec", "finalize", "003", "--merge")
    assert done["merged"] == three.main()
    assert status_of(three, "003") == "completed"
    (there,) = (t for t in data(three, "worktree", "status")["worktrees"] if t["spec_id"] == "001")
    assert there["path"] == str(path_of(three.root, "001"))
