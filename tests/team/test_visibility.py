"""Whoever may see a part of the index gets, from every operation, what an index of that part gives."""

from __future__ import annotations

import pickle
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from clew.history.model import Repo, first_id, last_id
from clew.history.semantic.search import search_semantic
from clew.history.semantic.vectors import embed_commits
from clew.history.store.interface import ALWAYS, CommitFilter, HistoryStore
from clew.history.store.sqlite import SqliteHistory
from clew.kit.errors import ClewError, NotFound, Unavailable
from clew.models.embedding import packaged_embedder
from clew.team.database import Database
from clew.team.history.store import PostgresHistory
from tests.history.store.conftest import DAY, HISTORY, START, commit, sha_of, unread

MARK = "zebrafish"
EVE = (f"Eve {MARK}", f"{MARK}@example.com")
ALL_IDS = (first_id(1), last_id(9))
BOTH = [Repo(1, "demo", "/nowhere/demo"), Repo(2, "secret", f"/nowhere/{MARK}")]
WANTED = CommitFilter(BOTH)
SECRET = (
    commit(f"Start {MARK}", (f"{MARK}/core.py", "A", {"added": [f"alpha {MARK}"]}), author=EVE),
    commit(
        f"Tune {MARK}", ("src/main.py", "M", {"added": [f"needle {MARK}"]}),
        day=9, parents=[f"Start {MARK}"], author=EVE, body=f"Fixes #1 {MARK}",
    ),
    replace(
        commit(f"Key {MARK}", (f"{MARK}/key", "A", {}), parents=[f"Tune {MARK}"]),
        redactions=(("token", MARK),),
    ),
    unread(f"Bad {MARK}", day=9, parents=[f"Tune {MARK}"]),
)  # fmt: skip


def fill(store, *, with_secret):
    repos = [("demo", HISTORY), *([("secret", SECRET)] if with_secret else [])]
    for name, commits in repos:
        repo = store.add_repo(Repo(0, name, f"/nowhere/{name}"))
        with store.writing():
            store.write_commits(repo.repo_id, commits)
            tips = {f"refs/heads/{name}": commits[-1].meta.sha}
            store.set_tips(repo.repo_id, tips, f"mark of {name}")
            store.set_state(repo.repo_id, 1, commits[-1].meta.sha, f"{name} failed")
            store.hide_commits(repo.repo_id, [commits[0].meta.sha])
    embed_commits(store, packaged_embedder(), store.repos())


@contextmanager
def made(postgres, *, with_secret):
    """The address of an index."""
    address = postgres.new_place()
    with closing(PostgresHistory.create(address)) as store:
        fill(store, with_secret=with_secret)
    yield address
    postgres.drop_place(address)


@pytest.fixture(scope="module")
def both(postgres):
    """The address of an index with two repositories."""
    with made(postgres, with_secret=True) as address:
        yield address


@pytest.fixture(scope="module")
def part(both):
    """What somebody sees of it who may see the first."""
    with closing(PostgresHistory.read(both)) as store:
        yield store.seen_by(["de*"])


@pytest.fixture(scope="module")
def alone(postgres):
    """An index that has the first alone."""
    with (
        made(postgres, with_secret=False) as address,
        closing(PostgresHistory.read(address)) as store,
    ):
        yield store


