"""Bare, shallow, detached, linked, empty and damaged repositories; ignored paths; configuration."""

from __future__ import annotations

import pytest

from clew.history.lookup import get_commit
from clew.history.sync.freshness import commits_behind, freshness, repo_status
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.errors import Invalid, NotFound
from tests.history.index import (
    assert_commit_equals_git,
    assert_equals_git,
    check_text_indexes,
    content,
    hits,
    new_index,
    patch_of,
    stored_files,
    sync,
)
from tests.support.repos import Repository


@pytest.fixture
def simple(tmp_path):
    """Six commits."""
    repository = Repository(tmp_path / "simple")
    for number in range(6):
        repository.commit(f"Change {number}", {f"f{number % 2}.txt": f"word{number}\n" * 3})
    return repository


def at(path):
    """A repository that exists."""
    repository = Repository.__new__(Repository)
    repository.path = path
    repository.clock = 1_700_001_000
    return repository


def test_bare(simple, tmp_path):
    simple.git("clone", "-q", "--bare", str(simple.path), str(tmp_path / "b.git"))
    bare = at(tmp_path / "b.git")
    assert_equals_git(bare, new_index(tmp_path / "db", bare))


def test_shallow(simple, tmp_path):
    source = f"file://{simple.path}"
    simple.git("clone", "-q", "--depth=3", source, str(tmp_path / "s"))
    shallow = at(tmp_path / "s")
    store = new_index(tmp_path / "db", shallow)
    assert store.commit_count(1) == 3
    assert_equals_git(shallow, store)
    oldest = shallow.all_shas()[0]
    assert {status for status, _, _ in stored_files(store, oldest)} == {"A"}
    repo = store.repos()[0]
    assert freshness(store, [repo]) == {"stale": False, "limits": {"r": ["shallow"]}}
    assert repo_status(store, repo)["limits"] == ["shallow"]


def test_detached(simple, tmp_path):
    simple.git("checkout", "-q", "--detach", "HEAD~2")
    store = new_index(tmp_path / "db", simple)
    assert store.commit_count(1) == 4
    assert_equals_git(simple, store)


def test_linked_worktree(simple, tmp_path):
    simple.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"), "HEAD~1")
    linked = at(tmp_path / "linked")
    linked.commit("In the linked one", {"linked.txt": "x\n"})
    assert_equals_git(linked, new_index(tmp_path / "db", linked))


def test_grafts(simple, tmp_path):
    shas = simple.all_shas()
    grafts = simple.path / ".git" / "info" / "grafts"
    grafts.write_text(f"{shas[3]} {shas[0]}\n")
    store = new_index(tmp_path / "db", simple)
    assert len(simple.all_shas()) == 4
    grafts.unlink()
    assert_equals_git(simple, store)  # history as it was written


def test_empty_repository_says_what_to_do_and_is_read_later(tmp_path):
    empty = Repository(tmp_path / "empty")
    store = new_index(tmp_path / "db")
    repo = register(store, empty.path)
    with pytest.raises(Invalid, match="has no commit at HEAD") as caught:
        sync_repo(store, repo)
    assert "first commit" in caught.value.hint
    assert repo_status(store, repo)["last_error"]
    empty.commit("First", {"a": "1\n"})
    assert sync_repo(store, repo).indexed == 1
    assert repo_status(store, repo)["last_error"] is None


def test_a_repository_that_moved_away_is_reported(simple, tmp_path):
    store = new_index(tmp_path / "db", simple)
    simple.path.rename(tmp_path / "elsewhere")
    with pytest.raises(Invalid, match="No repository at"):
        sync(store)
    assert store.commit_count(1) == 6
    assert commits_behind(store, store.find_repo("r")) is None


def test_no_head_but_branches(simple, tmp_path):
    simple.git("symbolic-ref", "HEAD", "refs/heads/unborn")
    store = new_index(tmp_path / "db", simple, all_refs=True)
    assert store.commit_count(1) == 6


def test_a_branch_comes_before_a_tag_of_its_name(simple, tmp_path):
    simple.git("tag", "main", "HEAD~3")
    store = new_index(tmp_path / "db", simple, default_branch="main")
    assert store.commit_count(1) == 6


def test_odd_ref_names(simple, tmp_path):
    simple.git("branch", "line\u2028sep")
    simple.git("branch", "x\u0085y", "HEAD~1")
    store = new_index(tmp_path / "db", simple, all_refs=True)
    assert store.commit_count(1) == 6


def test_a_ref_to_a_missing_commit_does_not_stop_the_others(simple, tmp_path):
    (simple.path / ".git/refs/heads/broken").write_text("1" * 40 + "\n")
    store = new_index(tmp_path / "db", simple, all_refs=True)
    assert store.commit_count(1) == 6
    assert store.tips_mark(1) is None, "the commit may come without a change of the ref"


