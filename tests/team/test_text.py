"""How the text index is asked: each word on its own, and no more often than needed."""

from __future__ import annotations

from contextlib import closing

import pytest

from clew.history.model import Repo
from clew.history.search.filters import Filters, resolve_filters
from clew.history.search.search import search_commits
from clew.kit.errors import Unavailable
from clew.team.database import Database
from clew.team.history.lexemes import text_query
from clew.team.history.store import PostgresHistory
from tests.history.store.conftest import HISTORY, commit


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("alpha", 1),
        ("alpha AND beta AND gamma", 3),
        ("alpha beta", 2),
        ("alpha OR beta", 1),
        ("(alpha OR beta) AND gamma", 2),
        ('"alpha beta"', 1),
        ("(alpha AND beta) NOT gamma", 3),
    ],
)
def test_what_all_has_to_match_is_asked_apart(expression, count):
    assert len(text_query(expression)) == count


@pytest.fixture
def store(team_database):
    with closing(PostgresHistory.create(team_database)) as made:
        for number in range(6):
            repo = made.add_repo(Repo(0, f"r{number}", "/nowhere"))
            with made.writing():
                made.write_commits(repo.repo_id, HISTORY)
        yield made


def test_small_repositories_without_matches_cost_one_statement_together(store, monkeypatch):
    asked = []
    execute = Database._execute

    def counting(database, statement, values, **how):
        asked.append(statement)
        return execute(database, statement, values, **how)

    monkeypatch.setattr(Database, "_execute", counting)
    with store.snapshot():
        assert search_commits(store, '"nothing has this"') == []
    assert len([one for one in asked if "commit_text" in one]) == 1
    assert len(asked) < 6


@pytest.mark.parametrize("query", ["alpha", "many", '"said often"', "many often", "alpha nowhere"])
def test_repositories_asked_together_answer_as_one_by_one(store, query):
    repo = store.add_repo(Repo(0, "talkative", "/nowhere"))
    with store.writing():
        store.write_commits(
            repo.repo_id, [commit(f"Many times said often {n}", day=n) for n in range(70)]
        )
    span = 0, 1 << 62
    expression = '"many" OR "alpha"'
    wanted = resolve_filters(store, Filters())
    older = repo.repo_id << 32, (repo.repo_id << 32) + 10
    with store.snapshot():
        together = search_commits(store, query, limit=200)
        said = store.saying(expression, span, 100), dict(store.scored_saying(expression, span))
        for ask in (store.dated_matches, store.ranked_matches):
            assert len(list(ask('"many"', wanted.span(repo), wanted))) == 70
            assert len(list(ask('"many"', older, wanted))) == 10
    apart = search_commits(store, query, limit=200)  # outside of a snapshot nothing is remembered
    assert [one["sha"] for one in together] == [one["sha"] for one in apart]
    assert len(said[0]) == len(set(said[0])) >= 70
    assert set(said[0]) == set(said[1])


def test_a_repository_that_is_removed_while_it_is_asked(store, team_database):
    with closing(PostgresHistory.create(team_database)) as other, store.snapshot():
        assert len(store.repos()) == 6
        with other.writing():
            other.remove_repo(store.repos()[0].repo_id)
        other.compact()
        with pytest.raises(Unavailable, match="Removed meanwhile"):
            store.saying('"alpha"', (store.repos()[0].repo_id << 32, 2 << 32), 5)


def test_a_snapshot_remembers_places_no_longer_than_it_lasts(store):
    with store.snapshot():
        assert search_commits(store, "later") == []
    repo = store.find_repo("r3")
    with store.writing():
        store.write_commits(repo.repo_id, [commit("A later one", day=9)])
        assert store.latest_with_subject(repo.repo_id, "A later one", 1 << 62) is not None
    with store.snapshot():
        assert [one["subject"] for one in search_commits(store, "later")] == ["A later one"]
