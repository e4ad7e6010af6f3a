"""Putting a server together: a face's tools, the kernel, and a transport."""

from __future__ import annotations

import sys

from clew.kit.errors import ClewError, Unavailable, UsageError
from clew.program import build_service
from clew.protocol.kernel.kernel import Kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.catalog.faces import Face
    from clew.catalog.helpers import Helpers
    from clew.catalog.service import Around
    from clew.protocol.http.sessions import SessionBook
    from clew.protocol.kernel.tasks import TaskDesk
    from clew.team.operations.server import TeamServer


MOST_WORKERS = 64


def build_kernel(
    face: Face,
    options: Mapping[str, str],
    helpers: Helpers | None = None,
    around_call: Around | None = None,
    *,
    tools_only: bool = False,
) -> Kernel:
    """The kernel that serves what these options select."""
    service = build_service(face, options, helpers, around_call, tools_only=tools_only)
    shared = options.get("database")
    return Kernel(
        service,
        secret=lambda: _secret(shared),
        tasks=(lambda kernel: _open_tasks(kernel, shared)) if service.has_slow_tools else None,
    )


def serve_stdio(face: Face, options: Mapping[str, str]) -> int:
    """Serve standard input and output; the exit code."""
    try:
        kernel = build_kernel(face, options)
    except ClewError as error:
        from clew.kit.text.display import terminal_text

        print(f"{face.name}: {terminal_text(error.full_text())}", file=sys.stderr)
        return error.exit_code
    from clew.protocol.stdio.server import serve

    return serve(kernel)


def _secret(shared: str | None) -> bytes:
    if shared:
        from clew.team.servers.shared_secret import shared_secret

        return shared_secret(shared, "state")
    from clew.kit.project import load_secret

    return load_secret("state")


def _open_tasks(kernel: Kernel, shared: str | None) -> TaskDesk:
    import sqlite3

    from clew.kit.project import clew_home
    from clew.protocol.kernel.task_store import SqliteTasks
    from clew.protocol.kernel.tasks import TaskDesk

    if shared:
        from clew.team.servers.tasks import PostgresTasks

        return TaskDesk(kernel, PostgresTasks(shared))
    directory = clew_home() / "tasks"
    try:
        return TaskDesk(kernel, SqliteTasks(directory))
    except (OSError, sqlite3.Error) as error:
        raise Unavailable(
            f"Tasks cannot be kept in {directory}: {error}",
            "Make the directory usable, or move it away to start anew.",
        ) from error


def serve_http(face: Face, options: Mapping[str, str]) -> int:
    """Serve HTTP; the exit code."""
    try:
        from clew.protocol.http.server import run
    except ImportError as error:
        raise Unavailable(
            "HTTP needs the web extra, which is not installed",
            "Install it: pipx install 'clew[web]', or uvx --with 'clew[web]' clew serve --http.",
        ) from error
    helpers = _open_helpers(face, options)
    team = _open_team(face, options)
    gate = team.gate if team is not None else None
    kernel = build_kernel(
        face,
        options,
        helpers,
        team.around_call if team is not None else None,
        tools_only=gate is not None,  # what else there is belongs to the server's machine
    )
    from clew.protocol.http.notes import set_format
    from clew.protocol.http.token import load_token, open_listener

    set_format(options.get("log_format", "text"))
    host = options.get("host", "127.0.0.1")
    listener = open_listener(host, options.get("port", "8765"))
    token = None if gate is not None else load_token(host, options)
    book = _open_book(options.get("database"))
    try:
        return run(kernel, listener, host=host, token=token, gate=gate, book=book, watch=team)
    finally:
        if book is not None:
            book.close()
        if team is not None:
            team.close()
        if helpers is not None:
            helpers.end()


def _open_team(face: Face, options: Mapping[str, str]) -> TeamServer | None:
    """What a server on a team's database has besides; None on a file."""
    if not options.get("database"):
        if "metrics_port" in options:
            raise UsageError("--metrics-port needs --database", "Name a team's database.")
        return None
    from clew.program import offered_tools
    from clew.team.operations.server import TeamServer

    return TeamServer(options, offered_tools(face, options))


def _open_book(shared: str | None) -> SessionBook | None:
    """Where servers of one database know sessions together; none for a server alone."""
    if not shared:
        return None
    from clew.team.servers.sessions import PostgresSessions

    return PostgresSessions(shared)


def _open_helpers(face: Face, options: Mapping[str, str]) -> Helpers | None:
    """The processes for calls that only read; none where one process is enough."""
    import os

    given = options.get("workers") or str(os.cpu_count() or 1)
    if not (given.isdecimal() and 1 <= int(given) <= MOST_WORKERS):
        raise UsageError(f"--workers must be from 1 to {MOST_WORKERS}: {given}")
    if given == "1":
        return None
    from clew.catalog.helpers import Helpers, helper_command

    return Helpers(helper_command(face, dict(options)), int(given))
