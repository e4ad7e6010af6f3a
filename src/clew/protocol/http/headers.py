"""Whether the headers of a modern request say what its body says."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING

from clew.protocol.errors import RpcError, invalid_params
from clew.protocol.versions import (
    HEADER_MISMATCH,
    LEGACY_VERSIONS,
    META_CAPABILITIES,
    META_VERSION,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.kit.jsontext import JsonObject

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
