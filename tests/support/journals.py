"""A project's journal, opened as another process would."""

from __future__ import annotations

from contextlib import closing

from clew.work.journal.sqlite import SqliteJournal


def open_journal(places):
    """The journal for a `with` block, made if need be."""
    return closing(SqliteJournal(places.journal))
