"""Who may look at the board and change things through it.

A door knows its visitors: by a random token in the first address, which becomes a cookie, or by a
team's sign-in (`people`). Host and Origin must be the server's own, so neither another site nor a
name that was pointed at this machine reaches it. Every change carries a second secret that only
pages of this server know.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from clew.protocol.http.guard import (
    BODY_SECONDS,
    LOOPBACK,
    TOO_MANY,
    WILDCARD,
    Strangers,
    bare_host,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_FORM = 5 * 1024 * 1024
MOST_FIELDS = 200
CSRF_FIELD = "csrf"
CSRF_HEADER = "x-clew-csrf"
TOKEN_FIELD = "token"  # noqa: S105 - the name of a parameter
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_SAFE_METHODS = ("GET", "HEAD")
_FIRST_REFUSAL = 400
_AUTHORITY = re.compile(r"(?P<name>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_STRANGER = (
    "This page needs the address with its token.\n\n"
    "Open the address that `clew web` printed when it started; it works for as long as it runs.\n"
)


def _fresh() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Keys:
    """The secrets of one running server: of the first address, the cookie, and changes."""

    token: str = field(default_factory=_fresh)
    session: str = field(default_factory=_fresh)

    @property
    def csrf(self) -> str:
        """What a change must carry; pages have it, other sites cannot read it."""
        return hmac.new(self.session.encode(), b"csrf", hashlib.sha256).hexdigest()


class Refused(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = headers


@dataclass(frozen=True)
class Visitor:
    """Who looks at the board; whoever has the token of the first address may do everything."""

    csrf: str
    person: str = ""
    sees: str | None = None  # patterns of repositories on lines; None: all of them

    def may(self, scope: str, repo: str | None = None) -> bool:
        """Whether the visitor may do this; with a name, in that repository."""
        return True


class Door(Protocol):
    """Knows visitors."""

    async def entry(self, scope: Scope) -> Response | None:
        """The answer to an address that is about getting in; None of every other."""

    async def visitor(self, headers: Headers) -> Visitor | None:
        """Whose request this is, as of now; None of a stranger's."""

    def turned_away(self, scope: Scope) -> Response:
        """The answer to a stranger."""


