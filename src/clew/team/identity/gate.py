"""The gate of a team's server: from a bearer token to what its owner may see and do."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from clew.catalog.model import Tool
from clew.kit.call import SEES
from clew.kit.errors import Unavailable
from clew.kit.jsontext import JsonObject
from clew.protocol.http.callers import METADATA_PATH, Caller, Refused
from clew.team.identity.issuer import BadToken, Issuer
from clew.team.identity.needs import MACHINE, PROJECT, SCOPES, Need, need_of, rank
from clew.team.identity.records import TOKEN_PREFIX, Group, Records, SignIn

PERSON, PROGRAM = "person", "program"
_REMEMBERED = 2.0  # seconds until a change of groups counts
_CALLS = {"tools/call": "name", "invoke_tool": "name"}


@dataclass(frozen=True)
class _Known(Caller):
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


class TeamGate:
    """Admits by an identity provider's token or by a token of a program."""

    def __init__(
        self, records: Records, sign_in: SignIn, tools: Mapping[str, Tool], project: str | None
    ) -> None:
        self._records = records
        self._sign_in = sign_in
        self._issuer = Issuer(sign_in.issuer, sign_in.audiences)
        self._needs: dict[str, Need] = {name: need_of(tool) for name, tool in tools.items()}
        self._project = project
        self._lock = threading.Lock()
        self._groups: tuple[float, dict[str, Group]] = (float("-inf"), {})
        parts = urlsplit(sign_in.resource)
        self.host = parts.hostname or ""
        self._metadata_url = f"{parts.scheme}://{parts.netloc}{METADATA_PATH}{parts.path}"

    def metadata(self) -> JsonObject:
        """The protected resource metadata of RFC 9728."""
        asks = self._sign_in.asks or SCOPES
        return {
            "resource": self._sign_in.resource,
            "authorization_servers": [self._sign_in.issuer],
            "scopes_supported": list(asks),
            "bearer_methods_supported": ["header"],
            "resource_name": "Clew",
        }

    def admit(self, authorization: str) -> Caller:
        """Who sent this header."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Refused(401, "Sign in, and send the token you get.", self._challenge())
        try:
            known = self._program(token) if token.startswith(TOKEN_PREFIX) else self._person(token)
        except BadToken as error:
            said = f'error="invalid_token", error_description="{error.message}"'
            raise Refused(401, error.message, self._challenge(said)) from None
        except Unavailable as error:
            raise Refused(503, error.message) from error
        return known

    def _program(self, token: str) -> _Known:
        found = self._records.token(token)
        if found is None:
            raise BadToken("No valid token of a program")
        return self._known(f"token:{found.name}", "service token", found.scope, found.groups)

    def _person(self, token: str) -> _Known:
        claims = self._issuer.claims(token)
        sign_in = self._sign_in
        scope = SCOPES[-1]
        if sign_in.scopes_claim:
            given = [word for word in _words(claims.get(sign_in.scopes_claim)) if word in SCOPES]
            scope = max(given, key=rank, default="")
        name = claims.get("email") or claims.get("preferred_username")
        person = f"{name} ({claims['sub']})" if isinstance(name, str) else claims["sub"]
        client = claims.get("azp") or claims.get("client_id") or ""
        return self._known(person, str(client), scope, _words(claims.get(sign_in.groups_claim)))

    def _known(
        self, person: str, client: str, scope: str, groups: tuple[str, ...] | list[str]
    ) -> _Known:
        every = self._every_group()
        own = tuple(every[name] for name in sorted(set(groups)) if name in every)
        patterns = sorted({pattern for group in own for pattern in group.patterns})
        settings = {SEES: "\n".join(patterns), PERSON: _line(person), PROGRAM: _line(client)}
        # Whoever comes to see or be something else is another principal: no session stays wider.
        told = "\0".join([*settings.values(), scope])
        principal = hashlib.sha256(told.encode()).hexdigest()
        return _Known(principal, settings, settings[PERSON], scope, own)

    def _every_group(self) -> dict[str, Group]:
        with self._lock:
            if time.monotonic() - self._groups[0] > _REMEMBERED:
                self._groups = (time.monotonic(), self._records.groups())
            return self._groups[1]

    def allow(self, caller: Caller, method: str, params: JsonObject) -> None:
        """Refuse what the token's scope or the caller's groups do not include."""
        assert isinstance(caller, _Known)
        name = params.get(_CALLS[method]) if method in _CALLS else None
        need = self._needs.get(name) if isinstance(name, str) else None
        if need is None:  # lists, handshakes, and names that no tool has
            self._require(caller, Need("read", ""))
            return
        self._require(caller, need)
        arguments = params.get("parameters" if method == "invoke_tool" else "arguments")
        if isinstance(arguments, dict) and "project" in arguments and need.reach != MACHINE:
            self._require(caller, Need("admin", MACHINE))

    def _require(self, caller: _Known, need: Need) -> None:
        if rank(caller.token_scope) < rank(need.scope):
            said = f'error="insufficient_scope", scope="{need.scope}"'
            reason = f"The token lacks the scope '{need.scope}'."
            raise Refused(403, reason, self._challenge(said))
        if need.reach == PROJECT and not (
            self._project is not None and caller.may(need.scope, self._project)
        ):
            reason = f"Your groups may not '{need.scope}' in the project of this server."
            raise Refused(403, reason)
        # Reading without a group is allowed, and shows nothing.
        if need.scope != "read" and not caller.may(need.scope, None):
            raise Refused(403, f"None of your groups may '{need.scope}'. Ask your administrator.")

    def _challenge(self, said: str = "") -> str:
        """RFC 6750 and RFC 9728: what is wrong, where to read on, and what to ask for."""
        parts = [f'Bearer resource_metadata="{self._metadata_url}"']
        if "scope=" not in said:
            parts.append(f'scope="{" ".join(self._sign_in.asks or SCOPES[:1])}"')
        return ", ".join([*parts, said] if said else parts)


def _words(value: Any) -> list[str]:
    """The words of a claim: a list of them, or one text with spaces between them."""
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _line(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:200]
