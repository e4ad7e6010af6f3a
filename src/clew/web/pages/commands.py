"""Commands: browse them, and see the prompt that one becomes before anybody gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.errors import ClewError, NotFound
from clew.web.site import page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.commands.model import Command
    from clew.web.site import Site

_VARIABLE = "uv-"


def browse(request: Request) -> Response:
    """All commands, or those that a query finds."""
    site = site_of(request)
    query = request.query_params.get("q", "").strip()
    known, error = _commands(site)
    groups: dict[str, list[Command]] = {}
    for command in known:
        groups.setdefault(command.c1, []).append(command)
    return page(
        request,
        "commands.html",
        here="commands",
        query=query,
        hits=_hits(site, query) if query else None,
        groups=groups,
        total=len(known),
        error=error,
    )


def show(request: Request) -> Response:
    """One command: what it takes, and its prompt with the given values."""
    from clew.commands.render.arguments import request_from_arguments
    from clew.commands.render.describe import describe

    site = site_of(request)
    address = tuple(request.path_params[name] for name in ("c1", "c2", "c3"))
    records = describe((address[0], address[1], address[2]), settings=_settings(site))
    if not records:
        raise NotFound(
            f"No such command: {' '.join(address)}", "The list of commands has them all."
        )
    given = dict(request.query_params.items())
    values = {k.removeprefix(_VARIABLE): v for k, v in given.items() if k.startswith(_VARIABLE)}
    arguments: dict[str, Any] = dict(zip(("c1", "c2", "c3"), address, strict=True))
    options = {
        name: [given[name]]
        for name in ("edition", "adaptation", "file", "destination")
        if given.get(name)
    }
    options |= {f"{_VARIABLE}{name}": [value] for name, value in values.items() if value.strip()}
    arguments["options"] = options
    if given.get("input", "").strip():
        arguments["stdin"] = given["input"]
    asked = request_from_arguments(arguments)
    asked.base = str(site.root)
    return page(
        request,
        "command.html",
        here="commands",
        address=address,
        record=records[0],
        given=given,
        values=values,
        **_prompt_values(asked, site),
    )


def _prompt_values(asked: Any, site: Site) -> dict[str, Any]:
    from clew.commands.render.execute import execute

    try:
        found = execute(asked, _settings(site))
    except ClewError as error:
        return {"prompt": "", "warnings": [], "error": error.full_text()}
    return {"prompt": found.prompt, "warnings": found.warnings, "error": ""}


def _commands(site: Site) -> tuple[list[Command], str]:
    from clew.commands.registry.registry import load_commands, unique

    try:
        return unique(load_commands(settings=_settings(site))), ""
    except ClewError as error:
        return [], error.full_text()


def _hits(site: Site, query: str) -> list[dict[str, Any]]:
    from clew.commands.search.search import search

    try:
        return search(query, settings=_settings(site))
    except ClewError:
        return []


def _settings(site: Site) -> dict[str, str]:
    return {**site.settings, "project": str(site.root)}
