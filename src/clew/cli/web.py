"""`clew web` and `clew board`: the board in a browser, and in the terminal."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.core.app import command
from clew.cli.core.options import database_option, flag, option, project_option
from clew.cli.core.streams import say
from clew.kit.errors import Unavailable, UsageError
from clew.kit.outcome import Drawn, Outcome
from clew.kit.text.display import terminal_text
from clew.kit.times import parse_iso

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from rich.table import Table as RichTable
    from rich.text import Text

    from clew.team.operations.board import TeamBoard
    from clew.web.app import SignInSettings
    from clew.web.site import Site
    from clew.web.views.cards import Board, Card, Column

_PORT = "8766"
_PLAIN = "clew: this is plain HTTP: whoever can listen in on the network sees the token."
_WATCH_SECONDS = 1.0
_WIDE = 100  # letters that columns side by side need
_TONES = {
    "ready": "green", "blocked": "magenta", "in_progress": "blue", "attention": "yellow",
    "completed": "bright_black",
}  # fmt: skip


@command()
@option("--host", "Address to listen on.", default="127.0.0.1")
@option("--port", "Port; 0 picks a free one.", default=_PORT)
@flag("--read-only", "Allow no changes.")
@flag("--open", "opens", "Open the board in your browser.")
@option("--export", "Write the pages as files instead of serving them.", metavar="DIRECTORY")
@option("--client", "Of a team: let people sign in; the provider knows this client.", metavar="ID")
@option(
    "--client-secret-file",
    "secret_file",
    "File with the secret of that client, if it has one.",
    metavar="FILE",
)
@option("--url", "With --client: address under which people reach the board.", metavar="URL")
@database_option
@project_option
def web(
    *,
    host: str,
    port: str,
    read_only: bool,
    opens: bool,
    export: str | None,
    db: str | None,
    project: str | None,
    **team_options: str | None,
) -> Outcome:
    """Serve the board: specs, runs, history and the thread, in your browser.

    The printed address contains a token, which becomes a cookie; nobody else gets in. With --client,
    people of a team sign in instead, and see what their groups may.
    """
    _require_web()
    from clew.kit.project import find_project
    from clew.program import offer_engines
    from clew.web.site import Site

    root = find_project(project)
    settings = {"project": str(root), **({"db": db} if db else {})}
    offer_engines()
    if export is not None:
        return _export(Site(root, settings=settings, read_only=True, is_export=True), export)
    from clew.protocol.http.token import open_listener
    from clew.web.app import serve

    signs_in = _sign_in_settings(**team_options)
    team = _team_board(settings, root, host, signs_in)
    listener = open_listener(host, port)
    site = Site(root, settings=settings, read_only=read_only, team=team)
    if opens:
        _open_soon(host, listener, site.keys.token)
    try:
        return Outcome({}, exit_code=serve(site, listener, host=host, signs_in=signs_in))
    finally:
        if team is not None:
            team.close()


def _sign_in_settings(
    client: str | None, secret_file: str | None, url: str | None
) -> SignInSettings | None:
    if client is None:
        if secret_file or url:
            raise UsageError("--url and --client-secret-file need --client")
        return None
    from urllib.parse import urlsplit

    from clew.team.identity.access_tokens import check_url
    from clew.team.syncing.sources import text_in
    from clew.web.app import SignInSettings

    secret = text_in(Path(secret_file)).strip() if secret_file else ""
    parts = urlsplit(check_url(url) if url else "")
    if parts.path.strip("/"):
        raise UsageError("--url has no path: the board is at the root of its address")
    return SignInSettings(client, secret, f"{parts.scheme}://{parts.netloc}" if url else "")


def _team_board(
    settings: dict[str, str], root: Path, host: str, signs_in: SignInSettings | None
) -> TeamBoard | None:
    """What a board on a team's database has besides; None on a file."""
    from clew.history.store.engines import index_address, is_remote
    from clew.protocol.http.guard import LOOPBACK, bare_host

    address = index_address(settings)
    is_open = bare_host(host) not in LOOPBACK
    if not is_remote(address):
        if is_open:
            say(_PLAIN)
        return None
    from clew.team.operations.board import TeamBoard

    team = TeamBoard(address, root)
    if is_open and signs_in is None:
        if team.sign_in() is not None:
            raise UsageError(
                "People sign in to this team, so a board for others needs --client",
                "A board with a token shows everything; it may listen on 127.0.0.1.",
            )
        say(_PLAIN)
    return team


@command(name="build")
@option("-o", "--output", "Directory.", metavar="DIRECTORY", default="public")
@project_option
def build_site(output: str, project: str | None) -> Outcome:
    """Write the board into a directory, as `clew web --export` does."""
    _require_web()
    from clew.kit.project import find_project
    from clew.web.site import Site

    root = find_project(project)
    settings = {"project": str(root)}
    return _export(Site(root, settings=settings, read_only=True, is_export=True), output)


def _export(site: Site, directory: str) -> Outcome:
    from clew.web.export import export_site

    if not directory:
        raise UsageError("--export needs a directory")
    place = Path(directory).absolute()
    pages = export_site(site, place)
    text = f"Wrote {pages} pages to {place}. Open {place / 'index.html'}."
    return Outcome({"directory": str(place), "pages": pages}, (text,))


