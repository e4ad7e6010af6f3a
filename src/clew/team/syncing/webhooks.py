"""What forges say when somebody pushed: checked, and turned into syncs that wait in the queue."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clew.history.sync.clones import shown_url
from clew.kit.errors import ClewError, Invalid

_LARGEST = 5 * 1024 * 1024
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


def hook_server(
    host: str, port: int, secret: str, pushed: Callable[[frozenset[str]], int]
) -> ThreadingHTTPServer:
    """A server for webhooks; `pushed` gets the addresses, and says how many repositories that were."""

    class Hooks(BaseHTTPRequestHandler):
        timeout = 30

        def do_POST(self) -> None:
            said = self.headers.get("Content-Length", "")
            length = int(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0
            if not 0 < length <= _LARGEST:
                self._say(413, {"error": "the message is empty or too large"})
                return
            try:
                found = pushed_addresses(dict(self.headers), self.rfile.read(length), secret)
                self._say(202, {"repositories": pushed(found)})
            except Forged as error:
                self._say(401, {"error": error.message})
            except Invalid as error:
                self._say(400, {"error": error.message})
            except ClewError as error:
                self._say(503, {"error": error.message})

        def _say(self, status: int, data: dict[str, object]) -> None:
            body = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """What was said is in the forge's own list of deliveries."""

    return ThreadingHTTPServer((host, port), Hooks)
