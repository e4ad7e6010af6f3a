"""A board whose visitors sign in at their team's identity provider, each seeing what their groups may.

Who somebody is, and of which groups, is in a sealed cookie for an hour; what the groups were granted
is asked of the database. So any server of the database knows every visitor, and none keeps anything.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from clew.kit.call import SEES
from clew.kit.errors import ClewError, Invalid, Unavailable
from clew.protocol.errors import RpcError
from clew.protocol.kernel.seal import Seal
from clew.team.identity.browser import CodeFlow
from clew.team.identity.needs import SCOPES
from clew.team.identity.rights import Known, person_of, words_of
from clew.team.servers.shared_secret import shared_secret
from clew.web.security import Visitor, cookie_of

if TYPE_CHECKING:
    from starlette.types import Scope

    from clew.kit.jsontext import JsonObject
    from clew.team.identity.records import SignIn
    from clew.team.operations.board import TeamBoard

SIGN_IN, SIGNED_IN, SIGN_OUT = "/sign-in", "/signed-in", "/sign-out"
_BOARD = "board"  # of the seals: no state of another kind is taken for a visitor
_SESSION, _BEGUN = "session", "sign-in"


@dataclass(frozen=True)
class Person(Visitor):
    """Somebody who signed in."""

    known: Known = field(kw_only=True)

    def may(self, scope: str, repo: str | None = None) -> bool:
        """Whether a group of this person may do this; with a name, there."""
        return self.known.may(scope, repo)


class PeopleDoor:
    """Lets in whoever the team's identity provider knows."""

    def __init__(
        self, team: TeamBoard, sign_in: SignIn, client: tuple[str, str], origin: str
    ) -> None:
        """`client` is what the provider knows this board by, and its secret, if it has one."""
        self._team = team
        self._groups_claim = sign_in.groups_claim
        self._flow = CodeFlow(sign_in.issuer, *client, f"{origin}{SIGNED_IN}")
        self._seal = Seal(shared_secret(team.address, _BOARD))
        self._is_safe = origin.startswith("https:")
        port = origin.rpartition(":")[2]
        self._cookie = f"clew_{port if port.isdecimal() else _BOARD}"

    async def entry(self, scope: Scope) -> Response | None:
        """The pages of sign-in itself."""
        steps = {SIGN_IN: self._begin, SIGNED_IN: self._finish, SIGN_OUT: self._leave}
        step = steps.get(scope["path"])
        if step is None:
            return None
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        try:
            return await run_in_threadpool(step, Headers(scope=scope), query)
        except Unavailable as error:
            return PlainTextResponse(f"{error.full_text()}\n", 503)
        except ClewError as error:
            return PlainTextResponse(f"{error.message}\n\nBegin again: {SIGN_IN}\n", 403)

    async def visitor(self, headers: Headers) -> Visitor | None:
        """Whoever has a session, with what their groups were granted by now."""
        said = self._opened(cookie_of(headers, self._cookie), _SESSION)
        if said is None:
            return None
        return await run_in_threadpool(self._person, said)

    def _person(self, said: JsonObject) -> Person:
        known = self._team.grants.known(said["person"], _BOARD, SCOPES[-1], said["groups"])
        return Person(said["csrf"], known.name, known.settings[SEES], known=known)

    def turned_away(self, scope: Scope) -> Response:
        """To sign-in, and back to this page; only a person at a browser can do that."""
        wants_page = "text/html" in Headers(scope=scope).get("accept", "")
        if scope["method"] != "GET" or not wants_page:
            return PlainTextResponse(f"Sign in: {SIGN_IN}\n", 401)
        query = scope["query_string"].decode("latin-1")
        back = quote(scope["path"] + (f"?{query}" if query else ""), safe="")
        return RedirectResponse(f"{SIGN_IN}?back={back}", 303)

    def _begin(self, headers: Headers, query: dict[str, str]) -> Response:
        address, kept = self._flow.begin()
        response = RedirectResponse(address, 303)
        self._give(response, _BEGUN, {**kept, "back": query.get("back", "/")})
        return response

    def _finish(self, headers: Headers, query: dict[str, str]) -> Response:
        begun = self._opened(cookie_of(headers, f"{self._cookie}_{_BEGUN}"), _BEGUN)
        if begun is None:
            raise Invalid("This sign-in was begun elsewhere, or too long ago")
        claims = self._flow.finish(begun, query)
        granted = self._team.records.groups()  # as they are now: the session keeps them
        session: JsonObject = {
            "person": person_of(claims),
            "groups": [one for one in words_of(claims.get(self._groups_claim)) if one in granted],
            "csrf": secrets.token_urlsafe(32),
        }
        # One slash: a path that begins with two would lead to another host.
        response = RedirectResponse("/" + str(begun["back"]).lstrip("/\\"), 303)
        self._give(response, _SESSION, session)
        response.delete_cookie(f"{self._cookie}_{_BEGUN}", path=SIGNED_IN)
        return response

    def _leave(self, headers: Headers, query: dict[str, str]) -> Response:
        response = PlainTextResponse(f"You are signed out here. To sign in again: {SIGN_IN}\n")
        response.delete_cookie(self._cookie, path="/")
        return response

    def _give(self, response: Response, kind: str, said: JsonObject) -> None:
        """A cookie that comes back when a link leads here, and with no form of another site."""
        is_session = kind == _SESSION
        response.set_cookie(
            self._cookie if is_session else f"{self._cookie}_{kind}",
            self._seal.close(said, kind, {}, _BOARD),
            max_age=3600,
            path="/" if is_session else SIGNED_IN,
            httponly=True,
            secure=self._is_safe,
            samesite="lax",
        )

    def _opened(self, sealed: str, kind: str) -> JsonObject | None:
        try:
            return self._seal.open(sealed, kind, {}, _BOARD)
        except RpcError:
            return None
