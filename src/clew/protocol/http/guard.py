"""Who may speak to the server: bearer token, Host and Origin, size and type of the body."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARD = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, never a default
LARGEST_BODY = 16 * 1024 * 1024


class Guard:
    """The checks that come before any message is read."""

    def __init__(self, host: str, token: str | None) -> None:
        self._token = token
        self._any_host = host in WILDCARD
        self._hosts = {*LOOPBACK, host.lower()}

    def refuse(self, request: Request) -> Response | None:
        """The refusal, or None when the request may go on."""
        if not self._knows_host(request.headers.get("host", "")):
            return refusal(403, "Unknown Host header. Use the address the server prints.")
        origin = request.headers.get("origin")
        if origin is not None and not self._knows_origin(origin, request):
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
        response = refusal(401, "Send the server's token: Authorization: Bearer <token>.")
        response.headers["WWW-Authenticate"] = 'Bearer realm="clew"'
        return response

    def _knows_host(self, value: str) -> bool:
        return self._any_host or _host_name(f"//{value}") in self._hosts

    def _knows_origin(self, origin: str, request: Request) -> bool:
        name = _host_name(origin)
        if self._any_host:
            return name == _host_name(f"//{request.headers.get('host', '')}")
        return name in self._hosts


def _host_name(value: str) -> str:
    try:
        return (urlsplit(value).hostname or "").lower()
    except ValueError:
        return ""


def refusal(status: int, message: str, code: int = -32600) -> JSONResponse:
    """An HTTP error whose body is a JSON-RPC error without an id."""
    error = {"code": code, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=status)


async def read_body(request: Request) -> bytes | None:
    """The body, or None when it is larger than allowed; never more than that is kept."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > LARGEST_BODY:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            return None
    return bytes(body)
