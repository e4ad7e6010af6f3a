"""Who may speak to the server: bearer token, Host and Origin, size and type of the body."""

from __future__ import annotations

import asyncio
import hmac
import re
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from clew.protocol.http.answers import refusal

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARD = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, never a default
LARGEST_BODY = 16 * 1024 * 1024
BODY_SECONDS = 30.0
_AUTHORITY = r"(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
_HOST = re.compile(_AUTHORITY)
_ORIGIN = re.compile("https?://" + _AUTHORITY)


class Guard:
    """The checks that come before any message is read."""

    def __init__(self, host: str, token: str | None) -> None:
        self._token = token
        self._any_host = host in WILDCARD
        self._hosts = {*LOOPBACK, _canonical(host.lower())}

    def refuse(self, request: Request) -> Response | None:
        """The refusal, or None when the request may go on."""
        host = _name(_HOST, request.headers.get("host", ""))
        if not host or not (self._any_host or host in self._hosts):
            return refusal(403, "Unknown Host header. Use the address the server prints.")
        allowed = {host} if self._any_host else self._hosts
        if any(_name(_ORIGIN, origin) not in allowed for origin in _origins(request)):
            return refusal(403, "This Origin may not call the server.")
        return None

    def refuse_stranger(self, request: Request) -> Response | None:
        """The refusal of a caller without the token."""
        if self._token is None:
            return None
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode(), self._token.encode())
        if scheme.lower() == "bearer" and known:
            return None
        reason = "Send the server's token: Authorization: Bearer <token>."
        return refusal(401, reason, headers={"WWW-Authenticate": 'Bearer realm="clew"'})


def bare_host(host: str) -> str:
    """The address without the brackets that URLs put around IPv6."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _origins(request: Request) -> list[str]:
    return request.headers.getlist("origin")


def _name(form: re.Pattern[str], value: str) -> str:
    """The host's name in a header of exactly this form, else nothing. No trailing dots."""
    match = form.fullmatch(value.lower())
    if match is None or int(match["port"] or 0) > 65535:
        return ""
    return _canonical(bare_host(match["name"]))


def _canonical(name: str) -> str:
    """One spelling of each IPv6 address; other names as they are."""
    try:
        return IPv6Address(name).compressed if ":" in name else name
    except ValueError:
        return ""


def is_json(request: Request) -> bool:
    """Whether the body is declared as JSON; a request without a content type is accepted."""
    kind = request.headers.get("content-type", "application/json")
    return kind.partition(";")[0].strip().lower() == "application/json"


async def read_body(request: Request) -> bytes | Response:
    """The body, or the refusal of one that is too large or too slow; never more is kept."""
    too_large = refusal(413, f"The body is larger than {LARGEST_BODY} bytes.")
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > LARGEST_BODY:
        return too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST_BODY:
                    return too_large
    except TimeoutError:
        reason = f"The body did not come within {BODY_SECONDS:g} seconds."
        return refusal(408, reason, headers={"Connection": "close"})
    return bytes(body)
