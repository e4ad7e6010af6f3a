"""Searches with filters, against what git itself finds."""

from __future__ import annotations

import random

import pytest

from clew.history.lookup import get_commit
from clew.history.questions.file_history import page_of_touches
from clew.history.search.filters import Filters
from clew.history.search.search import SearchRequest, find, page_of_commits, search_commits
from clew.kit.errors import Invalid, NotFound
from tests.history.index import new_index
from tests.support.repos import START, Repository, generate

COMMITS = 400


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A repository of many commits on two branches, and its index with all refs."""
    home = tmp_path_factory.mktemp("search")
    with pytest.MonkeyPatch.context() as patched:
        for role in ("AUTHOR", "COMMITTER"):
            patched.setenv(f"GIT_{role}_NAME", "Zoë Ünal")
            patched.setenv(f"GIT_{role}_EMAIL", "zoe@example.org")
        r = generate(home / "r", COMMITS)
        r.clock = START + 60 * (COMMITS + 1)
        r.git("tag", "-a", "-m", "old", "v1", "main~200")
        r.git("checkout", "-q", "-b", "side", "main~50")
        r.commit("Side commit", {"side/only.txt": "sideword here\n"})
        r.git("mv", "side/only.txt", "side/moved.txt")
        r.commit("Move it")
        r.git("rm", "-q", "dir0/" + min(p.name for p in (r.path / "dir0").iterdir()))
        r.commit("Delete one")
        r.git("checkout", "-q", "main")
        store = new_index(home / "db", r, all_refs=True)
    yield r, store
    store.close()


def shas(store, text=None, *, sort="relevance", place="all", limit=10_000, **filters):
    found = find(store, SearchRequest(text, Filters(**filters), sort, place), limit=limit)
    return [search_sha(store, number) for number in found.page.ids]


def search_sha(store, number):
    row = store.connection.execute("SELECT sha FROM commit_rows WHERE id = ?", (number,))
    return row.fetchone()[0].hex()


def log(repository, *options, paths=()):
    listed = repository.text("log", "--format=%H", "--all", *options, "--", *paths)
    return set(listed.split())


@pytest.mark.parametrize("word", ["part7", "number12", "body", "Side", "nothing"])
def test_words_in_messages(world, word):
    r, store = world
    wanted = log(r, "-i", rf"--grep=\<{word}\>")
    assert set(shas(store, word, place="message")) == wanted
    assert set(shas(store, f"message:{word}")) == wanted


@pytest.mark.parametrize("word", ["word77", "word3", "999", "sideword"])
def test_words_in_diffs(world, word):
    r, store = world
    wanted = log(r, "--no-merges", "-M", "-G", rf"\<{word}\>")
    found = set(shas(store, f"added:{word}")) | set(shas(store, f"removed:{word}"))
    assert found == wanted
    assert set(shas(store, f"added:{word} OR removed:{word}")) == wanted
    assert wanted <= set(shas(store, word, place="diff")) <= wanted | log(r, f"--grep={word}")


@pytest.mark.parametrize("phrase", ["number7 part", "line 77 word"])
def test_phrases_are_of_whole_words(world, phrase):
    _, store = world
    assert shas(store, f'"{phrase}"') == []


def test_added_and_removed_words_are_told_apart(world):
    r, store = world
    for sha in shas(store, "added:word77 removed:word5"):
        lines = r.git("show", "--format=", sha).decode().split("\n")
        assert any(line.startswith("+") and "word77" in line for line in lines)
        assert any(line.startswith("-") and "word5" in line for line in lines)


@pytest.mark.parametrize("part", ["Dev3", "dev5@example.com", "zoë", "Ünal <zoe", "nobody"])
def test_authors(world, part):
    r, store = world
    wanted = log(r, "-i", f"--author={part}")
    assert set(shas(store, author=part)) == wanted
    assert set(shas(store, "change", author=part)) == wanted & set(shas(store, "change"))


@pytest.mark.parametrize("minutes", [0, 17, 200, COMMITS])
def test_times(world, minutes):
    r, store = world
    moment = START + minutes * 60
    assert set(shas(store, since=moment)) == log(r, f"--since={moment - 1}")
    assert set(shas(store, until=moment)) == log(r, f"--until={moment}")
    both = set(shas(store, "change", since=moment, until=moment + 600))
    assert both == log(r, "-i", "--grep=change", f"--since={moment - 1}", f"--until={moment + 600}")


@pytest.mark.parametrize("path", ["dir1/file3.txt", "dir4/*", "side/*"])
def test_paths(world, path):
    r, store = world
    wanted = log(r, "--no-merges", "--full-history", paths=[path])
    found = {sha for sha in shas(store, paths=[path]) if not is_merge(r, sha)}
    assert found == wanted
    touched = page_of_touches(store, path, limit=10_000)["touches"]
    assert {hit["sha"] for hit in touched if not is_merge(r, hit["sha"])} == wanted


def is_merge(repository, sha):
    return len(repository.text("log", "-1", "--format=%P", sha).split()) > 1


@pytest.mark.parametrize("letters", ["A", "D", "R", "AD", "M"])
def test_statuses(world, letters):
    r, store = world
    wanted = log(r, "--no-merges", "-M", f"--diff-filter={letters}")
    found = {sha for sha in shas(store, status=letters) if not is_merge(r, sha)}
    # Exact copies are told beyond what `-M` asks of git.
    copies = {sha for sha in wanted - found if "C" in statuses(store, sha)}
    assert found == wanted - copies


def statuses(store, sha):
    return {entry["status"] for entry in get_commit(store, "r", sha)["changed_files"]}


def test_status_and_path_are_of_the_same_file(world):
    _, store = world
    for sha in shas(store, paths=["dir2/"], status="A"):
        files = get_commit(store, "r", sha)["changed_files"]
        assert any(f["path"].startswith("dir2/") and f["status"] == "A" for f in files)
    touched = page_of_touches(store, "dir2/", Filters(status="a"), limit=999)["touches"]
    assert {hit["status"] for hit in touched} == {"A"}


@pytest.mark.parametrize("ref", ["main", "side", "v1", "refs/heads/side", "HEAD", "main~9"])
def test_refs(world, ref):
    r, store = world
    asked = r.text("rev-parse", ref)[:12] if "~" in ref else ref
    assert set(shas(store, ref=asked)) == set(r.all_shas(ref))
    both = set(shas(store, "change", ref=asked, author="dev1@"))
    assert both <= set(r.all_shas(ref))
    touched = page_of_touches(store, "side/", Filters(ref=asked))["touches"]
    assert bool(touched) == (ref in ("side", "refs/heads/side"))


@pytest.mark.parametrize("ref", ["nope", "-x", "a\nb", "", "../../etc", "0" * 40])
def test_unknown_refs_are_explained(world, ref):
    with pytest.raises((NotFound, Invalid)) as caught:
        shas(world[1], "change", ref=ref)
    assert ref in ("", "a\nb") or ref in caught.value.message


def test_a_branch_is_known_without_all_refs(world, tmp_path):
    r, _ = world
    store = new_index(tmp_path / "db", r)
    assert set(shas(store, ref="main")) == set(r.all_shas("main"))
    with pytest.raises(NotFound, match="side"):
        shas(store, ref="side")
    store.close()


def test_filters_hold_before_limits(world):
    """The oldest commit that fits is found, however many newer ones match the words."""
    r, store = world
    oldest = r.all_shas("main")[0]
    path = get_commit(store, "r", oldest)["changed_files"][0]["path"]
    asked = {"until": START + 60, "author": "dev1@"}
    for sort in ("relevance", "date"):
        assert shas(store, "change", sort=sort, limit=1, **asked) == [oldest]
        found = shas(store, "change", sort=sort, limit=1, until=START + 60, paths=[path])
        assert found == [oldest]
    only = [hit["sha"] for hit in search_commits(store, "change", paths=["side/"], limit=5)]
    assert set(only) <= set(r.all_shas("main..side"))


@pytest.mark.parametrize(
    "text", ["word7", '"line 7"', "added:word9", "number33", "part1*", "change"]
)
def test_snippets_are_lines_that_git_shows(world, text):
    r, store = world
    found = page_of_commits(store, SearchRequest(text), limit=30, lines=5)
    seen = 0
    for commit in found["commits"]:
        assert len(commit["snippets"]) <= 5
        for line in commit["snippets"]:
            seen += 1
            assert set(line) == {"path", "line", "kind", "text"}
            rev = f"{commit['sha']}{'^' if line['kind'] == 'removed' else ''}"
            lines = r.git("show", f"{rev}:{line['path']}").decode().split("\n")
            assert lines[line["line"] - 1] == line["text"]
            sign = {"added": "+", "removed": "-", "context": " "}[line["kind"]]
            shown = r.git("show", "--first-parent", "-m", "--format=", commit["sha"]).decode()
            assert f"\n{sign}{line['text']}\n" in shown
    assert seen or text in ("number33", "part1*", "change")


def test_date_order_is_exact_when_times_are_not_in_order(tmp_path):
    dice = random.Random(5)
    r = Repository(tmp_path / "r")
    stream = ""
    for number in range(1, 1500):
        at = START + number * 60 - (dice.randrange(900_000) if dice.random() < 0.2 else 0)
        at = at + 5_000_000 if number in (3, 700) else at
        stream += (
            f"commit refs/heads/main\ncommitter A <a@b> {at} +0000\ndata 7\ncommon{number % 9}"
        )
    r.git("fast-import", "--quiet", data=stream.encode())
    store = new_index(tmp_path / "db", r, default_branch="main")
    listed = store.connection.execute(
        "SELECT lower(hex(sha)) FROM commit_rows ORDER BY author_time DESC, id DESC"
    )
    everything = [row[0] for row in listed]
    assert shas(store, "common*", sort="date") == everything
    assert shas(store) == everything
    for limit in (1, 7, 300):
        assert shas(store, "common*", sort="date", limit=limit) == everything[:limit]
    store.close()
