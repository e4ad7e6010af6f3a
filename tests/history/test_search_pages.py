"""Pages: everything exactly once, honest ends, budgets, and cursors nobody gave out."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.history.questions.file_history import page_of_touches
from clew.history.search.filters import Filters
from clew.history.search.paging import fitting
from clew.history.search.search import SearchRequest, page_of_commits
from clew.history.sync.repositories import register
from clew.kit.errors import Invalid
from clew.kit.jsontext import dumps
from tests.history.index import new_index, sync
from tests.support.repos import START, Repository, generate


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two repositories in one index: more commits than are ranked at once."""
    home = tmp_path_factory.mktemp("pages")
    first, second = generate(home / "a", 420), generate(home / "b", 90, seed=2)
    index = new_index(home / "db", first, name="a")
    register(index, second.path, name="b")
    sync(index, "b")
    yield index
    index.close()


def walk(ask, items):
    """All pages, one after the other."""
    cursor, pages = None, []
    while True:
        page = ask(cursor)
        pages.append(page)
        cursor = page["next_cursor"]
        if cursor is None:
            return [item for page in pages for item in page[items]], pages
        assert page[items], "a page with a successor has something on it"
        assert len(pages) < 1000


CASES = [
    SearchRequest("change"),
    SearchRequest("change", sort="date"),
    SearchRequest(None),
    SearchRequest("word7 OR word8 OR word9"),
    SearchRequest("change", Filters(author="dev2@")),
    SearchRequest("change", Filters(paths=["dir1/"])),
    SearchRequest("change", Filters(repos=["b"], until=START + 3000), sort="date"),
    SearchRequest(None, Filters(paths=["dir1/*"], status="A")),
    SearchRequest("part7", place="message"),
    SearchRequest("nothingatall"),
]


@pytest.mark.parametrize("asked", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_pages_cover_everything_exactly_once(store, asked, limit):
    if limit == 1 and asked.filters == Filters() and asked.text != "part7":
        limit = 13

    def ask(cursor):
        return page_of_commits(store, asked, limit=limit, cursor=cursor, lines=0)

    found, pages = walk(ask, "commits")
    whole = page_of_commits(store, asked, limit=500, lines=0)
    rest = []
    if whole["next_cursor"]:
        rest = page_of_commits(store, asked, limit=500, lines=0, cursor=whole["next_cursor"])
        assert rest["next_cursor"] is None
        rest = rest["commits"]
    everything = [(hit["repo"], hit["sha"]) for hit in whole["commits"] + rest]
    assert [(hit["repo"], hit["sha"]) for hit in found] == everything
    assert len(set(everything)) == len(everything)
    assert all(len(page["commits"]) <= limit for page in pages)
    for page in (*pages, whole):
        assert page["total"] in (None, len(everything))


@pytest.mark.parametrize("limit", [1, 9, 200])
@pytest.mark.parametrize("filters", [Filters(), Filters(author="dev3@"), Filters(status="A")])
def test_pages_of_touches(store, filters, limit):
    def ask(cursor):
        return page_of_touches(store, "dir1/file1", filters, limit=limit, cursor=cursor)

    found, _ = walk(ask, "touches")
    whole = page_of_touches(store, "dir1/file1", filters, limit=10_000)
    assert whole["next_cursor"] is None
    assert found == whole["touches"]


def test_a_budget_drops_lines_then_commits_and_says_so(store):
    asked = SearchRequest("word7", sort="date")
    whole = page_of_commits(store, asked, limit=10)
    size = len(dumps(whole["commits"]))
    assert whole["left_out"] == {"commits": 0, "snippets": 0}
    cut = page_of_commits(store, asked, limit=10, max_chars=size * 2 // 3)
    assert len(dumps(cut["commits"])) <= size * 2 // 3 + 20
    assert cut["left_out"]["snippets"] > 0
    shown = len(cut["commits"])
    assert cut["left_out"]["commits"] == 10 - shown
    following = page_of_commits(store, asked, limit=10, cursor=cut["next_cursor"])
    seen = [hit["sha"] for hit in whole["commits"]]
    assert [hit["sha"] for hit in following["commits"]][: 10 - shown] == seen[shown:]
    least = page_of_commits(store, asked, limit=10, max_chars=0)
    assert len(least["commits"]) == 1
    assert least["next_cursor"]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))), st.integers(-5, 500))