def test_thousands_of_refs(simple, tmp_path):
    head = simple.head()
    lines = "".join(f"create refs/tags/t{n:05}-{'x' * 60} {head}\n" for n in range(4000))
    simple.git("update-ref", "--stdin", data=lines.encode())
    simple.git("pack-refs", "--all")
    store = new_index(tmp_path / "db", simple, all_refs=True)
    mark = store.tips_mark(1)
    assert mark
    assert sync(store).indexed == 0
    simple.git("tag", "--annotate", "--message", "Late", "late", "HEAD~2")
    sync(store)
    assert store.tips(1)["refs/tags/late"] == simple.git("rev-parse", "HEAD~2").decode().strip()
    assert mark != store.tips_mark(1) is not None
    simple.commit("One more", {"x": "y\n"})
    assert sync(store).indexed == 1
    assert commits_behind(store, store.find_repo("r")) == 0


def test_ignored_prefixes_leave_no_trace(tmp_path):
    r = Repository(tmp_path / "r")
    r.commit(
        "Mixed",
        {
            "src/a.txt": "kept\n",
            "vendor/v.txt": "hiddenword\n",
            "node_modules/x/y.js": "hiddenword\n",
            "dist/d.js": "hiddenword\n",
            "docs/d.md": "hiddenword\n",
            "sub/vendor/ok.txt": "kept\n",
        },
    )
    r.commit("Only ignored", {"vendor/v.txt": "hiddenword again\n"})
    r.git("mv", "src/a.txt", "vendor/a.txt")
    moved = r.commit("Into vendor")
    r.git("mv", "vendor/a.txt", "src/b.txt")
    back = r.commit("Out of vendor")
    store = new_index(tmp_path / "db", r, exclude=["docs/"])
    first, second = r.all_shas()[:2]
    assert [f[1] for f in stored_files(store, first)] == ["src/a.txt", "sub/vendor/ok.txt"]
    assert "hiddenword" not in patch_of(store, first)
    assert patch_of(store, first).count("diff --git") == 2
    assert stored_files(store, second) == []
    assert patch_of(store, second) is None
    assert stored_files(store, moved) == [("D", "src/a.txt", None)]
    assert stored_files(store, back) == [("R", "src/b.txt", "vendor/a.txt")]
    assert hits(store, "hiddenword") == [[]]
    check_text_indexes(store)


def test_author_filter(simple, tmp_path):
    simple.commit("By else", {"e": "1\n"}, options=["--author=Else <Else@Example.com>"])
    store = new_index(tmp_path / "db", simple, author="else@example.com")
    assert store.commit_count(1) == 1
    assert sync(store).indexed == 0


def damage(repository, sha):
    """Take an object away; returns a function that puts it back."""
    path = repository.object_path(sha)
    kept = path.read_bytes()
    path.unlink()

    def repair():
        path.write_bytes(kept)

    return repair


def corrupt(repository, sha):
    """Spoil an object; returns a function that mends it."""
    path = repository.object_path(sha)
    kept = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(kept[:10] + b"garbage")

    def repair():
        path.write_bytes(kept)

    return repair


@pytest.mark.parametrize("harm", [damage, corrupt])
@pytest.mark.parametrize("what", ["^{tree}", ":f1.txt", ""])
def test_damage_is_reported_and_the_rest_indexed_and_read_after_repair(
    simple, tmp_path, harm, what
):
    shas = simple.all_shas()
    harmed = simple.text("rev-parse", f"{shas[3]}{what}")
    repair = harm(simple, harmed)
    store = new_index(tmp_path / "db")
    repo = register(store, simple.path, name="r")
    result = sync_repo(store, repo)
    assert result.problems
    assert any(shas[3][:12] in problem for problem in result.problems)
    assert repo_status(store, repo)["last_error"]
    good = [sha for sha in shas if sha[:12] not in " ".join(result.problems)]
    assert shas[4 if what == ":f1.txt" else 5] in good
    for sha in good:
        if what or shas.index(sha) > 4:
            assert_commit_equals_git(simple, store, sha)
    assert sync_repo(store, repo).problems == result.problems
    simple_after = simple.commit("After the damage", {"z": "z\n"}) if what else None
    if simple_after:
        assert sync_repo(store, repo).indexed == 1
    repair()
    mended = sync_repo(store, repo)
    assert mended.problems == ()
    assert repo_status(store, repo)["last_error"] is None
    assert_equals_git(simple, store)
    check_text_indexes(store)
    clean = new_index(tmp_path / "clean", simple)
    assert content(clean) == content(store)
    assert sync_repo(store, repo).indexed == 0


