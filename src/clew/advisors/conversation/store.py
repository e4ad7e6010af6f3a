"""Conversations on disk: one SQLite file for all servers of a user, every version kept.

A turn is written in one transaction, and only upon the version that it was made from. Whoever
comes second is told so and makes the turn anew, so that nobody's words are lost.
"""

from __future__ import annotations

import secrets
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clew.advisors.documents.model import Facts
from clew.kit import jsontext
from clew.kit.errors import Invalid, NotFound
from clew.kit.files import private_directory
from clew.kit.project import clew_home
from clew.kit.sqlite import open_database, writing
from clew.kit.text.display import clipped, shown_text
from clew.kit.times import utc_now

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

LONGEST_ID = 200
LARGEST_FACTS = 4_000_000
LARGEST_DOCUMENT = 2_000_000
MOST_VERSIONS = 50
MOST_TURNS = 1000
MOST_LISTED = 1000
_LONGEST_NOTE = 20_000
_MIGRATIONS = (
    """
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        project TEXT NOT NULL,
        version INTEGER NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        facts TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE turns (
        conversation TEXT NOT NULL,
        version INTEGER NOT NULL,
        at TEXT NOT NULL,
        tool TEXT NOT NULL,
        arguments TEXT NOT NULL,
        summary TEXT NOT NULL,
        PRIMARY KEY (conversation, version)
    ) WITHOUT ROWID;
    CREATE TABLE documents (
        conversation TEXT NOT NULL,
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        project TEXT NOT NULL,
        path TEXT NOT NULL,
        draft TEXT NOT NULL,
        text TEXT NOT NULL,
        authors TEXT NOT NULL,
        PRIMARY KEY (conversation, name, version)
    );
    CREATE INDEX documents_by_path ON documents (project, path)
    """,
)


@dataclass(frozen=True)
class StoredDocument:
    """One version of a document: what the builder drafted, and what it became.

    `authors` tells for each section's key who wrote it, where that was not the builder.
    """

    name: str
    kind: str
    title: str
    draft: str
    text: str
    authors: dict[str, str] = field(default_factory=dict)
    version: int = 0
    project: str = ""
    path: str = ""