IDS = [first_id(repo) | place for repo in (1, 2) for place in range(12)]
PATHS = range(1, 20)
# Every operation that reads, asked for all that there is.
QUESTIONS = {
    "repos": lambda s: s.repos(),
    "find_repo": lambda s: [_said(s.find_repo, name) for name in ("demo", "secret", "none")],
    "places": lambda s: s.places(),
    "commit_count": lambda s: [s.commit_count(n) for n in (1, 2)],
    "state": lambda s: [s.state(n) for n in (1, 2)],
    "tips": lambda s: [s.tips(n) for n in (1, 2)],
    "tips_mark": lambda s: [s.tips_mark(n) for n in (1, 2)],
    "known": lambda s: [s.known(n, [c.meta.sha for c in (*HISTORY, *SECRET)]) for n in (1, 2)],
    "commits": lambda s: s.commits(IDS),
    "commits_by_prefix": lambda s: [
        s.commits_by_prefix(n, c.meta.sha[:6], 9, with_unreachable=True)
        for n in (1, 2) for c in (*HISTORY, *SECRET)
    ],
    "files": lambda s: s.files(IDS),
    "matched_paths": lambda s: s.matched_paths(IDS, WANTED),
    "patch": lambda s: [s.patch(one) for one in IDS],
    "patches": lambda s: list(s.patches(IDS)),
    "stored_commit": lambda s: [
        s.stored_commit(n, c.meta.sha) for n in (1, 2) for c in (*HISTORY, *SECRET)
    ],
    "stored_commits": lambda s: [list(s.stored_commits(n)) for n in (1, 2)],
    "reachable_shas": lambda s: [list(s.reachable_shas(n)) for n in (1, 2)],
    "ancestry": lambda s: [list(s.ancestry(n)) for n in (1, 2)],
    "counted_commits": lambda s: [list(s.counted_commits(n)) for n in (1, 2)],
    "unread_commits": lambda s: [s.unread_commits(n) for n in (1, 2)],
    "commits_without_text": lambda s: [list(s.commits_without_text(n)) for n in (1, 2)],
    "redactions": lambda s: [s.redactions(n) for n in (1, 2)],
    "newest_messages": lambda s: [s.newest_messages(n, 9, "none/") for n in (1, 2)],
    "people": lambda s: sorted(s.people()),
    "paths_with": lambda s: [sorted(s.paths_with(parts)) for parts in ([], [MARK], ["/"])],
    "path_changes": lambda s: [
        s.path_changes(n, path, last_id(n))
        for n in (1, 2) for path in ("src/main.py", f"{MARK}/core.py")
    ],
    "directory_changes": lambda s: [
        s.directory_changes(n, path) for n in (1, 2) for path in ("", "src", MARK)
    ],
    "commits_touching": lambda s: sorted(s.commits_touching(PATHS)),
    "touches": lambda s: list(
        s.touches(replace(WANTED, paths=dict.fromkeys(PATHS, "")), (ALWAYS, ALWAYS, 0), 99)
    ),
    "co_changes": lambda s: s.co_changes(IDS, 99),
    "hotspots": lambda s: s.hotspots(BOTH, (0, ALWAYS), None, 99),
    "sharing": lambda s: s.sharing(["src/main.py", f"{MARK}/core.py"], BOTH, (0, ALWAYS), 99),
    "newest_time": lambda s: s.newest_time(),
    "counts_by_period": lambda s: sorted(
        s.counts_by_period(DAY, range(START // DAY, START // DAY + 20))
    ),
    "ranked_matches": lambda s: [
        list(s.ranked_matches(f"alpha OR needle OR {MARK}", (first_id(n), last_id(n)), WANTED))
        for n in (1, 2)
    ],
    "dated_matches": lambda s: [
        list(s.dated_matches(f"needle OR {MARK}", (first_id(n), last_id(n)), WANTED))
        for n in (1, 2)
    ],
    "newest": lambda s: list(s.newest(WANTED, (ALWAYS, ALWAYS))),
    "newer_than": lambda s: s.newer_than(0, ALWAYS, ALL_IDS, 99),
    "span_of_times": lambda s: [s.span_of_times(n, (0, ALWAYS), None) for n in (1, 2)],
    "commits_saying": lambda s: s.commits_saying(f"needle OR {MARK}", BOTH),
    "saying": lambda s: s.saying(f"needle OR {MARK}", ALL_IDS, 99),
    "scored_saying": lambda s: sorted(s.scored_saying(f"alpha needle OR {MARK}", ALL_IDS)),
    "with_patch": lambda s: [
        list(s.with_patch(n, (0, ALWAYS), say, None)) for n in (1, 2) for say in (None, "needle")
    ],
    "words_with": lambda s: s.words_with(MARK, 99),
    "unsearched": lambda s: s.unsearched(WANTED),
    "latest_with_subject": lambda s: [
        s.latest_with_subject(n, name, last_id(n))
        for n in (1, 2) for name in ("Tune main", f"Tune {MARK}")
    ],
    "vectors": lambda s: [
        s.vectors().total(), s.vectors().last_ids(),
        [(chunk.ids, chunk.vectors) for chunk in s.vectors().chunks()],
        [list(s.vectors().marks(n)) for n in (1, 2)],
        _nearest(s),
        search_semantic(s, MARK, mode="semantic"),
    ],
    "messages": lambda s: list(s.messages(IDS, BOTH, (0, ALWAYS), 99)),
    "unreachable_before": lambda s: s.unreachable_before(ALWAYS),
    "remembered": lambda s: s.remembered("people", lambda: sorted(s.people())),
    "visible": lambda s: [repo.repo_id for repo in s.repos()],
}  # fmt: skip
# Every operation that changes something or looks after the whole; nobody does these with a part.
REFUSED = {
    "add_repo": lambda s: s.add_repo(Repo(0, "new", "/nowhere")),
    "update_repo": lambda s: s.update_repo(BOTH[1]),
    "remove_repo": lambda s: s.remove_repo(2),
    "set_state": lambda s: s.set_state(2, 1, None, None),
    "set_tips": lambda s: s.set_tips(2, {}),
    "write_commits": lambda s: s.write_commits(2, HISTORY),
    "rewrite_commit": lambda s: s.rewrite_commit(first_id(2) | 1, SECRET[0], reachable=True),
    "mark_reachable": lambda s: s.mark_reachable(2, [sha_of("x")]),
    "hide_commits": lambda s: s.hide_commits(2, [sha_of("x")]),
    "delete_commits": lambda s: s.delete_commits(IDS),
    "delete_repo_commits": lambda s: s.delete_repo_commits(2),
    "sweep_patches": lambda s: s.sweep_patches(),
    "sweep": lambda s: s.sweep(),
    "size": lambda s: s.size(),
    "compact": lambda s: s.compact(),
    "locked": lambda s: s.locked(2).__enter__(),
    "new_vectors": lambda s: embed_commits(s, packaged_embedder(), BOTH, rebuild=True),
}
NOT_ASKED = {"address", "close", "snapshot", "writing", "seen_by"}


def _nearest(store):
    """Of all and of named repositories, and of commits that were named."""
    near = store.vectors().compared([0.1] * 256, [1, 2], (0, ALWAYS), 99, IDS)
    return sorted(near) if near else near


def _said(ask, *given):
    try:
        return ask(*given)
    except NotFound as error:
        return error.full_text().replace(given[0], "NAME")


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_operation_answers_as_if_the_rest_were_not_there(part, alone, name):
    found = QUESTIONS[name](part)

    assert found == QUESTIONS[name](alone)
    assert MARK.encode() not in pickle.dumps(found)


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "find_repo"])
def test_the_question_would_tell_of_the_rest_if_it_could(both, alone, name):
    with closing(PostgresHistory.read(both)) as store:
        found = QUESTIONS[name](store)

    if name not in ("commits_without_text", "sharing", "co_changes", "words_with"):
        assert found != QUESTIONS[name](alone), "the question asks for nothing that is hidden"


