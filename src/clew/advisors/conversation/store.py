"""Where conversations are kept: the SQL of a store, and the SQLite file of a user.

A turn is written in one transaction, and only upon the version that it was made from. Whoever
comes second gets no version and makes the turn anew, so that nobody's words are lost.
"""

from __future__ import annotations

import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.advisors.documents.model import Facts
from clew.kit import jsontext
from clew.kit.errors import Invalid, NotFound
from clew.kit.files import private_directory
from clew.kit.project import clew_home
from clew.kit.sqlite import open_database, read_migrations, writing
from clew.kit.system_errors import database_refusal
from clew.kit.text.display import clipped, shown_text
from clew.kit.times import utc_now

LONGEST_ID = 200
LARGEST_FACTS = 4_000_000
LARGEST_DOCUMENT = 2_000_000
MOST_VERSIONS = 50
MOST_TURNS = 1000
MOST_LISTED = 1000
_LONGEST_NOTE = 20_000
_HEAD = ("id", "title", "project", "version", "created", "updated")
MIGRATIONS = Path(__file__).with_name("migrations")


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
    """A unique id that cannot be guessed."""
    return f"conv-{secrets.token_hex(10)}"


def checked_id(text: str) -> str:
    """An id that a caller chose, if it can be one."""
    if len(text) > LONGEST_ID or not text.isprintable():
        raise Invalid(
            f"Not usable as conversation_id: {clipped(shown_text(text))!r}",
            f"Use at most {LONGEST_ID} printable characters, or omit it to get one.",
        )
    return text


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise Invalid(
            f"{what} has {size} characters; at most {most} are kept",
            "Begin another conversation, or say less.",
        )


Values = tuple[object, ...]


class ConversationStore(ABC):
    """All conversations of a user, every version kept; how a database is asked, each engine says."""

    @abstractmethod
    def rows(self, statement: str, values: Values = ()) -> list[dict[str, Any]]:
        """What a statement finds."""

    @abstractmethod
    def run(self, statement: str, values: Values = ()) -> None:
        """Execute a statement."""

    @abstractmethod
    def alone(self, conversation_id: str) -> AbstractContextManager[object]:
        """One transaction, in which nobody else writes to a conversation."""

    @abstractmethod
    def one_state(self) -> AbstractContextManager[object]:
        """Several statements that see one state."""

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
        arguments = clipped(jsontext.dumps(turn.arguments), _LONGEST_NOTE)
        with self.alone(before.id):
            known = self.rows("SELECT version FROM conversations WHERE id = ?", (before.id,))
            if (known[0]["version"] if known else 0) != before.version:
                return None
            self.run(
                "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
                " SET title = excluded.title, project = excluded.project,"
                " version = excluded.version, updated = excluded.updated, facts = excluded.facts",
                (before.id, turn.title, turn.project, version, now, now, facts),
            )
            self.run(
                "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)",
                (before.id, version, now, turn.tool, arguments, turn.summary),
            )
            for document in turn.documents:
                self.run(
                    "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    _row(before.id, version, document),
                )
            self._prune(before.id, version)
        return version

    def export(self, conversation_id: str) -> dict[str, Any]:
        """Everything that is kept of a conversation."""
        conversation = vars(self.existing(conversation_id))
        turns = self.rows(
            "SELECT version, at, tool, arguments, summary FROM turns WHERE conversation = ?"
            " ORDER BY version",
            (conversation_id,),
        )
        documents = self.rows(
            "SELECT name, version, kind, title, project, path, text, authors FROM documents"
            " WHERE conversation = ? ORDER BY name, version",
            (conversation_id,),
        )
        return {
            **{name: conversation[name] for name in _HEAD},
            "facts": conversation["facts"].as_json(),
            "turns": turns,
            "documents": [{**one, "authors": jsontext.loads(one["authors"])} for one in documents],
        }

    def delete(self, conversation_id: str) -> None:
        """Forget a conversation that must be there; files in projects stay."""
        self.existing(conversation_id)
        with self.alone(conversation_id):
            self.run("DELETE FROM turns WHERE conversation = ?", (conversation_id,))
            self.run("DELETE FROM documents WHERE conversation = ?", (conversation_id,))
            self.run("DELETE FROM conversations WHERE id = ?", (conversation_id,))

    def load(self, conversation_id: str) -> Conversation:
        """A conversation as it is now; an unknown one is empty."""
        with self.one_state():
            found = self.rows("SELECT * FROM conversations WHERE id = ?", (conversation_id,))
            documents = self.rows(
                "SELECT * FROM documents WHERE conversation = ? AND version ="
                " (SELECT max(d.version) FROM documents d WHERE"
                " d.conversation = documents.conversation AND d.name = documents.name)",
                (conversation_id,),
            )
        if not found:
            return Conversation(conversation_id)
        facts = Facts.from_json(jsontext.loads(found[0]["facts"]))
        last = {one["name"]: _document(one) for one in documents}
        return Conversation(**{**found[0], "facts": facts}, documents=last)

    def version_of_document(
        self, conversation_id: str, name: str, version: int
    ) -> StoredDocument | None:
        """One version of a document."""
        found = self.rows(
            "SELECT * FROM documents WHERE conversation = ? AND name = ? AND version = ?",
            (conversation_id, name, version),
        )
        return _document(found[0]) if found else None

    def written_to(self, project: str, path: str) -> StoredDocument | None:
        """The last document that was saved in this file."""
        found = self.rows(
            "SELECT documents.* FROM documents JOIN conversations ON conversations.id = conversation"
            " WHERE documents.project = ? AND path = ?"
            " ORDER BY conversations.updated DESC, documents.version DESC LIMIT 1",
            (project, path),
        )
        return _document(found[0]) if found else None

    def recent(self, limit: int = 50) -> list[dict[str, Any]]:
        """The conversations, the last one used first."""
        return self.rows(
            "SELECT id, title, project, version, created, updated,"
            " (SELECT count(DISTINCT name) FROM documents WHERE conversation = id) AS documents"
            " FROM conversations ORDER BY updated DESC, id LIMIT ?",
            (min(max(limit, 1), MOST_LISTED),),
        )

    def _prune(self, conversation_id: str, version: int) -> None:
        """Forget the oldest turns and versions; the last version of each document always stays."""
        self.run(
            "DELETE FROM turns WHERE conversation = ? AND version <= ?",
            (conversation_id, version - MOST_TURNS),
        )
        self.run(
            "DELETE FROM documents WHERE conversation = ? AND version <= ? AND version <"
            " (SELECT max(d.version) FROM documents d"
            " WHERE d.conversation = documents.conversation AND d.name = documents.name)",
            (conversation_id, version - MOST_VERSIONS),
        )