HOSTILE = """
[core]
    pager = touch {mark}
    quotePath = false
    abbrev = 40
    fsmonitor = touch {mark}
    attributesFile = {attributes}
    hooksPath = {hooks}
    sshCommand = touch {mark}
[diff]
    external = touch {mark}
    noprefix = true
    mnemonicPrefix = true
    algorithm = patience
    context = 9
    interHunkContext = 7
    renames = false
    renameLimit = 1
    suppressBlankEmpty = true
    submodule = log
    indentHeuristic = false
    orderFile = {order}
    wordRegex = .
    colorMoved = zebra
    ignoreSubmodules = all
    relative = true
    wsErrorHighlight = all
[diff "evil"]
    textconv = touch {mark}; cat
    command = touch {mark}
    cachetextconv = true
[log]
    showSignature = true
    date = iso
    decorate = full
    follow = true
    mailmap = false
    showRoot = false
    diffMerges = combined
    excludeDecoration = x
[format]
    pretty = oneline
    notes = *
[color]
    ui = always
    diff = always
[i18n]
    logOutputEncoding = ISO-8859-1
    commitEncoding = ISO-8859-1
[gpg]
    program = {program}
[alias]
    log = !touch {mark}
    diff-tree = !touch {mark}
[pager]
    log = touch {mark}
    diff-tree = touch {mark}
[notes]
    displayRef = *
[submodule]
    recurse = true
"""


def test_hostile_configuration_changes_nothing_and_runs_nothing(tmp_path):
    r = Repository(tmp_path / "r")
    text = "".join(f"line {n}\n\n" for n in range(60))
    r.commit("Root é", {"a.txt": text, "grün.txt": "x\n", "z.txt": "1\n"})
    r.git("mv", "a.txt", "b.txt")
    r.commit("Rename", {"b.txt": text.replace("line 30", "LINE"), "c.txt": "new\n", "grün.txt": ""})
    person = b"A <a@example.com> 1700000000 +0000"
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"
    r.raw_commit([b"author " + person, b"committer " + person, signature], "Grüße\n".encode())
    r.commit("Last", {"a b": "y\n" * 3})
    clean = content(new_index(tmp_path / "clean", r))
    mark = tmp_path / "executed"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    attributes, order = tmp_path / "attributes", tmp_path / "order"
    attributes.write_text("*.txt diff=evil\n")
    order.write_text("z.txt\n")
    with (r.path / ".git/config").open("a") as file:
        file.write(
            HOSTILE.format(
                mark=mark, attributes=attributes, order=order, program=program, hooks=hooks
            )
        )
    assert content(new_index(tmp_path / "db", r)) == clean
    assert not mark.exists()


def test_settings_of_the_caller_change_nothing(simple, tmp_path, monkeypatch):
    clean = content(new_index(tmp_path / "clean", simple))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {tmp_path}/executed")
    monkeypatch.setenv("GIT_DIFF_OPTS", "-u9")
    monkeypatch.setenv("GIT_PAGER", f"touch {tmp_path}/executed")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.abbrev")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "40")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert content(new_index(tmp_path / "db", simple)) == clean
    assert not (tmp_path / "executed").exists()


def test_how_far_behind(simple, tmp_path):
    store = new_index(tmp_path / "db", simple)
    repo = store.find_repo("r")
    assert commits_behind(store, repo) == 0
    simple.commit("A", {"x": "1\n"})
    simple.commit("B", {"x": "2\n"})
    assert commits_behind(store, repo) == 2
    simple.git("reset", "-q", "--hard", "HEAD~4")
    simple.git("reflog", "expire", "--expire=now", "--all")
    simple.git("gc", "-q", "--prune=now")
    assert commits_behind(store, repo) == 0
    assert sync(store).orphaned == 2
    with pytest.raises(NotFound):
        get_commit(store, "r", "0" * 40)


@pytest.mark.parametrize("gone", [0, 2, 4])
def test_a_commit_that_vanishes_while_it_is_read_stops_nothing(simple, gone):
    from dataclasses import replace

    from clew.history.git.stream import DiffReader, read_commits

    commits = list(read_commits(simple.path, [simple.head()]))[:5]
    commits[gone] = replace(commits[gone], sha="1" * 40)
    reader = DiffReader(simple.path)
    diffs = reader.receive(commits, reader.send(commits))
    assert None in diffs
    assert all(diffs[: max(gone - 1, 0)])
    assert reader.receive(commits[gone : gone + 1], reader.send(commits[gone : gone + 1])) == [None]
    reader.close()
