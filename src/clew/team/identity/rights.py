"""What somebody may see and do: by the scope of what they sent, and by what their groups were granted."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from clew.kit.call import SEES
from clew.protocol.http.callers import Caller
from clew.team.identity.needs import MACHINE, PROJECT, Need, rank
from clew.team.identity.records import Group, Records

PERSON, PROGRAM = "person", "program"
_REMEMBERED = 2.0  # seconds until a change of groups counts


@dataclass(frozen=True)
class Known(Caller):
    """A caller with what its token and its groups allow."""

    token_scope: str = ""
    groups: tuple[Group, ...] = ()

    def may(self, scope: str, repo: str | None) -> bool:
        """Whether a group of the caller may do this; with a name, there."""
        return any(
            rank(group.scope) >= rank(scope)
            and (repo is None or any(fnmatchcase(repo, one) for one in group.patterns))
            for group in self.groups
        )

    def why_not(self, need: Need, project: str | None) -> str:
        """Why the caller's groups do not include this on a server of that project; empty if they do."""
        if need.reach == PROJECT and not (project is not None and self.may(need.scope, project)):
            return f"Your groups may not '{need.scope}' in the project of this server."
        # Reading without a group is allowed, and shows nothing.
        asks = need.scope != "read" or need.reach == MACHINE
        if asks and not self.may(need.scope, None):
            return f"None of your groups may '{need.scope}'. Ask your administrator."
        return ""


class Grants:
    """What groups were granted, as it was a moment ago; any thread may ask."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._groups: tuple[float, dict[str, Group]] = (float("-inf"), {})

    def known(self, person: str, client: str, scope: str, groups: Iterable[str]) -> Known:
        """Somebody of these groups."""
        every = self.groups()
        own = tuple(every[name] for name in sorted(set(groups)) if name in every)
        patterns = sorted({pattern for group in own for pattern in group.patterns})
        settings = {SEES: "\n".join(patterns), PERSON: _line(person), PROGRAM: _line(client)}
        # Whoever comes to see or be something else is another principal: no session stays wider.
        told = "\0".join([*settings.values(), scope])
        principal = hashlib.sha256(told.encode()).hexdigest()
        return Known(principal, settings, settings[PERSON], scope, own)

    def groups(self) -> dict[str, Group]:
        """Every group that has a grant."""
        with self._lock:
            if time.monotonic() - self._groups[0] > _REMEMBERED:
                self._groups = (time.monotonic(), self._records.groups())
            return self._groups[1]


def person_of(claims: dict[str, Any]) -> str:
    """Whom a token names: as people know them, and as the issuer does."""
    name = claims.get("email") or claims.get("preferred_username")
    return f"{name} ({claims['sub']})" if isinstance(name, str) else str(claims["sub"])


def words_of(value: Any) -> list[str]:
    """The words of a claim: a list of them, or one text with spaces between them."""
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _line(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:200]
