"""Conversations of the advisors in PostgreSQL: whichever server is asked goes on with one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

from clew.advisors.conversation.store import ConversationStore, Values
from clew.team.database import Database, require_schema
from clew.team.history.base import shown, stored


class PostgresConversations(ConversationStore):
    """The conversations of a database; the caller closes its connection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, statement: str, values: Values = ()) -> list[dict[str, Any]]:
        """What a statement finds."""
        names, rows = self._database.named_rows(_asked(statement), _stored(values))
        return [dict(zip(names, map(_shown, row), strict=True)) for row in rows]

    def run(self, statement: str, values: Values = ()) -> None:
        """Execute a statement."""
        self._database.run(_asked(statement), _stored(values))

    @contextmanager
    def alone(self, conversation_id: str) -> Iterator[None]:
        """One transaction, in which nobody else writes to a conversation."""
        with self._database.transaction():
            self._database.row(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", _stored((conversation_id,))
            )
            yield

    def one_state(self) -> AbstractContextManager[None]:
        """Several statements that see one state."""
        return self._database.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")


@contextmanager
def opened_conversations(address: str) -> Iterator[PostgresConversations]:
    """The store of a database, for the length of a call."""
    with closing(Database(address)) as database:
        require_schema(database)
        yield PostgresConversations(database)


def _asked(statement: str) -> str:
    return statement.replace("?", "%s")


def _stored(values: Values) -> tuple[object, ...]:
    return tuple(stored(one) if isinstance(one, str) else one for one in values)


def _shown(value: object) -> object:
    return shown(value) if isinstance(value, str) else value