def _open_soon(host: str, listener: socket, token: str) -> None:
    import threading
    import webbrowser

    from clew.protocol.http.guard import WILDCARD, bare_host
    from clew.protocol.http.server import url_of

    name = "127.0.0.1" if bare_host(host) in WILDCARD else bare_host(host)
    address = url_of(name, listener, f"/?token={token}")
    threading.Timer(0.5, webbrowser.open, [address]).start()


def _require_web() -> None:
    from importlib.util import find_spec

    missing = [
        name
        for name in ("starlette", "uvicorn", "jinja2", "markdown_it", "nh3", "pygal")
        if find_spec(name) is None
    ]
    if missing:
        raise Unavailable(
            "The board needs the web extra, which is not installed",
            "Install it: pipx install 'clew[web]'. `clew board` draws it in the terminal.",
        )


@command()
@click.argument("query", nargs=-1)
@flag("--watch", "Redraw whenever something changes.")
@option("--limit", "Maximum number of cards per column.", type=click.IntRange(1), default=12)
@project_option
def board(query: tuple[str, ...], *, watch: bool, limit: int, project: str | None) -> Outcome:
    """Draw the board in the terminal. QUERY narrows it: label:auth "exact phrase"."""
    from clew.cli.core.terminal import is_terminal
    from clew.kit.paths import ProjectPaths
    from clew.specs.store.store import open_store
    from clew.web.views.cards import Filter, read_board
    from clew.work.runs.repair_on_call import repair_project

    store = open_store(project=project)
    paths = ProjectPaths(store.project)
    repair_project(store.project)
    wanted = Filter(query=" ".join(query), usual=limit)
    if watch:
        if not is_terminal(sys.stdout):
            raise UsageError("--watch needs a terminal", "Without it the board is printed once.")
        _watch(lambda: read_board(store, paths, wanted))
    found = read_board(store, paths, wanted)
    text = _board_text(found) if is_terminal(sys.stdout) else _plain(found)
    return Outcome(_data(found), (text,))


def _data(board: Board) -> dict[str, object]:
    columns = [
        {
            "name": column.name,
            "title": column.title,
            "total": column.total,
            "cards": [card.as_json() for card in column.cards],
        }
        for column in board.columns
    ]
    return {"columns": columns, "problems": list(board.problems)}


def _plain(board: Board) -> str:
    """The board for a pipe: one line for each card, below the name of its column."""
    lines: list[str] = []
    for column in board.columns:
        lines.append(f"{column.title} ({column.total})")
        lines += [f"  {card.id}  {' '.join((card.title, *_notes(card)))}" for card in column.cards]
        if column.left:
            lines.append(f"  ... {column.left} more")
    return "\n".join([*lines, *(f"warning: {problem}" for problem in board.problems)])


def _notes(card: Card) -> list[str]:
    """What a card says beside its title, each in brackets."""
    found = []
    if card.criteria[1]:
        found.append(f"{card.criteria[0]}/{card.criteria[1]}")
    if card.blocked_by:
        found.append("waits for " + ", ".join(_blocker(by) for by in card.blocked_by))
    if card.since:
        found.append(f"{card.agent} {card.phase}")
    found += card.labels
    return [f"[{note}]" for note in found]


def _blocker(by: dict[str, str]) -> str:
    return "approval" if by["reason"] == "approval" else by["id"]


def _board_text(board: Board) -> str:
    """The board as a terminal shows it."""
    import os

    from rich.console import Console

    console = Console(color_system=None if os.environ.get("NO_COLOR") else "auto")
    with console.capture() as captured:
        console.print(_picture(board, console.width))
    return Drawn(captured.get().rstrip("\n"))


def _picture(board: Board, width: int) -> RichTable:
    """Columns side by side where there is room for them, else below each other."""
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = [column for column in board.columns if column.total or width >= _WIDE]
    is_wide = width >= _WIDE
    grid = RichTable.grid(expand=True, padding=(0, 2 if is_wide else 0))
    for _ in shown if is_wide else (1,):
        grid.add_column(ratio=1)
    cells = [_column_text(column) for column in shown]
    if is_wide:
        grid.add_row(*cells)
    else:
        for cell in cells:
            grid.add_row(cell)
    for problem in board.problems:
        grid.add_row(Text(terminal_text(f"warning: {problem}")))
    return grid


def _column_text(column: Column) -> Text:
    from rich.text import Text

    tone = _TONES[column.name]
    text = Text(f"{column.title} {column.total}\n", style=f"bold {tone}")

    def add(words: str, style: str) -> None:
        text.append(terminal_text(words), style=style)

    for card in column.cards:
        add(f"\n{card.id}", "dim")
        add(f"\n{card.title}\n", "not bold default")
        if card.blocked_by:
            waits = ", ".join(_blocker(by) for by in card.blocked_by)
            add(f"waits for {waits}\n", "not bold magenta")
        if card.since:
            add(f"{card.agent} {card.phase} {_elapsed(card.since)}\n", "not bold blue")
        if card.log_line:
            add(f"{card.log_line[:80]}\n", "dim")
        if card.criteria[1]:
            add(f"{card.criteria[0]}/{card.criteria[1]} criteria\n", "dim")
    if column.left:
        add(f"\n{column.left} more\n", "dim")
    return text


def _elapsed(since: str) -> str:
    seconds = int(time.time() - parse_iso(since).timestamp())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _watch(read: Callable[[], Board]) -> None:
    """Draw it until somebody stops it."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    with Live(console=console, screen=True, auto_refresh=False) as screen:
        while True:
            screen.update(_picture(read(), console.width), refresh=True)
            time.sleep(_WATCH_SECONDS)
