"""Which tools a server offers."""

from __future__ import annotations

from clew.catalog.faces import ROOMS
from clew.kit.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clew.catalog.faces import Face
    from clew.catalog.model import Tool


_NAMING = ("toolsets", "tools", "exclude_tools")


def offered_name(tool: Tool, face: Face) -> str:
    """The tool's name on this face: the face's own tools are plain, guests may carry a prefix."""
    return tool.name if tool.face == face.name else tool.prefixed_name


def toolsets_in_question(face: Face, options: Mapping[str, str]) -> tuple[str, ...]:
    """The toolsets that `select_tools` may take something from; all, where tools are named."""
    if face.name == "clew" or any(options.get(name) for name in _NAMING):
        return ROOMS
    return (*face.rooms, "guide") if "extended" in options else face.rooms


def select_tools(
    face: Face, options: Mapping[str, str], tools: tuple[Tool, ...]
) -> dict[str, Tool]:
    """What a server offers, by name, in the catalogue's order.

    A face offers exactly its own tools, `--extended` adds the other tools of its rooms; the
    whole program offers a small core unless `--toolsets` or `--tools` say more. Exclusions
    come after that, and `--read-only` always wins.
    """
    wanted_sets = _words(options.get("toolsets", ""))
    wanted_tools = _words(options.get("tools", ""))
    excluded = _words(options.get("exclude_tools", ""))
    _check_toolsets(wanted_sets)
    _check_names([*wanted_tools, *excluded], [offered_name(tool, face) for tool in tools])
    chosen: dict[str, Tool] = {}
    for tool in tools:
        name = offered_name(tool, face)
        if wanted_sets or wanted_tools:
            taken = name in wanted_tools or tool.toolset in wanted_sets or "all" in wanted_sets
        else:
            taken = _by_default(tool, face, extended="extended" in options)
        if taken and name not in excluded and (tool.read_only or "read_only" not in options):
            chosen[name] = tool
    return chosen


def _by_default(tool: Tool, face: Face, *, extended: bool) -> bool:
    if face.name == "clew":
        return tool.core or extended
    own = tool.face == face.name and tool.original
    return own or (extended and (tool.toolset in face.rooms or tool.toolset == "guide"))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _check_toolsets(names: list[str]) -> None:
    for name in names:
        if name not in (*ROOMS, "all"):
            raise UsageError(f"Unknown toolset: {name}", f"Toolsets: {', '.join(ROOMS)}, all.")


def _check_names(names: Iterable[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"Unknown tool: {name}", "`clew tools --all` lists every tool.")