@dataclass(frozen=True)
class Conversation:
    """What is known in one conversation, and its documents as they were last made."""

    id: str
    title: str = ""
    project: str = ""
    version: int = 0
    created: str = ""
    updated: str = ""
    facts: Facts = field(default_factory=Facts)
    documents: dict[str, StoredDocument] = field(default_factory=dict)

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever said in it."""
        return self.version == 0


@dataclass(frozen=True)
class Turn:
    """What one call adds: facts, documents, and a line that says what happened."""

    tool: str
    arguments: dict[str, Any]
    summary: str
    title: str
    project: str
    facts: Facts
    documents: tuple[StoredDocument, ...]


def database_path() -> Path:
    """Where conversations are."""
    return clew_home() / "conversations.sqlite3"


def new_id() -> str:
    """An id that nobody can guess and nobody has."""
    return f"conv-{secrets.token_hex(10)}"


def checked_id(text: str) -> str:
    """An id that a caller chose, if it can be one."""
    if len(text) > LONGEST_ID or not text.isprintable():
        raise Invalid(
            f"Not usable as conversation_id: {clipped(shown_text(text))!r}",
            f"Use at most {LONGEST_ID} printable characters, or leave it away to get one.",
        )
    return text


@contextmanager
def opened_store() -> Iterator[ConversationStore]:
    """The store, for the length of a call."""
    path = database_path()
    private_directory(path.parent)
    with closing(open_database(path, _MIGRATIONS)) as database:
        path.chmod(0o600)
        yield ConversationStore(database)


class ConversationStore:
    """All conversations of this user."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def load(self, conversation_id: str) -> Conversation:
        """A conversation as it is now; one that nobody began yet is empty."""
        with _reading(self._database) as database:
            row = database.execute(
                "SELECT * FROM conversations WHERE id = ?", (conversation_id,)
            ).fetchone()
            if row is None:
                return Conversation(conversation_id)
            rows = database.execute(
                "SELECT *, max(version) FROM documents WHERE conversation = ? GROUP BY name",
                (conversation_id,),
            ).fetchall()
        return Conversation(
            row["id"],
            row["title"],
            row["project"],
            row["version"],
            row["created"],
            row["updated"],
            Facts.from_json(jsontext.loads(row["facts"])),
            {one["name"]: _document(one) for one in rows},
        )

    def existing(self, conversation_id: str) -> Conversation:
        """A conversation that must be there."""
        found = self.load(conversation_id)
        if found.is_new:
            raise NotFound(
                f"No conversation '{clipped(shown_text(conversation_id))}'",
                "`clew advise conversations list` shows them all.",
            )
        return found

    def save(self, before: Conversation, turn: Turn) -> int | None:
        """Write a turn upon the version it was made from; None if that is no longer the last."""
        facts = jsontext.dumps(turn.facts.as_json())
        _check_size("What is known", len(facts), LARGEST_FACTS)
        for document in turn.documents:
            _check_size(document.name, len(document.text), LARGEST_DOCUMENT)
        version, now = before.version + 1, utc_now()
        with writing(self._database) as database:
            if _version(database, before.id) != before.version:
                return None
            database.execute(
                "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
                " SET title = excluded.title, project = excluded.project,"
                " version = excluded.version, updated = excluded.updated, facts = excluded.facts",
                (before.id, turn.title, turn.project, version, now, now, facts),
            )
            arguments = clipped(jsontext.dumps(turn.arguments), _LONGEST_NOTE)
            database.execute(
                "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)",
                (before.id, version, now, turn.tool, arguments, turn.summary),
            )
            for document in turn.documents:
                database.execute(
                    "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    _row(before.id, version, document),
                )
            _prune(database, before.id, version)
        return version

    def version_of_document(
        self, conversation_id: str, name: str, version: int
    ) -> StoredDocument | None:
        """One version of a document."""
        row = self._database.execute(
            "SELECT * FROM documents WHERE conversation = ? AND name = ? AND version = ?",
            (conversation_id, name, version),
        ).fetchone()
        return _document(row) if row else None

    def written_to(self, project: str, path: str) -> StoredDocument | None:
        """The last document that was saved in this file."""
        row = self._database.execute(
            "SELECT documents.* FROM documents JOIN conversations ON conversations.id = conversation"
            " WHERE documents.project = ? AND path = ?"
            " ORDER BY conversations.updated DESC, documents.version DESC LIMIT 1",
            (project, path),
        ).fetchone()
        return _document(row) if row else None

    def list(self, limit: int = 50) -> list[dict[str, Any]]:
        """The conversations, the last one used first."""
        rows = self._database.execute(
            "SELECT id, title, project, version, created, updated,"
            " (SELECT count(DISTINCT name) FROM documents WHERE conversation = id) AS documents"
            " FROM conversations ORDER BY updated DESC, id LIMIT ?",
            (min(max(limit, 1), MOST_LISTED),),
        ).fetchall()
        return [dict(row) for row in rows]

    def export(self, conversation_id: str) -> dict[str, Any]:
        """Everything that is kept of a conversation."""
        conversation = self.existing(conversation_id)
        turns = self._database.execute(
            "SELECT version, at, tool, arguments, summary FROM turns WHERE conversation = ?"
            " ORDER BY version",
            (conversation_id,),
        ).fetchall()
        documents = self._database.execute(
            "SELECT * FROM documents WHERE conversation = ? ORDER BY name, version",
            (conversation_id,),
        ).fetchall()
        return {
            "id": conversation.id,
            "title": conversation.title,
            "project": conversation.project,
            "version": conversation.version,
            "created": conversation.created,
            "updated": conversation.updated,
            "facts": conversation.facts.as_json(),
            "turns": [dict(row) for row in turns],
            "documents": [_exported(row) for row in documents],
        }

    def delete(self, conversation_id: str) -> None:
        """Forget a conversation; files in projects stay."""
        self.existing(conversation_id)
        with writing(self._database) as database:
            for table in ("turns", "documents"):
                database.execute(
                    f"DELETE FROM {table} WHERE conversation = ?",  # noqa: S608 - names from here
                    (conversation_id,),
                )
            database.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))


@contextmanager
def _reading(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Several statements that see one state."""
    database.execute("BEGIN")
    try:
        yield database
    finally:
        database.execute("COMMIT")


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise Invalid(
            f"{what} has {size} characters; at most {most} are kept",
            "Begin another conversation, or say less.",
        )


def _version(database: sqlite3.Connection, conversation_id: str) -> int:
    row = database.execute(
        "SELECT version FROM conversations WHERE id = ?", (conversation_id,)
    ).fetchone()
    return int(row["version"]) if row else 0


def _prune(database: sqlite3.Connection, conversation_id: str, version: int) -> None:
    """Forget the oldest turns and versions; the last version of each document always stays."""
    database.execute(
        "DELETE FROM turns WHERE conversation = ? AND version <= ?",
        (conversation_id, version - MOST_TURNS),
    )
    database.execute(
        "DELETE FROM documents WHERE conversation = ?1 AND version <= ?2 AND version <"
        " (SELECT max(d.version) FROM documents d"
        " WHERE d.conversation = ?1 AND d.name = documents.name)",
        (conversation_id, version - MOST_VERSIONS),
    )


def _row(conversation_id: str, version: int, document: StoredDocument) -> tuple[Any, ...]:
    return (
        conversation_id,
        document.name,
        version,
        document.kind,
        document.title,
        document.project,
        document.path,
        document.draft,
        document.text,
        jsontext.dumps(document.authors),
    )


def _document(row: sqlite3.Row) -> StoredDocument:
    return StoredDocument(
        row["name"],
        row["kind"],
        row["title"],
        row["draft"],
        row["text"],
        jsontext.loads(row["authors"]),
        row["version"],
        row["project"],
        row["path"],
    )


def _exported(row: sqlite3.Row) -> dict[str, Any]:
    names = ("name", "version", "kind", "title", "project", "path", "text")
    return {**{name: row[name] for name in names}, "authors": jsontext.loads(row["authors"])}
