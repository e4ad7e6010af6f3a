"""Conflicts: the branch is kept, a spec is opened, and resolving it lets everything go on."""

from __future__ import annotations

import pytest

from clew.specs.check.lint import lint_specs
from clew.specs.check.lint_rules import ERROR
from clew.specs.model import Changes
from clew.specs.store.config import load_config
from clew.work.merging.conflicts import open_conflict_of
from clew.work.runs.prepare import start_work
from clew.work.runs.reconcile import reconcile
from tests.support.repos import Repository
from tests.support.waiting import wait_until
from tests.work.merging.making import status_of


@pytest.fixture
def clash(shop):
    """Two finished specs that changed the same line, the first of them merged."""
    shop.spec("003", status="pending", depends_on=["002"])
    shop.spec("004", status="pending", target_files=["a.txt"])
    shop.finished("001", {"a.txt": "first\n"})
    shop.finished("002", {"a.txt": "second\n", "b.txt": "b2\n"}, body="Make it second.")
    assert shop.merge("001").status == "merged"
    return shop


@pytest.mark.parametrize("strategy", ["merge", "rebase"])
def test_a_conflict_keeps_everything_and_opens_a_spec(clash, strategy):
    before, main, tip = clash.picture(), clash.main(), clash.repo.text("rev-parse", "chant/002")
    result = clash.merge("002", strategy=strategy)
    assert (result.status, result.files) == ("conflict", ("a.txt",))
    assert clash.main() == main
    assert clash.repo.text("rev-parse", "chant/002") == tip
    assert clash.picture()[1:] == before[1:]
    assert status_of(clash, "002") == "needs_attention"
    store = clash.store
    conflict = store.load(result.conflict_spec)
    assert {name: conflict.fields[name] for name in conflict.fields if name != "target_files"} == {
        "type": "conflict",
        "status": "pending",
        "source_branch": "chant/002",
        "target_branch": "main",
        "conflicting_files": ["a.txt"],
        "blocked_specs": ["003", "004"],
        "original_spec": "002",
    }
    assert "Make it second." in conflict.body
    assert "git merge --no-ff chant/002" in conflict.body
    assert f"chant({conflict.id}):" in conflict.body
    assert conflict.head.criteria_total == 2
    assert store.problems() == []
    findings = lint_specs(store, load_config(clash.root), [conflict]).findings
    assert [finding for finding in findings if finding.severity == ERROR] == []


def test_conflicting_again_keeps_one_spec(clash):
    first = clash.merge("002").conflict_spec
    assert clash.merge("002").conflict_spec == first
    assert [h.id for h in clash.store.heads() if h.type == "conflict"] == [first]


def test_a_conflict_spec_that_is_resolved_and_merged_frees_the_first(clash):
    opened = clash.merge("002").conflict_spec
    work = clash.branch(opened, {"note.txt": "begin\n"})
    work.git("merge", "--no-ff", "chant/002", check=False)
    work.commit(f"chant({opened}): resolve", {"a.txt": "first and second\n"})
    path = clash.root / ".chant" / "specs" / f"{opened}.md"
    path.write_text(
        path.read_text().replace("- [ ]", "- [x]").replace("status: pending", "status: completed")
    )
    result = clash.merge(opened, strategy="rebase")  # has a merge commit, so it is merged
    assert result.status == "merged"
    assert clash.shown("a.txt") == "first and second\n"
    assert status_of(clash, "002") == "completed"
    assert clash.merge("002").note == "chant/002 was merged already"
    assert clash.store.graph().state("003").status == "ready"


RESOLVE = """git merge -q --no-ff chant/002; echo both > a.txt; git add a.txt
git commit -q -m "chant($CHANT_SPEC_ID): resolve"
sed -i 's/- \\[ \\]/- [x]/' "$CHANT_SPEC_FILE"
"""


