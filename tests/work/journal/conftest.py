"""Journals of every implementation, so that each is held to the same contract."""

from __future__ import annotations

from contextlib import closing

import pytest

from clew.work.journal.sqlite import SqliteJournal

FACTORIES = {"sqlite": lambda path: SqliteJournal(path / "runs.sqlite3")}


@pytest.fixture(params=FACTORIES)
def open_one(request, tmp_path):
    """Opens the same journal once more, as another process would."""
    opened = []

    def open_it():
        opened.append(FACTORIES[request.param](tmp_path))
        return opened[-1]

    yield open_it
    for journal in opened:
        journal.close()


@pytest.fixture
def journal(open_one):
    """An empty journal."""
    with closing(open_one()) as made:
        yield made