@pytest.mark.parametrize("name", REFUSED)
def test_an_operation_on_the_whole_is_refused(both, part, name):
    with pytest.raises(ClewError):
        REFUSED[name](part)
    with closing(PostgresHistory.read(both)) as store:
        assert store.commit_count(2) == len(SECRET) - 1


def test_no_operation_is_left_out():
    operations = {name for name in vars(HistoryStore) if not name.startswith("_")}

    assert operations == {*QUESTIONS, *REFUSED, *NOT_ASKED}


def test_whoever_sees_nothing_gets_nothing(both):
    with closing(PostgresHistory.read(both)) as store:
        nobody = store.seen_by(["no-such-*"])
        found = [ask(nobody) for ask in QUESTIONS.values()]
        assert nobody.repos() == []

    assert MARK.encode() not in pickle.dumps(found)
    assert b"Tune main" not in pickle.dumps(found)


def test_a_table_that_nobody_thought_of_is_empty(both, part):
    with closing(Database(both)) as database:
        database.run("CREATE TABLE afterthoughts AS SELECT %s::text AS said", (MARK,))
        fresh = PostgresHistory(Database(both, writes=False), part.path, frozenset({1}))
        with closing(fresh):
            assert fresh.database.rows("SELECT * FROM afterthoughts") == []
            for table in ("audit", "service_tokens", "work_orders", "work_log"):
                assert fresh.database.rows(f"SELECT * FROM {table}") == []


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM commit_rows_2",
        "SELECT * FROM public.commit_rows",
        "SELECT relname FROM pg_class",
        "SELECT * FROM information_schema.tables",
        "TABLE commit_rows",
        "VALUES (1)",
        "COPY commit_rows TO STDOUT",
        "SET search_path = public",
    ],
)
def test_there_is_no_way_round(part, statement):
    with pytest.raises(Unavailable):
        part.database.rows(statement)


def test_the_text_index_is_still_used(both, part):
    part.database.row("SELECT 1")
    asked = "SELECT id FROM commit_text WHERE words @@ 'needl'::tsquery"
    with closing(Database(both)) as database:
        database.run("SET enable_seqscan = off")
        reworded = part.database._reword(asked)
        plan = "\n".join(row[0] for row in database.rows(f"EXPLAIN {reworded}"))

    assert "commit_text_1" in plan
    assert "commit_text_2" not in plan
    assert "Bitmap Index Scan" in plan


def test_a_new_repository_is_seen_at_once_and_a_renamed_one_no_more(postgres):
    with (
        made(postgres, with_secret=True) as address,
        closing(PostgresHistory.read(address)) as reader,
        closing(PostgresHistory.open(address)) as writer,
    ):
        assert [repo.name for repo in reader.seen_by(["de*"]).repos()] == ["demo"]
        writer.add_repo(Repo(0, "desk", "/nowhere/desk"))
        assert [repo.name for repo in reader.seen_by(["de*"]).repos()] == ["demo", "desk"]
        writer.update_repo(replace(writer.find_repo("demo"), name="hidden"))
        assert [repo.name for repo in reader.seen_by(["de*"]).repos()] == ["desk"]


def test_a_file_is_seen_as_a_whole(tmp_path):
    with SqliteHistory.create(tmp_path / "db") as store, pytest.raises(Unavailable):
        store.seen_by(["*"])