def test_an_agent_resolves_it(clash, tmp_path):
    opened = clash.merge("002").conflict_spec
    script = tmp_path / "resolve.sh"
    script.write_text(RESOLVE)
    clash.configure("defaults:", "  provider: command", f"  command: [sh, {script}]")
    start_work(clash.work, opened, seconds=20)

    def is_done():
        reconcile(clash.work)
        return status_of(clash, opened) != "in_progress"

    wait_until(is_done)
    assert status_of(clash, opened) == "completed"
    assert clash.merge(opened).status == "merged"
    assert clash.shown("a.txt") == "both\n"
    assert status_of(clash, "002") == "completed"


def test_a_conflict_that_was_only_ticked_off_is_not_resolved(clash, tmp_path):
    opened = clash.merge("002").conflict_spec
    script = tmp_path / "agent.sh"
    script.write_text(
        "set -e\necho both > other.txt\n"
        f"git add -A\ngit commit -qm 'chant({opened}): say that it is resolved'\n"
        'sed -i "s/- \\[ \\]/- [x]/" "$CHANT_SPEC_FILE"\n'
    )
    clash.configure("defaults:", "  provider: command", f"  command: [sh, {script}]")
    start_work(clash.work, opened)
    run = wait_until(lambda: (found := clash.work.journal.latest(opened)).settled_at and found, 60)
    assert (run.phase, run.failure_class) == ("failed", "criteria")
    assert "'chant/002' is not merged" in run.failure
    assert status_of(clash, opened) == "needs_attention"


def test_a_branch_put_right_by_hand_is_merged_and_its_conflict_spec_cancelled(clash):
    opened = clash.merge("002").conflict_spec
    work = Repository(clash.branch("002", {"c.txt": "c\n"}).path)
    work.git("merge", "main", check=False)
    work.commit("chant(002): with main", {"a.txt": "both\n"})
    assert clash.merge("002").status == "merged"
    assert status_of(clash, "002") == "completed"
    assert status_of(clash, opened) == "cancelled"
    assert open_conflict_of(clash.store, "002") is None


def test_one_conflict_does_not_stop_the_others(clash):
    clash.finished("005", {"five.txt": "5\n"})
    results = clash.merge("002", "005")
    assert [result.status for result in results] == ["conflict", "merged"]
    assert clash.shown("five.txt") == "5\n"


def test_a_file_that_one_side_deleted_is_named(shop):
    shop.finished("001", {"a.txt": None, "x.txt": "x\n"})
    shop.finished("002", {"a.txt": "changed\n"})
    assert shop.merge("001").status == "merged"
    assert shop.merge("002").files == ("a.txt",)


def test_odd_file_names_are_told_as_they_are(shop):
    name = "dir with blank/naïve \n file.txt"
    shop.repo.commit("odd", {name: "x\n"})
    shop.finished("001", {name: "1\n"})
    shop.finished("002", {name: "2\n"})
    shop.merge("001")
    result = shop.merge("002")
    assert result.files == (name,)
    assert shop.store.load(result.conflict_spec).fields["conflicting_files"] == [name]


def test_a_conflict_says_with_whom_and_is_over_once_it_is_merged(shop):
    from clew.work.runs.reasons import reason_of

    shop.finished("001", {"a.txt": "1\n"})
    shop.finished("002", {"a.txt": "2\n"})
    shop.merge("001", "002")
    assert status_of(shop, "002") == "needs_attention"
    reason = reason_of(shop.work.journal, "002", "needs_attention")
    words = "Not merged: chant/002 conflicts with main in: a.txt (changed there by spec 001)"
    assert reason.why == words
    opened = shop.entry("002").conflict_spec
    assert reason.next_step == f"Have the conflict resolved: `chant work {opened}`."
    resolving = shop.branch(opened, {"b.txt": "new\n"})
    resolving.git("merge", "-q", "-s", "ours", "-m", f"chant({opened}): both", "chant/002")
    shop.store.change(
        opened,
        lambda spec: Changes({"status": "completed"}, spec.body.replace("[ ]", "[x]")),
        actor="test",
    )
    assert shop.merge(opened).is_merged
    assert (status_of(shop, "002"), shop.entry("002").status) == ("completed", "merged")
    assert reason_of(shop.work.journal, "002", "completed") is None