class TokenDoor:
    """Lets in whoever has the address that the board printed."""

    def __init__(self, keys: Keys, port: int) -> None:
        self._keys = keys
        self._cookie = f"clew_{port}"

    async def entry(self, scope: Scope) -> Response | None:
        """The first visit: the token of the address becomes a cookie, and the address loses it."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in pairs if name == TOKEN_FIELD]
        if not given:
            return None
        if not hmac.compare_digest(given[0].encode(), self._keys.token.encode()):
            return self.turned_away(scope)
        rest = urlencode([(name, value) for name, value in pairs if name != TOKEN_FIELD])
        # One slash: a path that begins with two would lead to another host.
        path = "/" + scope["path"].lstrip("/\\")
        response = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(
            self._cookie, self._keys.session, httponly=True, samesite="strict", path="/"
        )
        return response

    async def visitor(self, headers: Headers) -> Visitor | None:
        """Whoever has the cookie."""
        given = cookie_of(headers, self._cookie)
        is_known = hmac.compare_digest(given.encode(), self._keys.session.encode())
        return Visitor(self._keys.csrf) if is_known else None

    def turned_away(self, scope: Scope) -> Response:
        """How to get in."""
        return PlainTextResponse(_STRANGER, 401)


def cookie_of(headers: Headers, name: str) -> str:
    """The value of a cookie; empty where there is none."""
    cookie = SimpleCookie()
    try:
        cookie.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookie[name].value if name in cookie else ""


class Guard:
    """The application behind its checks; every answer leaves with the same strict headers."""

    def __init__(
        self,
        app: ASGIApp,
        door: Door,
        *,
        host: str,
        port: int,
        origin: str = "",
        read_only: bool = False,
    ) -> None:
        """With `origin`, people reach it under that address too: something passes requests on."""
        self._app = app
        self._door = door
        self._port = port
        self._origin = origin
        self._read_only = read_only
        name = bare_host(host).lower()
        self._any_host = name in WILDCARD
        self._hosts = {*LOOPBACK, name}
        self._strangers = Strangers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            return
        sending = _with_headers(send)
        try:
            response = await self._checked(scope, receive)
        except Refused as refusal:
            response = PlainTextResponse(refusal.reason, refusal.status, refusal.headers)
        if response is not None:
            await response(scope, receive, sending)
        else:
            await self._app(scope, receive, sending)

    async def _checked(self, scope: Scope, receive: Receive) -> Response | None:
        """An answer instead of the page's own, or None when the request may go on."""
        headers = Headers(scope=scope)
        self._check_origin(headers, self._own_address(headers))
        state = scope.setdefault("state", {})
        state["form"] = {}
        is_safe = scope["method"] in _SAFE_METHODS
        entry = await self._door.entry(scope) if is_safe else None
        visitor = None if entry is not None else await self._door.visitor(headers)
        if visitor is None:
            answer = entry or self._door.turned_away(scope)
            if answer.status_code >= _FIRST_REFUSAL:
                self._count_stranger(scope)
            return answer
        state["visitor"] = visitor
        state["look_again"] = lambda: self._door.visitor(headers)
        if not is_safe:
            await self._check_change(scope, receive, headers, visitor)
        return None

    def _own_address(self, headers: Headers) -> str:
        """The origin that the client asked for, if it is one of this server's."""
        hosts = headers.getlist("host")
        if self._origin and hosts == [urlsplit(self._origin).netloc]:
            return self._origin
        match = _AUTHORITY.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
        name = bare_host(match["name"]) if match else ""
        port = int((match["port"] or "80") if match else 0)
        if not name or port != self._port or not (self._any_host or name in self._hosts):
            raise Refused(403, "Unknown Host header. Use the address that `clew web` printed.\n")
        return f"http://{hosts[0].lower()}"

    def _check_origin(self, headers: Headers, own: str) -> None:
        """Whoever sends an Origin must be this very site; browsers also say it in words."""
        if any(origin.lower() != own for origin in headers.getlist("origin")):
            raise Refused(403, "This Origin may not use the board.\n")
        sites = headers.getlist("sec-fetch-site")
        is_page = headers.get("sec-fetch-mode") == "navigate"
        if any(site not in ("same-origin", "none") for site in sites) and not is_page:
            raise Refused(403, "Another site may not use the board.\n")

    def _count_stranger(self, scope: Scope) -> None:
        client = scope.get("client")
        if self._strangers.is_tired_of(client[0] if client else ""):
            raise Refused(429, f"{TOO_MANY}\n", {"Connection": "close", "Retry-After": "1"})

    async def _check_change(
        self, scope: Scope, receive: Receive, headers: Headers, visitor: Visitor
    ) -> None:
        if scope["method"] != "POST":
            raise Refused(405, "Only GET and POST are understood.\n")
        if self._read_only:
            raise Refused(403, "This board is read-only (it was started with --read-only).\n")
        try:
            body = await asyncio.wait_for(_body(receive), BODY_SECONDS)
        except TimeoutError:
            raise Refused(408, "The form took too long to arrive.\n") from None
        form = _form_fields(body, headers.get("content-type", ""))
        given = headers.get(CSRF_HEADER) or form.get(CSRF_FIELD, "")
        if not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
            raise Refused(403, "This form is from another visit. Load the page again.\n")
        scope["state"]["form"] = form


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "The request was cut off.\n")
        body += message.get("body", b"")
        if len(body) > LARGEST_FORM:
            raise Refused(413, "That is too large.\n")
        if not message.get("more_body"):
            return bytes(body)


def _form_fields(body: bytes, kind: str) -> dict[str, str]:
    """The fields of a form; only the plain kind is read."""
    if not body:
        return {}
    if kind.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Refused(415, "Send a form.\n")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        raise Refused(400, "That is no form.\n") from None
    return dict(pairs)
