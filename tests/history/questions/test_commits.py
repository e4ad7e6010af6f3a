"""Links, issues, similar commits, refs that contain a commit, and the list of repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.history.questions.contains import contains
from clew.history.questions.file_history import file_history
from clew.history.questions.issues import by_issue, issue_refs
from clew.history.questions.links import commit_links
from clew.history.questions.pickaxe import find_changes
from clew.history.questions.similar import similar
from clew.history.sync.freshness import list_repos
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.errors import ClewError, Invalid, NotFound
from tests.history.index import new_index
from tests.history.questions.conftest import Story, shas, tell


def links_of(store, story, name):
    found = commit_links(store, "demo", story[name])
    return {(link["kind"], story.name_of(link["sha"])) for link in found["links"]}


def test_links_lead_both_ways(store, story):
    assert links_of(store, story, "frob") == {
        ("reverted_by", "revert"),
        ("cherry_picked_to", "picked"),
    }
    assert links_of(store, story, "revert") == {("reverts", "frob")}
    assert links_of(store, story, "picked") == {("cherry_picked_from", "frob")}
    assert links_of(store, story, "needle") == {("fixes", "rename"), ("fixup", "fixup")}
    assert links_of(store, story, "rename") == {("fixed_by", "needle")}
    assert links_of(store, story, "fixup") == {("fixup_of", "needle")}
    assert links_of(store, story, "side") == set()


def test_links_out_of_the_index_keep_their_name(tmp_path):
    story = Story(tmp_path / "r")
    story.commit("one", "One thing")
    story.commit("two", 'Revert "One thing"')
    story.commit("far", f"Undo\n\nThis reverts commit {'ab' * 20}.")
    store = new_index(tmp_path / "db")
    sync_repo(store, register(store, story.root))

    (far,) = commit_links(store, "r", story["far"])["links"]
    assert far == {
        "kind": "reverts",
        "sha": "ab" * 20,
        "subject": None,
        "date": None,
        "words": f"This reverts commit {'ab' * 20}.",
    }
    (by_subject,) = commit_links(store, "r", story["one"])["links"]
    assert (by_subject["kind"], by_subject["sha"]) == ("reverted_by", story["two"])


def test_issues_are_data(store, story):
    found = commit_links(store, "demo", story["frob"])["issues"]

    assert found == [
        {"kind": "number", "ref": "#12", "closes": True},
        {"kind": "number", "ref": "#34", "closes": False},
        {"kind": "url", "ref": "https://github.com/a/demo/issues/77", "closes": False},
        {"kind": "key", "ref": "PROJ-9", "closes": False},
    ]


@pytest.mark.parametrize(
    ("message", "refs"),
    [
        ("Merge pull request #7 from x", ["#7"]),
        ("a#7 &#123; ##4 x/y#9", []),
        ("closes: GH-3 (#4)", ["#3", "#4"]),
        ("SHA-256 UTF-8 ISO-8859 RFC-1 foo-1 A-1", []),
        ("see <https://e.org/browse/AB-1>.", ["https://e.org/browse/AB-1"]),
        ("Made with https://claude.ai/code and https://e.org/a/b.", []),
        ("https://bugs.e.org/show_bug.cgi?id=5 x", ["https://bugs.e.org/show_bug.cgi?id=5"]),
        ("https://code.e.org/ticket/5#comment:2", ["https://code.e.org/ticket/5#comment:2"]),
        ("Step #1, part #2, colour #333", []),
        ("It crashed:\n\n    #12 in main\n#0  0x0 in f ()\n\nRefs #9", ["#9"]),
    ],
)
def test_what_counts_as_an_issue(message, refs):
    assert [entry["ref"] for entry in issue_refs(message)] == refs


@pytest.mark.parametrize(
    ("issue", "names"),
    [
        ("#12", {"frob", "picked"}),
        ("12", {"frob", "picked"}),
        ("gh-34", {"frob", "picked"}),
        ("PROJ-9", {"frob", "picked", "needle"}),
        ("proj-9", {"frob", "picked", "needle"}),
        ("https://github.com/a/demo/issues/77", {"frob", "picked"}),
        ("#77", {"frob", "picked"}),
        ("https://github.com/other/project/issues/12", set()),
        ("#1", set()),
    ],
)
def test_commits_are_found_by_issue(store, story, issue, names):
    found = by_issue(store, issue)

    # A revert repeats the subject of what it reverts, never its body.
    assert {story.name_of(sha) for sha in shas(found)} == names
    assert found["total"] == len(names)


@pytest.mark.parametrize("issue", ["", "hello", "#1 #2", '" OR x', "\ud800"])
def test_what_is_no_issue_is_said(store, issue):
    with pytest.raises(Invalid):
        by_issue(store, issue)


def test_similar_commits(store, story):
    found = similar(store, repo="demo", sha=story["frob"])

    assert {story.name_of(sha) for sha in shas(found)[:2]} == {"revert", "picked"}
    assert story["frob"] not in shas(found)
    assert found["commits"][0]["paths"] == ["src/core.py", "src/util.py"]
    assert "frobnicate" in found["commits"][0]["words"]


def test_similar_to_a_pasted_diff(store, story):
    diff = story.git("show", "--format=", story["frob"])
    assert shas(similar(store, diff=diff, limit=1))[0] in (
        story["frob"], story["revert"], story["picked"],
    )  # fmt: skip
    plain = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+frobnicate(1)\n"
    assert story["frob"] in shas(similar(store, diff=plain))
    for nothing in ("", "hello", "+++", "\ud800"):
        assert similar(store, diff=nothing)["commits"] == []
    with pytest.raises(Invalid):
        similar(store, repo="demo")


def test_refs_that_contain_a_commit(store, story):
    for name in ("start", "picked", "needle"):
        found = contains(store, "demo", story[name][:10])
        listed = ("for-each-ref", f"--contains={story[name]}", "--format=%(refname)")
        assert [entry["ref"] for entry in found["refs"]] == story.lines(*listed)
        assert [e["ref"] for e in found["refs"] if e["indexed"]] == ["refs/heads/main"]


def test_refs_outside_the_index_contain_what_git_says(tmp_path):
    story = tell(tmp_path / "demo")
    store = new_index(tmp_path / "contains.sqlite3")
    sync_repo(store, register(store, story.root))
    for number, name in enumerate(("start", "needle")):
        story.git("branch", f"old-{number}", story[name])
        story.git("checkout", "-q", f"old-{number}")
        for time in range(2):
            story.commit(f"aside-{number}-{time}", f"Aside {number} {time}")
        story.git("tag", "-a", "-m", "one", f"one-{number}")
        story.git("tag", "-a", "-m", "of a tag", f"two-{number}", f"one-{number}")
    story.git("tag", "tree", "HEAD^{tree}")
    story.git("checkout", "-q", "main")
    for name in ("start", "picked", "needle"):
        found = contains(store, "demo", story[name])
        listed = ("for-each-ref", f"--contains={story[name]}", "--format=%(refname)")
        assert [entry["ref"] for entry in found["refs"]] == story.lines(*listed)
    assert "refs/tags/two-0" in [
        one["ref"] for one in contains(store, "demo", story["start"])["refs"]
    ]


@pytest.mark.parametrize("ask", [contains, commit_links])
def test_commits_have_to_be_known(store, ask):
    with pytest.raises(NotFound, match="Repo 'nope' not found"):
        ask(store, "nope", "abcd")
    for sha in ("--all", "HEAD", "", "f" * 40):
        with pytest.raises(NotFound):
            ask(store, "demo", sha)


def test_git_never_leaves_the_registered_repository(story, tmp_path):
    outer = Story(tmp_path / "outer")
    inner = Story(outer.root / "inner")
    inner.commit("one", "One")
    store = new_index(tmp_path / "db")
    sync_repo(store, register(store, inner.root))
    (inner.root / ".git").rename(tmp_path / "gone")

    with pytest.raises(ClewError):
        contains(store, "inner", inner["one"])


@pytest.fixture
def small(tmp_path):
    story = Story(tmp_path / "small")
    story.write("a.txt", "first")
    story.commit("one", "One")
    return story, new_index(tmp_path / "db")


def only(store):
    (entry,) = list_repos(store)["repos"]
    return entry


def test_repositories_are_listed_without_git(small, monkeypatch):
    story, store = small
    repo = register(store, story.root)
    assert (only(store)["tip"], only(store)["stale"]) == (None, True)
    sync_repo(store, repo)
    monkeypatch.setenv("PATH", os.devnull)

    entry = only(store)
    assert (entry["tip"], entry["head"]) == (story["one"], story["one"])
    assert (entry["stale"], entry["commit_count"]) == (False, 1)
    assert entry["last_synced_at"]


def test_a_repository_that_moved_is_stale(small):
    story, store = small
    sync_repo(store, register(store, story.root))
    story.commit("two", "Two")
    assert (only(store)["stale"], only(store)["head"]) == (True, story["two"])
    story.git("pack-refs", "--all")
    assert only(store)["head"] == story["two"]
    story.git("checkout", "--quiet", "--detach", story["one"])
    assert only(store)["stale"] is False
    (story.root / ".git").rename(story.root / "gone")
    assert (only(store)["stale"], only(store)["head"]) == (None, None)


def test_other_branches_count_where_they_are_indexed(small):
    story, store = small
    repo = register(store, story.root, all_refs=True)
    sync_repo(store, repo)
    assert only(store)["stale"] is False
    story.git("branch", "new/branch")
    assert only(store)["stale"] is True
    story.git("pack-refs", "--all")
    sync_repo(store, repo)
    assert only(store)["stale"] is False


def test_linked_worktrees_and_bare_repositories_are_listed(small, tmp_path):
    story, store = small
    story.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    story.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    for name in ("linked", "bare.git"):
        sync_repo(store, register(store, Path(tmp_path / name)))

    assert [entry["stale"] for entry in list_repos(store)["repos"]] == [False, False]
    assert list_repos(store, limit=1)["total"] == 2


def test_commits_that_were_rewritten_are_hidden(small):
    story, store = small
    repo = register(store, story.root)
    story.write("a.txt", "first", "secondary word")
    lost = story.commit("lost", "Lost #5")
    sync_repo(store, repo)
    story.git("commit", "--quiet", "--amend", "--message", "Kept #5")
    kept = story.mark("kept")
    sync_repo(store, repo)

    for found in (
        find_changes(store, "secondary word"),
        file_history(store, "small", "a.txt", limit=1),
        by_issue(store, "#5"),
        similar(store, diff="+++ b/x\n@@ -0,0 +1 @@\n+secondary\n"),
    ):
        assert kept in shas(found)
        assert lost not in shas(found)