def test_what_fits_fits(pairs, most):
    sizes = [(small, small + more) for small, more in pairs]
    count, bare = fitting(sizes, most)
    used = sum(sizes[n][0] if n in bare else sizes[n][1] for n in range(count))
    assert count >= min(1, len(sizes))
    assert used <= most or count <= 1  # one always, however little fits


def test_a_cursor_fits_only_its_request(store):
    page = page_of_commits(store, SearchRequest("change"), limit=5)
    for other in (
        SearchRequest("part7"),
        SearchRequest("change", sort="date"),
        SearchRequest("change", Filters(ref="x")),
    ):
        with pytest.raises(Invalid, match="another request"):
            page_of_commits(store, other, cursor=page["next_cursor"])
    with pytest.raises(Invalid, match="another request"):
        page_of_touches(store, "dir1", cursor=page["next_cursor"])


def _handed_out(parts):
    """Parts of a cursor, put together as cursors are."""
    return ".".join(
        "_".join(map(str, part)) if isinstance(part, list) else "" if part is None else str(part)
        for part in parts
    )


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.none() | st.integers() | st.text() | st.lists(st.integers() | st.text()), max_size=9
        ).map(_handed_out),
    )
)
def test_no_cursor_breaks_anything(store, text):
    try:
        page_of_commits(store, SearchRequest("change"), cursor=text, limit=2)
    except Invalid as error:
        if "cursor" not in error.message:
            raise


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers() | st.none() | st.text(), min_size=4, max_size=8))
def test_cursors_with_odd_numbers(store, numbers):
    page = page_of_commits(store, SearchRequest("change", sort="date"), limit=1)
    mark = page["next_cursor"].partition(".")[0]
    assert len(page["next_cursor"]) < 60
    offset, time, number, *others = numbers
    text = _handed_out([mark, offset, [time, number], *others])
    try:
        page_of_commits(store, SearchRequest("change", sort="date"), cursor=text, limit=2)
    except Invalid as error:
        if "cursor" not in error.message:
            raise


@pytest.mark.parametrize("sort", ["date", "relevance"])
def test_pages_keep_the_time_that_was_asked_first(store, sort):
    """`2 weeks ago` is a little later on the second page, and means the first."""
    early = SearchRequest("change", Filters(since=START + 3600), sort=sort)
    later = SearchRequest("change", Filters(since=START + 7200), sort=sort)
    first = page_of_commits(store, early, limit=100, lines=0)
    again = page_of_commits(store, early, limit=500, cursor=first["next_cursor"], lines=0)
    moved = page_of_commits(store, later, limit=500, cursor=first["next_cursor"], lines=0)
    assert moved == again
    touched = page_of_touches(store, "dir1", early.filters, limit=1)
    rest = page_of_touches(store, "dir1", later.filters, limit=9999, cursor=touched["next_cursor"])
    assert rest["touches"][-1]["date"] < START + 7200


def test_new_commits_between_pages_are_told(tmp_path):
    r = Repository(tmp_path / "r")
    for number in range(6):
        r.commit(f"Thing {number}", {"a.txt": f"{number}\n"})
    index = new_index(tmp_path / "db", r)
    by_date = page_of_commits(index, SearchRequest("thing", sort="date"), limit=3)
    ranked = page_of_commits(index, SearchRequest("thing"), limit=3)
    assert "index_changed" not in by_date
    r.commit("Thing new", {"a.txt": "new\n"})
    sync(index)
    rest = page_of_commits(
        index, SearchRequest("thing", sort="date"), limit=9, cursor=by_date["next_cursor"]
    )
    subjects = [hit["subject"] for hit in by_date["commits"] + rest["commits"]]
    assert subjects == [f"Thing {number}" for number in range(5, -1, -1)]
    assert rest["index_changed"] is True
    more = page_of_commits(index, SearchRequest("thing"), limit=9, cursor=ranked["next_cursor"])
    assert more["index_changed"] is True
    index.close()
