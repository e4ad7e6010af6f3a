"""The retrieval benchmark holds: ours is clearly ahead on every kind of query, seen or not."""

import pytest
from benchmarks.rooms.command_search import quality_rows, read_commands, read_queries

LEAD = 0.08


@pytest.fixture(scope="module")
def rows():
    return quality_rows()


def test_the_benchmark_is_large_enough_and_sound():
    commands, queries = read_commands(), read_queries()
    addresses = {command.address for command in commands}
    assert len(addresses) == len(commands) >= 200
    assert len(queries) >= 300
    assert {query.wanted for query in queries} <= addresses
    assert len({(query.text, query.target) for query in queries}) == len(queries)
    held_out = sum(query.held_out for query in queries)
    assert 0.4 < held_out / len(queries) < 0.6


def test_ours_leads_on_every_kind(rows):
    assert len(rows) == 10
    for title, row in rows.items():
        for other in ("cosine", "tfidf", "bm25"):
            assert row["ranked"].mrr >= row[other].mrr + LEAD, (title, other)
            assert row["ranked"].recall >= row[other].recall + LEAD, (title, other)
