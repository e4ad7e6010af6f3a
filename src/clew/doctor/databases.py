"""Checks of Clew's own databases: whole, of this version, and the command that replaces one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from clew.doctor.model import Check, Subject, show_path
from clew.kit.errors import Unavailable
from clew.kit.sqlite import problem_of, read_migrations
from clew.kit.system_errors import moved_away


def databases(subject: Subject) -> list[Check]:
    """Whether every database of Clew can be used; those that are not there are no trouble."""
    from clew.history.store.sqlite import database_path, rebuild_command

    found = []
    stores = list(_stores(subject))
    for what, path, migrations in stores:
        if problem := problem_of(path, migrations):
            is_index = path == database_path(subject.settings)
            fix = rebuild_command(path) if is_index else moved_away(path)
            summary = f"{what} cannot be used: {problem}"
            found.append(Check("database", "fail", summary, detail=show_path(path), fix=fix))
    return found or [
        Check("databases", "ok", f"{len(stores)} databases, whole as far as looked at")
    ]


def _stores(subject: Subject) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """What each database that is there holds, and the scripts that made it."""
    from clew.advisors.conversation import store as conversations
    from clew.history.store import sqlite as history
    from clew.history.store import vectors
    from clew.kit.paths import ProjectPaths
    from clew.kit.project import clew_home
    from clew.protocol.kernel import task_store
    from clew.sessions.index import sqlite as sessions
    from clew.work.journal import sqlite as journal

    index = history.database_path(subject.settings)
    known = [
        ("The history index", index, history.migrations()),
        ("The index of vectors", vectors.vectors_path(index), vectors.migrations()),
    ]
    homely = (
        ("The store of conversations", "conversations.sqlite3", conversations.MIGRATIONS),
        ("The index of sessions", "sessions.sqlite3", sessions.MIGRATIONS),
        ("The store of tasks", "tasks/tasks.sqlite3", task_store.MIGRATIONS),
    )
    with suppress(Unavailable):  # another check reports it
        home = clew_home()
        known += [(what, home / name, read_migrations(scripts)) for what, name, scripts in homely]
    if root := subject.root:
        scripts = read_migrations(journal.MIGRATIONS)
        known.append(("The journal of runs", ProjectPaths(root).journal, scripts))
    return (one for one in known if one[1].is_file())
