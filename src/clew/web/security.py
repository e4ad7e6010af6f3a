"""Who may look at the board and change things through it.

A random token in the first address becomes a cookie that only this site sends. Host and Origin
must be the server's own, so neither another site nor a name that was pointed at this machine
reaches it. Every change carries a second secret that only pages of this server know.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

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


class Guard:
    """The application behind its checks; every answer leaves with the same strict headers."""

    def __init__(
        self, app: ASGIApp, keys: Keys, *, host: str, port: int, read_only: bool = False
    ) -> None:
        self._app = app
        self._keys = keys
        self._port = port
        self._read_only = read_only
        name = bare_host(host).lower()
        self._any_host = name in WILDCARD
        self._hosts = {*LOOPBACK, name}
        self._cookie = f"clew_{port}"
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
        own = self._own_address(headers)
        self._check_origin(headers, own)
        scope.setdefault("state", {})["form"] = {}
        if scope["method"] in _SAFE_METHODS and (entry := self._entry(scope)) is not None:
            return entry
        if not self._is_known(headers):
            raise self._stranger(scope)
        if scope["method"] not in _SAFE_METHODS:
            await self._check_change(scope, receive, headers)
        return None

    def _own_address(self, headers: Headers) -> str:
        """The authority that the client asked for, if it is one of this server's."""
        hosts = headers.getlist("host")
        match = _AUTHORITY.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
        name = bare_host(match["name"]) if match else ""
        port = int((match["port"] or "80") if match else 0)
        if not name or port != self._port or not (self._any_host or name in self._hosts):
            raise Refused(403, "Unknown Host header. Use the address that `clew web` printed.\n")
        return hosts[0].lower()

    def _check_origin(self, headers: Headers, own: str) -> None:
        """Whoever sends an Origin must be this very site; browsers also say it in words."""
        if any(origin.lower() != f"http://{own}" for origin in headers.getlist("origin")):
            raise Refused(403, "This Origin may not use the board.\n")
        sites = headers.getlist("sec-fetch-site")
        is_page = headers.get("sec-fetch-mode") == "navigate"
        if any(site not in ("same-origin", "none") for site in sites) and not is_page:
            raise Refused(403, "Another site may not use the board.\n")

    def _entry(self, scope: Scope) -> Response | None:
        """The first visit: the token of the address becomes a cookie, and the address loses it."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in pairs if name == TOKEN_FIELD]
        if not given:
            return None
        if not hmac.compare_digest(given[0].encode(), self._keys.token.encode()):
            raise self._stranger(scope)
        rest = urlencode([(name, value) for name, value in pairs if name != TOKEN_FIELD])
        # One slash: a path that begins with two would lead to another host.
        path = "/" + scope["path"].lstrip("/\\")
        response = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(
            self._cookie, self._keys.session, httponly=True, samesite="strict", path="/"
        )
        return response

    def _stranger(self, scope: Scope) -> Refused:
        client = scope.get("client")
        if self._strangers.is_tired_of(client[0] if client else ""):
            return Refused(429, f"{TOO_MANY}\n", {"Connection": "close", "Retry-After": "1"})
        return Refused(401, _STRANGER)

    def _is_known(self, headers: Headers) -> bool:
        cookie = SimpleCookie()
        try:
            cookie.load(headers.get("cookie", ""))
        except CookieError:
            return False
        given = cookie[self._cookie].value if self._cookie in cookie else ""
        return hmac.compare_digest(given.encode(), self._keys.session.encode())

    async def _check_change(self, scope: Scope, receive: Receive, headers: Headers) -> None:
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
        if not hmac.compare_digest(given.encode(), self._keys.csrf.encode()):
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
