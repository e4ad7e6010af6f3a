"""Callers that a server knows one by one, and the gate that says who they are and what they may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from clew.kit.jsontext import JsonObject

METADATA_PATH = "/.well-known/oauth-protected-resource"


class Refused(Exception):
    """A request that may not go on: the status of the answer, its reason, and its challenge."""

    def __init__(self, status: int, reason: str, challenge: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = {"WWW-Authenticate": challenge} if challenge else {}


@dataclass(frozen=True)
class Caller:
    """Whose request it is.

    Sessions, tasks and sealed state belong to a principal; `settings` are those that calls get.
    """

    principal: str
    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = ""  # for the log


class Gate(Protocol):
    """Knows callers by what they send; asked by threads, because it may wait for a network."""

    host: str  # the name under which callers reach the server, beside its own

    def metadata(self) -> JsonObject:
        """What RFC 9728 lets everybody know of this server."""

    def admit(self, authorization: str) -> Caller:
        """Who sent this header, or Refused."""

    def allow(self, caller: Caller, method: str, params: JsonObject) -> None:
        """Raise Refused where the caller may not do this."""


class Watch(Protocol):
    """Looks at how the server does."""

    def why_unready(self) -> str:
        """Why no request should be sent here now; empty if all is well."""

    def note(self, status: int, seconds: float) -> None:
        """Take a request that was answered into account."""


STRANGER = Caller("http")  # of a server that has one token for everybody
