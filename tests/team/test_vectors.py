"""Vectors that a team makes once: with pgvector, without it, and as in a file, the same answers."""

from __future__ import annotations

from contextlib import closing

import pytest

from clew.cli.core.app import run
from clew.cli.faces import build_group
from clew.history.model import Repo
from clew.history.semantic.nearest import by_meaning
from clew.history.semantic.search import search_semantic
from clew.history.semantic.vectors import embed_commits
from clew.history.store.interface import ALWAYS
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.history.sync.sync import bring_up_to_date
from clew.models.embedding import packaged_embedder
from clew.team.history.store import PostgresHistory
from tests.history.store.conftest import commit, sha_of
from tests.support.postgres import PostgresServer
from tests.support.repos import generate
from tests.support.waiting import wait_until

THINGS = (
    "password", "spelling", "manual", "crash", "index", "colour", "button", "timeout",
    "parser", "memory", "thread", "network", "queue", "cache", "signal", "window",
)  # fmt: skip
DOES = ("Ask again for the", "Correct the", "Do not lose the", "Make a faster", "Remove an old")
ASKED = ("authentication", "typing mistakes in documents", "leaks", "user interface", "concurrency")
SUBJECTS = [
    f"{does} {thing} of {other}" for does in DOES for thing in THINGS for other in THINGS[:6]
]


def fill(store):
    for number, name in enumerate(("one", "two")):
        repo = store.add_repo(Repo(0, name, f"/nowhere/{name}"))
        made = [commit(said, day=day) for day, said in enumerate(SUBJECTS[number::2])]
        with store.writing():
            store.write_commits(repo.repo_id, made)
    embed_commits(store, packaged_embedder(), store.repos())
    return store


@pytest.fixture(scope="module")
def compared(postgres):
    """An index whose database compares vectors."""
    found = postgres.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
    if not found:
        pytest.skip("no pgvector: this PostgreSQL does not offer the extension 'vector'")
    address = postgres.new_place()
    with closing(fill(PostgresHistory.create(address))) as store:
        yield store
    postgres.drop_place(address)


@pytest.fixture(scope="module")
def plain(postgres):
    """An index of somebody who may not make the extension."""
    postgres.execute("CREATE DATABASE plain")
    postgres.execute("CREATE ROLE plain LOGIN")
    postgres.execute("CREATE SCHEMA plain AUTHORIZATION plain", "plain")
    address = postgres.address("plain").replace("clew@", "plain@")
    with closing(fill(PostgresHistory.create(address))) as store:
        yield store
    postgres.execute("DROP DATABASE plain")
    postgres.execute("DROP ROLE plain")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The same in a file."""
    with closing(fill(SqliteHistory.create(tmp_path_factory.mktemp("file") / "db"))) as store:
        yield store


def near(store, asked, **settings):
    given = {"times": (-ALWAYS, ALWAYS), "count": 20, **settings}
    return by_meaning(store, asked, store.repos(), **given)


def test_who_compares(compared, plain, file):
    assert compared.vectors().are_compared
    assert not plain.vectors().are_compared
    assert not file.vectors().are_compared


@pytest.mark.parametrize("asked", ASKED)
def test_the_nearest_are_the_same(compared, plain, file, asked):
    """All but a few: pgvector's index and halves of numbers are not exact, and say so nowhere."""
    wanted = near(file, asked)
    assert near(plain, asked) == wanted
    found = near(compared, asked)
    assert len(found) == len(wanted)
    least = min(score for *_, score in wanted)
    by_id = {number: (mark, score) for number, mark, score in wanted}
    for number, mark, score in found:
        assert score >= least - 0.02
        if number in by_id:
            assert (mark, score) == (by_id[number][0], pytest.approx(by_id[number][1], abs=0.005))


@pytest.mark.parametrize("asked", ASKED)
def test_an_answer_is_the_same(plain, file, asked):
    assert search_semantic(plain, asked) == search_semantic(file, asked)


def test_only_what_was_asked_for_is_near(compared, file):
    one = compared.repos()[0]
    day = compared.commits([near(compared, "leaks")[0][0]]).popitem()[1].date
    given = {"times": (day, day), "count": 20}
    found = by_meaning(compared, "leaks", [one], **given)
    assert found
    assert {number >> 32 for number, *_ in found} == {one.repo_id}
    assert {one.date for one in compared.commits([number for number, *_ in found]).values()} == {
        day
    }
    others = near(compared, "leaks", also=[number for number, *_ in near(compared, "queue")])
    assert len(others) == 40


def test_the_index_of_vectors_is_used(compared):
    compared.database.run("ANALYZE vector_points")
    rows = compared.database.rows(
        "EXPLAIN SELECT id FROM vector_points ORDER BY embedding OPERATOR(public.<#>)"
        f" '{[0.5] * 256}'::public.halfvec LIMIT 5"
    )
    assert any("vector_point_near" in line for (line,) in rows), rows


def test_rows_follow_their_chunks(compared):
    repo = compared.add_repo(Repo(0, "three", "/nowhere/three"))
    with compared.writing():
        compared.write_commits(repo.repo_id, [commit(f"Said {one}", day=one) for one in range(9)])
    embed_commits(compared, packaged_embedder(), [repo])
    with compared.writing():
        compared.hide_commits(repo.repo_id, [sha_of("Said 3")])
        compared.write_commits(repo.repo_id, [commit("Said more", day=10)])
    embed_commits(compared, packaged_embedder(), [repo])

    def rows():
        return compared.database.row(
            "SELECT count(*), count(embedding) FROM vector_points WHERE repo_id = %s",
            (repo.repo_id,),
        )

    assert rows() == (9, 9)
    with compared.writing():
        compared.remove_repo(repo.repo_id)
    assert rows() == (0, 0)


def test_the_command_makes_them_and_every_sync_more(team_database, tmp_path):
    repository = generate(tmp_path / "r", 5)
    with closing(PostgresHistory.create(team_database)) as store:
        sync_repo(store, register(store, repository.path, name="r"))
        words = ["embed", "--with-sync", "--db", team_database]
        assert run(build_group("commitmux"), "commitmux", words) == 0
        before = store.vectors().total()
        assert before
        repository.commit("Ask for the password again", {"login.py": "again\n"})
        assert bring_up_to_date(store, store.find_repo("r")).problems == ()
        assert store.vectors().total() == before + 1


def test_a_replica_answers_by_meaning(postgres, monkeypatch):
    """The vectors are in the database, so whoever reads a copy of it needs nothing else."""
    first, second = PostgresServer(), PostgresServer()
    try:
        first.create().start(wal_level="replica", max_wal_senders="4")
        with closing(fill(PostgresHistory.create(first.address()))):
            second.follow(first).start(hot_standby="on")
            with closing(PostgresHistory.read(second.address())) as reader:
                wait_until(lambda: len(reader.repos()) == 2)
                found = search_semantic(reader, "authentication", mode="semantic")
        assert found["commits"][0]["found_by"] == ["meaning"]
    finally:
        second.remove()
        first.remove()