class _SqliteStore(ConversationStore):
    """One file for all servers of a user; the caller closes its connection."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def rows(self, statement: str, values: Values = ()) -> list[dict[str, Any]]:
        return [dict(row) for row in self._database.execute(statement, values)]

    def run(self, statement: str, values: Values = ()) -> None:
        self._database.execute(statement, values)

    def alone(self, conversation_id: str) -> AbstractContextManager[object]:
        return writing(self._database)

    @contextmanager
    def one_state(self) -> Iterator[None]:
        self._database.execute("BEGIN")
        try:
            yield
        finally:
            self._database.execute("COMMIT")


_Opener = Callable[[], AbstractContextManager[ConversationStore]]
_elsewhere: list[_Opener] = []


def keep_elsewhere(opener: _Opener | None) -> None:
    """Keep conversations in another store than the user's file; None for that file again."""
    _elsewhere[:] = [] if opener is None else [opener]


def opened_store() -> AbstractContextManager[ConversationStore]:
    """The store, for the length of a call."""
    return _elsewhere[0]() if _elsewhere else _opened_file()


@contextmanager
def _opened_file() -> Iterator[ConversationStore]:
    path = database_path()
    private_directory(path.parent)
    try:
        with closing(open_database(path, read_migrations(MIGRATIONS))) as database:
            path.chmod(0o600)
            yield _SqliteStore(database)
    except sqlite3.DatabaseError as error:
        raise database_refusal("The store of conversations", path, error) from error


def _row(conversation_id: str, version: int, document: StoredDocument) -> tuple[object, ...]:
    names = ("kind", "title", "project", "path", "draft", "text")
    kept = (vars(document)[name] for name in names)
    return (conversation_id, document.name, version, *kept, jsontext.dumps(document.authors))


def _document(row: dict[str, Any]) -> StoredDocument:
    fields = {name: row[name] for name in StoredDocument.__dataclass_fields__}
    return StoredDocument(**{**fields, "authors": jsontext.loads(row["authors"])})
