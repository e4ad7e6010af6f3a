"""Checks of Clew's own databases: whole, of this version, and the command that replaces one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.doctor.model import Check, Subject, show_path
from clew.kit.errors import ClewError, Unavailable
from clew.kit.sqlite import problem_of, read_migrations
from clew.kit.system_errors import moved_away


def databases(subject: Subject) -> list[Check]:
    """Whether every database of Clew can be used; those that are not there are no trouble."""
    from clew.history.store.sqlite import database_path, rebuild_command

    found = []
    count = 0
    for what, path, migrations in _stores(subject):
        count += 1
        problem = problem_of(path, migrations)
        if problem:
            is_index = path == database_path(subject.settings)
            fix = rebuild_command(path) if is_index else moved_away(path)
            summary = f"{what} cannot be used: {problem}"
            found.append(Check("database", "fail", summary, detail=show_path(path), fix=fix))
    return found or [Check("databases", "ok", f"{count} databases, whole as far as looked at")]


def _stores(subject: Subject) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """What each database that is there holds, and the scripts that made it."""
    from clew.advisors.conversation import store as conversations
    from clew.history.store import sqlite as history
    from clew.history.store import vectors
    from clew.kit.paths import ProjectPaths
    from clew.kit.project import clew_home, find_project
    from clew.protocol.kernel import task_store
    from clew.sessions.index import sqlite as sessions
    from clew.work.journal import sqlite as journal

    index = history.database_path(subject.settings)
    known = [
        ("The history index", index, history.migrations()),
        ("The index of vectors", vectors.vectors_path(index), vectors.migrations()),
    ]
    try:
        home = clew_home()
        known += [
            (
                "The store of conversations",
                home / "conversations.sqlite3",
                read_migrations(conversations.MIGRATIONS),
            ),
            (
                "The index of sessions",
                home / "sessions.sqlite3",
                read_migrations(sessions.MIGRATIONS),
            ),
            (
                "The store of tasks",
                home / "tasks" / "tasks.sqlite3",
                read_migrations(task_store.MIGRATIONS),
            ),
        ]
    except Unavailable:  # another check reports it
        pass
    try:
        root = find_project(subject.project, subject.settings)
        known.append(
            ("The journal of runs", ProjectPaths(root).journal, read_migrations(journal.MIGRATIONS))
        )
    except ClewError:  # another check reports it
        pass
    return (one for one in known if one[1].is_file())
