"""The gate of a team's server: from a bearer token to what its owner may see and do."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from clew.catalog.model import Tool
from clew.kit.errors import Unavailable
from clew.kit.jsontext import JsonObject
from clew.protocol.http.callers import METADATA_PATH, Caller, Refused
from clew.team.identity.access_tokens import BadToken, Issuer
from clew.team.identity.needs import MACHINE, SCOPES, Need, need_of, rank
from clew.team.identity.records import TOKEN_PREFIX, Records, SignIn
from clew.team.identity.rights import Grants, Known, person_of, words_of

_CALLS = {"tools/call": "name", "invoke_tool": "name"}


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
        self._grants = Grants(records)
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

    def _program(self, token: str) -> Known:
        found = self._records.token(token)
        if found is None:
            raise BadToken("No valid token of a program")
        return self._grants.known(f"token:{found.name}", "service token", found.scope, found.groups)

    def _person(self, token: str) -> Known:
        claims = self._issuer.claims(token)
        sign_in = self._sign_in
        scope = SCOPES[-1]
        if sign_in.scopes_claim:
            given = [word for word in words_of(claims.get(sign_in.scopes_claim)) if word in SCOPES]
            scope = max(given, key=rank, default="")
        client = str(claims.get("azp") or claims.get("client_id") or "")
        groups = words_of(claims.get(sign_in.groups_claim))
        return self._grants.known(person_of(claims), client, scope, groups)

    def allow(self, caller: Caller, method: str, params: JsonObject) -> None:
        """Refuse what the token's scope or the caller's groups do not include."""
        assert isinstance(caller, Known)
        name = params.get(_CALLS[method]) if method in _CALLS else None
        need = self._needs.get(name) if isinstance(name, str) else None
        if need is None:  # lists, handshakes, and names that no tool has
            self._require(caller, Need("read", ""))
            return
        self._require(caller, need)
        arguments = params.get("parameters" if method == "invoke_tool" else "arguments")
        if isinstance(arguments, dict) and "project" in arguments and need.reach != MACHINE:
            self._require(caller, Need("admin", MACHINE))

    def _require(self, caller: Known, need: Need) -> None:
        if rank(caller.token_scope) < rank(need.scope):
            said = f'error="insufficient_scope", scope="{need.scope}"'
            reason = f"The token lacks the scope '{need.scope}'."
            raise Refused(403, reason, self._challenge(said))
        if reason := caller.why_not(need, self._project):
            raise Refused(403, reason)

    def _challenge(self, said: str = "") -> str:
        """RFC 6750 and RFC 9728: what is wrong, where to read on, and what to ask for."""
        parts = [f'Bearer resource_metadata="{self._metadata_url}"']
        if "scope=" not in said:
            parts.append(f'scope="{" ".join(self._sign_in.asks or SCOPES[:1])}"')
        return ", ".join([*parts, said] if said else parts)
