"""Who may speak to the server: token, Host and Origin, the body, and headers that match it."""

from __future__ import annotations

import asyncio
import binascii
import hmac
import re
import time
from base64 import b64decode
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from clew.protocol.errors import RpcError, invalid_params
from clew.protocol.http.answers import refusal
from clew.protocol.http.callers import STRANGER, Caller, Gate, Refused
from clew.protocol.kernel.exchange import usable_id
from clew.protocol.versions import (
    HEADER_MISMATCH,
    LEGACY_VERSIONS,
    META_CAPABILITIES,
    META_VERSION,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.kit.jsontext import JsonObject


LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARD = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, never a default
LARGEST_BODY = 16 * 1024 * 1024
BODY_SECONDS = 30.0
TOO_MANY = "Too many requests without the token."
_MOST_STRANGERS = 1000
_AUTHORITY = r"(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
_HOST = re.compile(_AUTHORITY)
_ORIGIN = re.compile("https?://" + _AUTHORITY)


class Guard:
    """The checks that come before any message is read."""

    def __init__(self, host: str, token: str | None, port: int, gate: Gate | None = None) -> None:
        self._token = token
        self._gate = gate
        self._port = port
        self._strangers = Strangers()
        self._any_host = host in WILDCARD
        self._hosts = {*LOOPBACK, _canonical(host.lower()), *([gate.host] if gate else [])}

    def refuse(self, request: Request) -> Response | None:
        """The refusal, or None when the request may go on."""
        host = _name(_HOST, request.headers.get("host", ""))
        if not host or not (self._any_host or host in self._hosts):
            return refusal(403, "Unknown Host header. Use the address the server prints.")
        allowed = {host} if self._any_host else self._hosts
        for origin in _origins(request):
            if _name(_ORIGIN, origin) not in allowed or not self._is_own_port(origin):
                return refusal(403, "This Origin may not call the server.")
        return None

    def _is_own_port(self, origin: str) -> bool:
        """Whether a page is from this very server; with a token, that alone says who may call."""
        match = _ORIGIN.fullmatch(origin.lower())
        usual = "443" if origin.lower().startswith("https:") else "80"
        is_own = match is not None and int(match["port"] or usual) == self._port
        return is_own or self._token is not None or self._gate is not None

    async def admitted(self, request: Request) -> Caller | Response:
        """Whose request it is, or the refusal."""
        if self._gate is None:
            return self.refuse_stranger(request) or STRANGER
        given = request.headers.getlist("authorization")
        try:
            return await asyncio.to_thread(self._gate.admit, given[0] if len(given) == 1 else "")
        except Refused as refused:
            if refused.status == 401 and self._is_tired_of(request):
                return _too_many()
            return refusal(refused.status, refused.reason, headers=refused.headers)

    def refuse_deed(self, caller: Caller, message: object) -> Response | None:
        """The refusal of what this caller may not do; of a batch, all of it."""
        if self._gate is None:
            return None
        for part in message if isinstance(message, list) else [message]:
            if not (isinstance(part, dict) and isinstance(part.get("method"), str)):
                continue
            params = part.get("params")
            try:
                self._gate.allow(caller, part["method"], params if isinstance(params, dict) else {})
            except Refused as refused:
                return refusal(
                    refused.status,
                    refused.reason,
                    request_id=usable_id(part),
                    headers=refused.headers,
                )
        return None

    def _is_tired_of(self, request: Request) -> bool:
        return self._strangers.is_tired_of(request.client.host if request.client else "")

    def refuse_stranger(self, request: Request) -> Response | None:
        """The refusal of a caller without the token; where there is none, of a page's plain form."""
        if self._token is None:
            has_kind = "content-type" in request.headers and is_json(request)
            if request.method != "POST" or has_kind:
                return None
            return refusal(415, "Send application/json with a Content-Type header that says so.")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode(), self._token.encode())
        if scheme.lower() == "bearer" and known:
            return None
        if self._is_tired_of(request):
            return _too_many()
        reason = "Send the server's token: Authorization: Bearer <token>."
        return refusal(401, reason, headers={"WWW-Authenticate": 'Bearer realm="clew"'})


