"""What every implementation of HistoryStore must find, by paths, times and words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.history.model import LARGEST_PATCH, first_id, last_id
from clew.history.store.interface import (
    ALWAYS,
    EVER,
    CommitFilter,
    QueryNotUnderstood,
    any_phrase,
)
from tests.history.store.conftest import (
    ANN,
    BEN,
    DAY,
    HISTORY,
    START,
    args,
    commit,
    names,
    path_ids,
    sha_of,
    unread,
    whole,
)

END = (ALWAYS, ALWAYS)


# People, paths and times.


def test_people_are_kept_once(store, repo):
    assert min(store.people(), key=lambda one: one[1])[1:] == ANN
    assert [one[1:] for one in store.people()].count(BEN) == 1


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], {"src/core.py", "src/main.py", "docs/a_b.md", "lib/x.c"}),
        (["SRC/"], {"src/core.py", "src/main.py"}),
        (["src", "main"], {"src/main.py"}),
        ([".c"], {"lib/x.c"}),
        (["a_b"], {"docs/a_b.md"}),
        (["x", "lib"], {"lib/x.c"}),
        (['"quoted"'], set()),
    ],
)
def test_paths_are_found_by_their_parts(store, repo, parts, expected):
    assert set(path_ids(store, *parts).values()) == expected


def test_changes_of_a_path_end_where_it_was_renamed_away(store, repo, id_of):
    found = store.path_changes(*args(repo, "src/core.py"))
    assert [(c.id, c.path, c.status) for c in found] == [
        (id_of("Rename the core"), "src/main.py", "R"),
        (id_of("Start"), "src/core.py", "A"),
    ]
    renamed = found[0]
    assert (renamed.added, renamed.removed, renamed.old_path) == (1, 1, "src/core.py")
    assert (renamed.author_time, renamed.commit_time) == (START + DAY, START + DAY)
    assert store.path_changes(repo.repo_id, "src/core.py", id_of("Start")) == found[1:]
    assert store.path_changes(*args(repo, "lib/x.c"))[0].id == id_of("On the side")
    assert store.path_changes(*args(repo, "never.py")) == []


def test_changes_of_a_directory_are_of_its_files(store, repo, other, id_of):
    found = store.directory_changes(repo.repo_id, "src")
    assert sorted(c.id for c in found) == sorted(
        [id_of("Start"), id_of("Rename the core"), id_of("Tune main")]
    )
    assert {c.author_id for c in found} <= {number for number, _, _ in store.people()}
    assert sum(c.lines for c in found) == 7
    assert len(store.directory_changes(repo.repo_id, "")) == 4
    assert store.directory_changes(repo.repo_id, "sr") == []


def test_commits_that_touch_paths(store, repo, id_of):
    docs = path_ids(store, "docs")
    both = [id_of("Rename the core"), id_of("Tune main")]
    assert sorted(store.commits_touching(docs)) == both
    assert store.commits_touching(docs, "D") == both[1:]
    assert len(store.commits_touching(path_ids(store), "", 2)) == 2
    assert store.commits_touching([]) == []


def test_files_that_change_together_are_counted(store, repo, id_of):
    ids = [id_of(name) for name in ("Start", "Rename the core", "Tune main")]
    counts, counted = store.co_changes(ids, 2)
    assert counted == 3
    assert counts == {"src/core.py": 1, "src/main.py": 2, "docs/a_b.md": 1}
    assert store.co_changes(ids, 1) == ({"src/core.py": 1}, 1)


def test_hotspots_are_counted_within_times_and_paths(store, repo, other):
    total, found = store.hotspots([repo], EVER, None, 2)
    assert total == 4
    assert found[0] == ("demo", "src/main.py", 2, 3, 2, 2)
    assert len(found) == 2
    total, found = store.hotspots([repo, other], (START, START), path_ids(store, "core"), 9)
    assert sorted(spot.repo for spot in found) == ["demo", "other"]
    assert store.hotspots([repo], EVER, None, 0) == (4, [])


def test_commits_that_share_files(store, repo, other, id_of):
    found = store.sharing(["src/main.py", "docs/a_b.md"], [repo], EVER, 9)
    assert found == [(id_of("Tune main"), 2, 2), (id_of("Rename the core"), 2, 2)]
    assert store.sharing(["src/main.py"], [repo], EVER, 1) == [(id_of("Tune main"), 1, 2)]
    assert store.sharing(["src/main.py"], [repo], (-ALWAYS, START), 9) == []
    assert store.sharing(["src/core.py", "no\udcff"], [other], EVER, 9)[0][1:] == (1, 1)


def test_words_are_found_by_a_part_or_not_known(store, repo):
    found = store.words_with("tun", 9)
    assert found is None or "tune" in found
    assert store.words_with("tun", 0) is None
    assert not store.words_with("neverwritten", 9)


def test_commits_are_counted_by_period(store, repo, other):
    assert store.newest_time() == START + 5 * DAY
    found = sorted(store.counts_by_period(DAY, range(1000, 1003)))
    assert found == [("demo", 1000, 1), ("demo", 1001, 1), ("demo", 1002, 1), ("other", 1000, 1)]


def test_an_empty_index_has_no_newest_time(store):
    assert store.newest_time() is None
    assert store.repos() == []
    assert store.places() == {}


# Filters and text.


def filter_of(repo, **wanted):
    return CommitFilter([repo], **wanted)


FILTERS = [
    ({}, [name.meta.subject for name in HISTORY]),
    ({"times": (START + DAY, START + 2 * DAY)}, ["Rename the core", "On the side"]),
    ({"committed": (START + DAY, START + 2 * DAY)}, ["Rename the core", "On the side"]),
    ({"paths": "docs"}, ["Rename the core", "Tune main"]),
    ({"paths": "docs", "statuses": "D"}, ["Tune main"]),
    ({"statuses": "A"}, ["Start", "Rename the core", "On the side", "Merge the side"]),
    ({"people": "Ben"}, ["Rename the core", "Empty"]),
    ({"ids": ["Start", "Empty"]}, ["Start", "Empty"]),
    ({"reached": ["On the side"]}, ["On the side"]),
]


def resolved(store, repo, id_of, wanted):
    made = dict(wanted)
    if "paths" in made:
        made["paths"] = path_ids(store, made["paths"])
    if "people" in made:
        made["people"] = [number for number, name, _ in store.people() if name == made["people"]]
    for key in ("ids", "reached"):
        if key in made:
            made[key] = frozenset(map(id_of, made[key]))
    return filter_of(repo, **made)


@pytest.mark.parametrize(("wanted", "expected"), FILTERS)
def test_the_newest_that_pass_a_filter(store, repo, other, id_of, wanted, expected):
    made = resolved(store, repo, id_of, wanted)
    assert names(store, (one for _, one in store.newest(made, END))) == expected[::-1]
    first = next(iter(store.newest(made, END)))
    assert names(store, (one for _, one in store.newest(made, first))) == expected[-2::-1]


@pytest.mark.parametrize(("wanted", "expected"), FILTERS)
def test_matches_pass_the_filter_too(store, repo, other, id_of, wanted, expected):
    made = resolved(store, repo, id_of, wanted)
    saying = [name for name in ("Start", "Rename the core", "Tune main") if name in expected]
    dated = list(store.dated_matches("alpha", whole(repo), made))
    assert names(store, (one for _, one in dated)) == saying[::-1]
    ranked = list(store.ranked_matches("alpha", whole(repo), made))
    assert [one[0] for one in ranked] == [one for _, one in dated]
    assert [(one[2], one[0]) for one in ranked] == dated
    assert [one[3] for one in ranked] == saying[::-1]


def test_a_better_match_has_the_smaller_rank(store, repo):
    ranks = {one[3]: one[1] for one in store.ranked_matches("main", whole(repo), filter_of(repo))}
    assert ranks["Tune main"] < ranks["Rename the core"]


def test_matches_lie_between_two_ids(store, repo, id_of):
    span = (id_of("Rename the core"), id_of("Rename the core"))
    found = store.dated_matches("alpha", span, filter_of(repo))
    assert names(store, (one for _, one in found)) == ["Rename the core"]


@pytest.mark.parametrize("expression", ['"open', "AND", "{nocolumn} : x", "("])
def test_what_is_no_expression_is_refused(store, repo, expression):
    with pytest.raises(QueryNotUnderstood):
        list(store.dated_matches(expression, whole(repo), filter_of(repo)))
    with pytest.raises(QueryNotUnderstood):
        list(store.ranked_matches(expression, whole(repo), filter_of(repo)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("alpha AND gamma", ["Rename the core"]),
        ("alpha NOT gamma", ["Start", "Tune main"]),
        ("needle OR gamma", ["Rename the core", "On the side", "Tune main"]),
        ('"words about"', ["Rename the core", "Tune main"]),
        ("alph*", ["Start", "Rename the core", "Tune main"]),
        ("{removed} : alpha", ["Tune main"]),
        ("{added context} : (alpha OR delta)", ["Start", "Rename the core", "Tune main"]),
        ("{paths} : lib", ["On the side", "Merge the side"]),
        ("{subject body} : (side OR wide)", ["Rename the core", "On the side", "Merge the side"]),
        ("ALPHA", ["Start", "Rename the core", "Tune main"]),
    ],
)
def test_the_query_language(store, repo, expression, expected):
    found = store.dated_matches(expression, whole(repo), filter_of(repo))
    assert names(store, (one for _, one in found))[::-1] == expected


def test_commits_newer_than_their_place(store, repo, id_of):
    with store.writing():
        store.write_commits(repo.repo_id, [commit("Old news", day=1), commit("New", day=6)])
    back = (first_id(repo.repo_id), id_of("Tune main"))
    assert store.newer_than(START + 2 * DAY, START + 9 * DAY, back, 9) == [
        id_of("Merge the side"),
        id_of("Tune main"),
    ]
    assert len(store.newer_than(START, START + 9 * DAY, whole(repo), 3)) == 3


def test_the_span_of_a_time(store, repo, id_of):
    times = (START + DAY, START + 3 * DAY)
    span = (id_of("Rename the core"), id_of("Merge the side"))
    assert store.span_of_times(repo.repo_id, times, None) == span
    assert store.span_of_times(repo.repo_id, times, 9) == span
    assert store.span_of_times(repo.repo_id, times, 3) is None
    assert store.span_of_times(repo.repo_id, (0, 5), None) == (0, 0)
    assert store.span_of_times(repo.repo_id, times, None, committed=True) == span
    assert store.span_of_times(repo.repo_id, (0, 5), None, committed=True) == (0, 0)


def test_touches_are_listed_newest_first_and_page_by_page(store, repo, id_of):
    wanted = filter_of(repo, paths=path_ids(store, "src") | path_ids(store, "docs"))
    found = list(store.touches(wanted, (ALWAYS, ALWAYS, 0), 99))

    assert [(one.subject, one.path, one.status) for one in found] == [
        ("Tune main", "src/main.py", "M"),
        ("Tune main", "docs/a_b.md", "D"),
        ("Rename the core", "src/main.py", "R"),
        ("Rename the core", "docs/a_b.md", "A"),
        ("Start", "src/core.py", "A"),
    ]
    assert found[0].sha == sha_of("Tune main")
    assert list(store.touches(wanted, found[0][:3], 2)) == found[1:3]
    reached = replace(wanted, reached=frozenset([id_of("Start")]))
    assert list(store.touches(reached, (ALWAYS, ALWAYS, 0), 1))[:1] == found[-1:]
    deleted = replace(wanted, statuses="D")
    assert [one.path for one in store.touches(deleted, (ALWAYS, ALWAYS, 0), 9)] == ["docs/a_b.md"]


def test_commits_that_say_something(store, repo, other):
    side = any_phrase(["side", "#1"], "subject body")
    found = store.commits_saying(side, [repo, other])
    assert [one.subject for one in found] == ["Start", "On the side", "Merge the side", "Start"]
    assert [one.subject for one in store.commits_saying(side, [repo], with_merges=False)] == [
        "Start",
        "On the side",
    ]
    assert [one.subject for one in store.commits_saying(side, [repo], most=1)] == ["Start"]
    with store.writing():
        store.hide_commits(repo.repo_id, [sha_of("Start")])
    assert len(store.commits_saying(side, [repo])) == 2


def test_the_latest_that_say_something_count_or_not(store, repo, other, id_of):
    with store.writing():
        store.hide_commits(repo.repo_id, [sha_of("Tune main")])
    both = [id_of("Tune main"), id_of("On the side")]
    assert store.saying("needle", whole(repo), 9) == both
    assert store.saying("needle", whole(repo), 9, earliest=True) == both[::-1]
    assert store.saying("needle", (both[1], both[1]), 9) == both[1:]
    assert len(store.saying("alpha", (0, ALWAYS), 9)) == 4
    assert store.saying("alpha", (0, ALWAYS), 1)[0] >> 32 == other.repo_id


def test_what_matches_is_scored(store, repo, other, id_of):
    scores = dict(store.scored_saying("main OR rename", whole(repo)))
    assert scores[id_of("Tune main")] > 0
    assert scores.keys() == set(store.saying("main OR rename", whole(repo), 9))
    both = dict(store.scored_saying('"alpha" OR "gamma"', (0, ALWAYS)))
    assert both[id_of("Rename the core")] == max(both.values())
    assert len(both) == len(store.saying('"alpha" OR "gamma"', (0, ALWAYS), 9))
    only = (id_of("On the side"), id_of("On the side"))
    assert len(store.scored_saying("side", only)) == 1


def test_commits_that_count_and_say_something(store, repo, other, id_of):
    with store.writing():
        store.hide_commits(repo.repo_id, [sha_of("Tune main")])


def test_commits_with_a_patch_by_word_path_and_time(store, repo):
    def found(times, expression, paths):
        dated = store.with_patch(repo.repo_id, times, expression, paths)
        return names(store, (one for _, one in dated))

    later = (START + DAY, ALWAYS)
    assert found(EVER, None, None) == ["Tune main", "On the side", "Rename the core", "Start"]
    assert found(EVER, "{added} : needle", None) == ["Tune main", "On the side"]
    assert found(later, None, path_ids(store, "src")) == ["Tune main", "Rename the core"]
    assert found((0, START), None, None) == ["Start"]


def test_commits_whose_changes_cannot_be_searched_are_counted(store, repo, other):
    def found(repos, **options):
        return names(store, store.unsearched(CommitFilter(repos, **options)))

    assert found([repo, other]) == []
    write_large(store, repo)
    assert found([repo, other]) == ["Broken", "Large"]
    assert found([repo], paths=path_ids(store, "large")) == ["Large"]
    assert found([repo], paths=path_ids(store, "src")) == []
    assert found([repo], committed=(0, START + DAY)) == found([repo], times=(0, START + DAY)) == []
    everything = store.unsearched(CommitFilter([repo]))
    assert found([repo], reached=frozenset(everything[:1])) == ["Broken"]
    assert found([other]) == []


def write_large(store, repo):
    """A commit of which only the ends are kept, and one that git could not read."""
    lines = ["opening", *(f"middle {number}" for number in range(LARGEST_PATCH // 8)), "closing"]
    large = commit("Large", ("large.txt", "A", {"added": lines}), day=9)
    with store.writing():
        store.write_commits(repo.repo_id, [large, unread("Broken", day=9)])


def test_of_a_large_patch_both_ends_are_searched_and_it_is_never_given_for_the_whole(store, repo):
    write_large(store, repo)
    (number,) = store.unsearched(CommitFilter([repo], paths=path_ids(store, "large")))
    for word in ("opening", "closing"):
        assert store.saying(word, whole(repo), 9) == [number]
        dated = store.with_patch(repo.repo_id, EVER, f"{{added}} : {word}", None)
        assert [one for _, one in dated] == [number]
    assert store.patch(number) is None
    ((_, ends),) = store.patches([number])
    assert ends.startswith(b"diff --git")
    assert ends.endswith(b"+closing\n")
    assert len(ends) < LARGEST_PATCH
    with store.writing():
        assert store.delete_commits([number]) == 1
    assert store.saying("opening OR closing", whole(repo), 9) == []


def test_the_latest_with_a_subject(store, repo, id_of):
    with store.writing():
        again = commit("Tune main", day=7)
        meta = replace(again.meta, sha=sha_of("again"))
        store.write_commits(repo.repo_id, [replace(again, meta=meta)])
    last = store.known(repo.repo_id, [sha_of("again")])[sha_of("again")]
    assert store.latest_with_subject(repo.repo_id, "Tune main", last_id(repo.repo_id)) == last
    assert store.latest_with_subject(repo.repo_id, "Tune main", last) == id_of("Tune main")
    assert store.latest_with_subject(repo.repo_id, "Tune", last) is None
    assert store.latest_with_subject(repo.repo_id, "...", last) is None


def test_messages_are_read_in_bulk(store, repo, other, id_of):
    ids = [id_of(name) for name in ("Rename the core", "Merge the side", "Empty")]
    found = list(store.messages(ids, [repo], EVER, 4))
    assert found == [
        (
            ids[0],
            "Rename the core",
            "Long",
            bytes.fromhex(sha_of("Rename the core")),
            START + DAY,
            len(store.patch(ids[0])),
        ),
        (ids[2], "Empty", None, bytes.fromhex(sha_of("Empty")), START + 5 * DAY, 0),
    ]
    assert list(store.messages(ids, [other], EVER, 4)) == []
    assert list(store.messages(ids, [repo], (START, START), 4)) == []
