"""What forges say when somebody pushed: checked, and turned into syncs that wait in the queue."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable, Mapping
from socket import socket
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from clew.history.sync.clones import shown_url
from clew.kit.errors import ClewError, Invalid
from clew.protocol.http.guard import Strangers
from clew.protocol.http.server import Server, door, url_of

_LARGEST = 5 * 1024 * 1024
_SECONDS = 30
_GRACE_SECONDS = 3
_MOST_READ = 32  # messages of one address at once
_FIRST_REFUSAL = 400
_URL_KEYS = ("clone_url", "ssh_url", "git_url", "html_url", "git_http_url", "git_ssh_url")


class Forged(Invalid):
    """A message that is not from whom it says."""


def pushed_addresses(headers: Mapping[str, str], body: bytes, secret: str) -> frozenset[str]:
    """Every address of the repository that a message is about; Forged unless it knows the secret.

    GitHub and Gitea sign the body with the secret; GitLab sends the secret itself.
    """
    given = {name.lower(): value for name, value in headers.items()}
    signed = given.get("x-hub-signature-256", "").removeprefix("sha256=")
    signed = signed or given.get("x-gitea-signature", "") or given.get("x-forgejo-signature", "")
    token = given.get("x-gitlab-token", "")
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    is_signed = bool(signed) and hmac.compare_digest(signed.encode(), expected.encode())
    is_known = bool(token) and hmac.compare_digest(token.encode(), secret.encode())
    if not secret or not (is_signed or is_known):
        raise Forged("The message does not know the secret", "Set the same secret in the forge.")
    return _addresses(body)


def _addresses(body: bytes) -> frozenset[str]:
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise Invalid("The message is no JSON", "Choose application/json in the forge.") from None
    parts = [said.get(key) for key in ("repository", "project")] if isinstance(said, dict) else []
    found = {
        part[key]
        for part in parts
        if isinstance(part, dict)
        for key in _URL_KEYS
        if isinstance(part.get(key), str)
    }
    return frozenset(comparable(url) for url in found)


def comparable(url: str) -> str:
    """An address as two spellings of it are the same: without login, `.git` and a slash."""
    return shown_url(url).rstrip("/").removesuffix(".git").lower()


def names_of(addresses: frozenset[str], known: Mapping[str, str | None]) -> list[str]:
    """Which repositories have one of these addresses."""
    return [name for name, url in known.items() if url and comparable(url) in addresses]


def hook_app(secret: str, pushed: Callable[[frozenset[str]], int]) -> ASGIApp:
    """Takes webhooks; `pushed` gets the addresses, and says how many repositories that were."""
    strangers = Strangers()
    reading = Counter[str]()

    async def taken(request: Request, address: str) -> Response:
        if request.method != "POST":
            return _refusal(405, "webhooks are sent by POST")
        if reading[address] >= _MOST_READ:
            return _refusal(429, "too many messages at once")
        reading[address] += 1
        try:
            body = await _body(request)
            if isinstance(body, Response):
                return body
            return await asyncio.to_thread(_judged, secret, pushed, request.headers, body)
        finally:
            reading[address] -= 1

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        address = request.client.host if request.client else ""
        answer = await taken(request, address)
        if answer.status_code >= _FIRST_REFUSAL and strangers.is_tired_of(address):
            answer = _refusal(429, "too many messages that are refused")
        await answer(scope, receive, send)

    return app


def _judged(
    secret: str,
    pushed: Callable[[frozenset[str]], int],
    headers: Mapping[str, str],
    body: bytes,
) -> Response:
    try:
        found = pushed_addresses(headers, body, secret)
        return JSONResponse({"repositories": pushed(found)}, 202)
    except Forged as error:
        return _refusal(401, error.message)
    except Invalid as error:
        return _refusal(400, error.message)
    except ClewError as error:
        return _refusal(503, error.message)


async def _body(request: Request) -> bytes | Response:
    """The message, or the refusal of one that is too large or too slow."""
    got = bytearray()
    try:
        async with asyncio.timeout(_SECONDS):
            async for part in request.stream():
                got += part
                if len(got) > _LARGEST:
                    break
    except TimeoutError:
        return _refusal(408, "the message took too long")
    except ClientDisconnect:
        return _refusal(400, "the message was cut off")
    if not 0 < len(got) <= _LARGEST:
        return _refusal(413, "the message is empty or too large")
    return bytes(got)


def _refusal(status: int, reason: str) -> Response:
    headers = {"Connection": "close"} if status in (408, 413, 429) else {}
    return JSONResponse({"error": reason}, status, headers)


def serve_hooks(listener: socket, host: str, app: ASGIApp) -> int:
    """Serve webhooks until told to stop, with the limits that every server of ours has."""
    config = door(app, _GRACE_SECONDS)
    return Server(config, url_of(host, listener, "/"), "taking webhooks").run_on(listener)
