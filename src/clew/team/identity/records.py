"""What the database knows of people: how they sign in, groups, tokens of programs, and the audit."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from clew.kit.errors import Cancelled, ClewError, Conflict, Invalid, NotFound
from clew.kit.text.redact import redact_patch
from clew.team.database import Database
from clew.team.identity.access_tokens import check_url
from clew.team.identity.needs import check_scope

TOKEN_PREFIX = "clew_"  # noqa: S105 - by which a token of ours is told from an issuer's
_LONGEST_ARGUMENTS = 4000
_MOST_DAYS = 366
_SIGN_IN = "issuer, resource, audiences, groups_claim, scopes_claim, asks"


@dataclass(frozen=True)
class SignIn:
    """How people of a team sign in.

    Without a claim for scopes, the groups alone say what somebody may do: some providers have no
    scopes of others' making.
    """

    issuer: str
    resource: str
    audiences: tuple[str, ...]
    groups_claim: str
    scopes_claim: str
    asks: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Which repositories a group may see, as patterns of names, and what it may do there."""

    name: str
    patterns: tuple[str, ...]
    scope: str


@dataclass(frozen=True)
class ServiceToken:
    """A token of a program: it acts for these groups, and never does more than its scope."""

    name: str
    scope: str
    groups: tuple[str, ...]


class Records:
    """These tables; any thread may ask."""

    def __init__(self, address: str) -> None:
        self._database = Database(address)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.rows(statement, values)

    def _run(self, statement: str, values: Sequence[object] = ()) -> int:
        with self._lock:
            return self._database.run(statement, values)

    def sign_in(self) -> SignIn | None:
        """How people sign in; None where that was not set up."""
        rows = self._rows(f"SELECT {_SIGN_IN} FROM sign_in")
        if not rows:
            return None
        issuer, resource, audiences, groups_claim, scopes_claim, asks = rows[0]
        return SignIn(issuer, resource, tuple(audiences), groups_claim, scopes_claim, tuple(asks))

    def set_sign_in(self, sign_in: SignIn | None) -> None:
        """Let people sign in by this provider from now on; None: no more."""
        if sign_in is not None:
            check_url(sign_in.issuer)
            check_url(sign_in.resource)
        with self._lock, self._database.transaction():
            self._database.run("DELETE FROM sign_in")
            if sign_in is not None:
                given = asdict(sign_in)
                values = [list(v) if isinstance(v, tuple) else v for v in given.values()]
                self._database.run(
                    f"INSERT INTO sign_in ({_SIGN_IN}) VALUES (%s, %s, %s, %s, %s, %s)", values
                )

    def groups(self) -> dict[str, Group]:
        """What each group may see and do."""
        rows = self._rows("SELECT name, patterns, scope FROM team_groups ORDER BY name")
        return {name: Group(name, tuple(patterns), scope) for name, patterns, scope in rows}

    def grant(self, group: Group) -> None:
        """Let a group see and do this, instead of what it could before."""
        check_scope(group.scope)
        if any("\n" in pattern for pattern in group.patterns):
            raise Invalid("A pattern is one line")
        self._run(
            "INSERT INTO team_groups (name, patterns, scope) VALUES (%s, %s, %s) ON CONFLICT (name)"
            " DO UPDATE SET patterns = excluded.patterns, scope = excluded.scope",
            (group.name, list(group.patterns), group.scope),
        )

    def withdraw(self, name: str) -> None:
        """Let a group see and do nothing any more."""
        if not self._run("DELETE FROM team_groups WHERE name = %s", (name,)):
            raise NotFound(f"No such group: {name}", "`clew team groups` lists them.")

    def make_token(
        self, name: str, scope: str, groups: Sequence[str], days: float, maker: str
    ) -> str:
        """A new token; nobody can read it here afterwards."""
        check_scope(scope)
        if not name.isprintable() or not name or not 0 < days <= _MOST_DAYS:
            raise Invalid(f"A token has a name, and lasts at most {_MOST_DAYS} days")
        unknown = [group for group in groups if group not in self.groups()]
        if unknown:
            raise NotFound(f"No such group: {unknown[0]}", "Grant it something: clew team grant.")
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        try:
            self._run(
                "INSERT INTO service_tokens (name, digest, scope, groups, made_by, expires_at)"
                " VALUES (%s, %s, %s, %s, %s, now() + make_interval(secs => %s))",
                (name, _digest(token), scope, list(groups), maker, days * 86_400),
            )
        except psycopg.errors.UniqueViolation:
            raise Conflict(
                f"There is a token named {name}", f"Revoke it: clew team token revoke {name}"
            ) from None
        return token

    def tokens(self) -> list[dict[str, Any]]:
        """Every token, without what it is."""
        columns = ("name", "scope", "groups", "made_by", "made_at", "expires_at", "revoked_at")
        rows = self._rows(f"SELECT {', '.join(columns)} FROM service_tokens ORDER BY token_id")
        return [
            dict(zip(columns, (*row[:4], *(_moment(when) for when in row[4:])), strict=True))
            for row in rows
        ]

    def revoke_token(self, name: str) -> None:
        """Accept a token no more."""
        done = self._run(
            "UPDATE service_tokens SET revoked_at = now() WHERE name = %s AND revoked_at IS NULL",
            (name,),
        )
        if not done:
            raise NotFound(f"No valid token is named {name}", "clew team token list")

    def token(self, given: str) -> ServiceToken | None:
        """The valid token that this is."""
        rows = self._rows(
            "SELECT name, scope, groups FROM service_tokens WHERE digest = %s"
            " AND revoked_at IS NULL AND expires_at > now()",
            (_digest(given),),
        )
        return ServiceToken(rows[0][0], rows[0][1], tuple(rows[0][2])) if rows else None

    @contextmanager
    def audited(
        self, person: str, client: str, tool: str, arguments: Mapping[str, Any]
    ) -> Iterator[None]:
        """A row is there before the deed begins, and has its outcome afterwards."""
        said = json.dumps(arguments, ensure_ascii=False, default=str).replace("\\u0000", "\ufffd")
        kept = redact_patch(said.encode("utf-8", "replace"))[0].decode("utf-8", "replace")
        row = self._rows(
            "INSERT INTO audit (person, client, tool, arguments) VALUES (%s, %s, %s, %s)"
            " RETURNING audit_id",
            (person, client, tool, kept[:_LONGEST_ARGUMENTS]),
        )[0]
        outcome = "failed"
        try:
            yield
            outcome = "done"
        except Cancelled:
            outcome = "cancelled"
            raise
        except ClewError as error:
            outcome = f"refused: {error.code}"
            raise
        finally:
            self._run(
                "UPDATE audit SET ended_at = now(), outcome = %s WHERE audit_id = %s",
                (outcome, row[0]),
            )

    def audit(self, limit: int, person: str | None = None) -> list[dict[str, Any]]:
        """The newest deeds, the newest first."""
        columns = ("at", "person", "client", "tool", "arguments", "outcome", "ended_at")
        rows = self._rows(
            f"SELECT {', '.join(columns)} FROM audit WHERE %s::text IS NULL OR person = %s"
            " ORDER BY audit_id DESC LIMIT %s",
            (person, person, limit),
        )
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        return [{**one, "at": _moment(one["at"]), "ended_at": _moment(one["ended_at"])} for one in found]  # fmt: skip


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _moment(when: Any) -> str | None:
    return None if when is None else str(when.isoformat(timespec="seconds"))
