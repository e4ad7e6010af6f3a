"""The pages as files: a site that any web server, or none at all, can show.

The pages are asked of the application itself. Links among them are rewritten to relative files;
links to pages that are not part of it (searches, forms) lose their address.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from clew.kit.errors import Conflict
from clew.kit.files import write_atomic
from clew.web.app import build_app
from clew.web.site import PAGES

if TYPE_CHECKING:
    from typing import Any

    from starlette.types import Message

    from clew.web.site import Site

MOST_PAGES = 20_000
_LINK = re.compile(r'(<(?:a|link|img|form)\b[^>]*?\s(?:href|src|action)=")(/[^"]*)(")')
_FOLLOWED = ("/specs/", "/documents", "/commands", "/pulse", "/thread", "/commits/", "/file")
_LEFT_OUT = re.compile(r"/specs/[^/]+/(?:edit|live)|/commits/[^/]+$")
_MARK = ".clew-export"


def export_site(site: Site, directory: Path) -> int:
    """Write every page that can be reached from the board; how many there are."""
    if directory.is_dir() and any(directory.iterdir()) and not (directory / _MARK).exists():
        raise Conflict(
            f"{directory} is not empty, and was not written by an export",
            "Name a new directory, or one of an earlier export.",
        )
    directory.mkdir(parents=True, exist_ok=True)
    write_atomic(directory / _MARK, "Written by `clew web --export`.\n")
    pages = asyncio.run(_crawl(site))
    names = {address: file_name(address) for address in pages}
    for address, html in pages.items():
        write_atomic(directory / names[address], with_relative_links(html, names[address], names))
    for entry in files("clew.web").joinpath("static").iterdir():
        if entry.name.endswith((".css", ".svg")):
            write_atomic(directory / "static" / entry.name, entry.read_bytes())
    return len(pages)


def file_name(address: str) -> str:
    """The file of a page: readable where it can be, and never the same for two pages."""
    parts = urlsplit(address)
    if parts.path == "/" and not parts.query:
        return "index.html"
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", unquote(parts.path)).strip("-.")[:80] or "page"
    if parts.query or words != unquote(parts.path).strip("/").replace("/", "-"):
        words += "-" + hashlib.sha256(address.encode()).hexdigest()[:10]
    return f"pages/{words}.html"


def with_relative_links(html: str, here: str, names: dict[str, str]) -> str:
    """The page with links that work from its file."""

    def link(match: re.Match[str]) -> str:
        address, hash_, part = unescape(match[2]).partition("#")
        parts = urlsplit(address)
        if parts.path.startswith("/static/"):
            return f"{match[1]}{_relative(here, parts.path.lstrip('/'))}{match[3]}"
        if address in names:
            return f"{match[1]}{_relative(here, names[address])}{hash_}{part}{match[3]}"
        return re.sub(r'\s(?:href|src|action)="$', ' data-not-exported="', match[1]) + match[3]

    return _LINK.sub(link, html)


def _relative(here: str, there: str) -> str:
    return os.path.relpath(there, Path(here).parent.as_posix() or ".")


async def _crawl(site: Site) -> dict[str, str]:
    app = build_app(site)
    found: dict[str, str] = {}
    waiting = ["/", *(address for _, address, _ in PAGES[1:] if address != "/history")]
    seen = set(waiting)
    while waiting and len(found) < MOST_PAGES:
        address = waiting.pop(0)
        html = await _page_at(app, address)
        if html is None:
            continue
        found[address] = html
        for match in _LINK.finditer(html):
            target = unescape(match[2]).partition("#")[0]
            if target not in seen and _is_page(target):
                seen.add(target)
                waiting.append(target)
    return found


def _is_page(address: str) -> bool:
    path = urlsplit(address).path
    return path.startswith(_FOLLOWED) and not _LEFT_OUT.search(path)


async def _page_at(app: object, address: str) -> str | None:
    """What the application answers; None for anything but a page."""
    parts = urlsplit(address)
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(b"host", b"export")],
        "client": None,
        "server": ("export", 80),
        "state": {"form": {}},
    }
    messages: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)  # type: ignore[operator]
    if messages[0]["status"] != 200:
        return None
    body = b"".join(m.get("body", b"") for m in messages if m["type"] == "http.response.body")
    return body.decode("utf-8")
