"""Property: after any sequence of changes and syncs the index equals a clean one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.history.lookup import get_commit
from clew.history.questions.file_history import find_touches
from clew.history.search.search import search_commits
from clew.kit.errors import NotFound
from tests.history.index import check_text_indexes, content, hits, new_index, sync
from tests.support.repos import Repository

NAMES = ("a.txt", "dir/b.txt", "c.txt")
QUERIES = ("change", "alpha", "beta", "merge", "txt")

step = st.one_of(
    st.tuples(st.just("commit"), st.integers(0, 2), st.sampled_from(["alpha", "beta", "gamma"])),
    st.tuples(st.just("branch"), st.integers(0, 2), st.integers(0, 3)),
    st.tuples(st.just("switch"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("merge"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("rebase"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("reset"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("amend"), st.just(0), st.just(0)),
    st.tuples(st.just("delete"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("tag"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("rename"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("prune"), st.just(0), st.just(0)),
    st.tuples(st.just("sync"), st.just(0), st.just(0)),
)


def apply(r, what, first, second):  # noqa: C901
    """One step; one that git refuses changes nothing."""
    if what == "commit":
        (r.path / "dir").mkdir(exist_ok=True)
        name = r.path / NAMES[first]
        old = name.read_text() if name.exists() else ""
        r.commit(f"Change {second} {r.clock}", {NAMES[first]: f"{second} {r.clock}\n{old}"})
    elif what == "branch":
        r.git("branch", f"b{first}", f"HEAD~{second}", check=False)
    elif what == "switch":
        r.git("checkout", "-q", f"b{first}", check=False)
    elif what == "merge":
        r.git("merge", "-q", "--no-ff", "-m", "Merge it", f"b{first}", env=r.dates(), check=False)
        r.git("merge", "--abort", check=False)
    elif what == "rebase":
        r.git("rebase", "-q", f"b{first}", env=r.dates(), check=False)
        r.git("rebase", "--abort", check=False)
    elif what == "reset":
        r.git("reset", "-q", "--hard", f"HEAD~{first}", check=False)
    elif what == "amend":
        r.git(
            "commit",
            "-q",
            "--amend",
            "--allow-empty",
            "-m",
            f"Amended change {r.clock}",
            env=r.dates(),
        )
    elif what == "delete":
        r.git("branch", "-D", f"b{first}", check=False)
    elif what == "tag":
        r.git("tag", "-f", f"t{first}", env=r.dates(), check=False)
    elif what == "rename":
        r.git("mv", NAMES[first], f"moved{r.clock}.txt", check=False)
        r.commit("Rename change")
    elif what == "prune":
        r.git("reflog", "expire", "--expire=now", "--all")
        r.git("prune", "--expire=now")


@settings(max_examples=14, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(step, min_size=3, max_size=12), st.booleans())
def test_the_index_equals_a_clean_one(steps, all_refs):
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        r = Repository(home / "r")
        r.commit("First change", {"a.txt": "start\n"})
        store = new_index(home / "db", r, all_refs=all_refs)
        seen = set(r.all_shas(*(["--branches", "--tags"] if all_refs else ["HEAD"])))
        for what, first, second in steps:
            if what == "sync":
                sync(store)
                seen |= set(r.all_shas(*refs(all_refs)))
            else:
                apply(r, what, first, second)
        sync(store)
        compare(r, store, home, all_refs, seen)
        store.close()


def refs(all_refs):
    return ["HEAD", "--branches", "--tags"] if all_refs else ["HEAD"]


def compare(r, store, home, all_refs, seen):
    clean = new_index(home / "clean", r, all_refs=all_refs)
    assert content(store) == content(clean)
    reachable = set(r.all_shas(*refs(all_refs)))
    assert {sha for found in hits(store, *QUERIES) for sha in found} <= reachable
    assert hits(store, *QUERIES) == hits(clean, *QUERIES)
    touched = {(hit["sha"], hit["path"]) for hit in find_touches(store, "", limit=10_000)}
    assert touched == {(hit["sha"], hit["path"]) for hit in find_touches(clean, "", limit=10_000)}
    assert store.commit_count(1) == len(reachable)
    for sha in seen - reachable:
        assert get_commit(store, "r", sha)["sha"] == sha
        with pytest.raises(NotFound):
            get_commit(store, "r", sha[:20])
    check_text_indexes(store)
    clean.close()


def test_what_is_lost_is_hidden_and_comes_back(tmp_path):
    r = Repository(tmp_path / "r")
    r.commit("First", {"a": "1\n"})
    lost = r.commit("Lostword", {"a": "2\n"})
    store = new_index(tmp_path / "db", r)
    r.git("reset", "-q", "--hard", "HEAD~1")
    assert sync(store).orphaned == 1
    assert search_commits(store, "lostword") == []
    assert [hit["subject"] for hit in find_touches(store, "a")] == ["First"]
    assert store.commit_count(1) == 1
    r.git("reset", "-q", "--hard", lost)
    assert sync(store).indexed == 0
    assert [hit["sha"] for hit in search_commits(store, "lostword")] == [lost]
    assert store.commit_count(1) == 2
    store.close()