def _too_many() -> Response:
    return refusal(429, TOO_MANY, headers={"Connection": "close", "Retry-After": "1"})


class Strangers:
    """How often each address asked without a token lately; whoever has one is not counted."""

    def __init__(self, burst: int = 100, a_second: float = 20.0) -> None:
        self._burst, self._a_second = burst, a_second
        self._left: dict[str, tuple[float, float]] = {}

    def is_tired_of(self, address: str) -> bool:
        """Count one more request; whether that was too many."""
        now = time.monotonic()
        left, at = self._left.pop(address, (float(self._burst), now))
        left = min(float(self._burst), left + (now - at) * self._a_second) - 1.0
        if len(self._left) >= _MOST_STRANGERS:
            del self._left[next(iter(self._left))]
        self._left[address] = (max(left, -1.0), now)
        return left < 0


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


_NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_SENTINEL = ("=?base64?", "?=")


def is_modern(headers: Mapping[str, str], message: JsonObject) -> bool:
    """Whether a request speaks the modern era, by its header or its body."""
    version = headers.get("mcp-protocol-version", "").strip()
    if version:
        return version not in LEGACY_VERSIONS or META_VERSION in _meta(message)
    return META_VERSION in _meta(message)


def check_headers(headers: Mapping[str, str], message: JsonObject) -> None:
    """Raise when a modern request's headers and body disagree, or its metadata is missing."""
    version = headers.get("mcp-protocol-version", "").strip()
    if not version:
        raise _mismatch("MCP-Protocol-Version header is missing")
    meta = _meta(message)
    if not isinstance(meta.get(META_VERSION), str) or META_CAPABILITIES not in meta:
        raise invalid_params(
            f"Invalid params: _meta must have {META_VERSION} and {META_CAPABILITIES}"
        )
    _compare("MCP-Protocol-Version", version, meta[META_VERSION])
    method = message.get("method")
    _compare("Mcp-Method", headers.get("mcp-method"), method)
    if isinstance(method, str) and method in _NAMED_BY:
        params = message.get("params") or {}
        name = headers.get("mcp-name")
        _compare(
            "Mcp-Name", _decoded(name, "Mcp-Name") if name else name, params.get(_NAMED_BY[method])
        )


def check_parameter_headers(
    headers: Mapping[str, str], schema: JsonObject, arguments: JsonObject
) -> None:
    """Raise when a parameter that a tool mirrors into a header is missing there or differs."""
    for name, declared in schema.get("properties", {}).items():
        suffix = declared.get("x-mcp-header") if isinstance(declared, dict) else None
        if not isinstance(suffix, str) or arguments.get(name) is None:
            continue
        header = f"Mcp-Param-{suffix}"
        value = headers.get(header)
        _compare(header, _decoded(value, header) if value else value, _as_text(arguments[name]))


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _compare(header: str, value: str | None, body: object) -> None:
    if value is None:
        raise _mismatch(f"{header} header is missing")
    if isinstance(body, str) and value.strip() != body:
        raise _mismatch(
            f"{header} header value {value[:80]!r} does not match body value {body[:80]!r}"
        )


def _decoded(value: str, header: str) -> str:
    value = value.strip()
    if not (value.startswith(_SENTINEL[0]) and value.endswith(_SENTINEL[1])):
        return value
    inner = value[len(_SENTINEL[0]) : -len(_SENTINEL[1])]
    try:
        return b64decode(inner, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise _mismatch(f"{header} header is not valid Base64") from None


def _mismatch(reason: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"Header mismatch: {reason}")


def _meta(message: JsonObject) -> JsonObject:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}
