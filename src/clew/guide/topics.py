"""The topics: Markdown files beside this module, completed from the catalogue."""

from __future__ import annotations

from pathlib import Path

from clew.guide.model import QUESTIONS, Room, RoomTool
from clew.kit.errors import NotFound
from clew.kit.text.display import clipped, shown_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.catalog.model import Tool

FIRST_TOPIC = "overview"
_DIRECTORY = Path(__file__).with_name("topics")


def topic_names() -> tuple[str, ...]:
    """Every topic, the overview first."""
    names = sorted(path.stem for path in _DIRECTORY.glob("*.md"))
    return (FIRST_TOPIC, *(name for name in names if name != FIRST_TOPIC))


def topic_text(name: str, tools: tuple[Tool, ...]) -> str:
    """The topic's Markdown, with what the catalogue knows filled in."""
    if name not in topic_names():
        raise _unknown_topic(name)
    text = (_DIRECTORY / f"{name}.md").read_text(encoding="utf-8").strip()
    for mark, fill in _FILLS.items():
        if mark in text:
            text = text.replace(mark, fill(tools))
    return text


def rooms(tools: tuple[Tool, ...]) -> tuple[Room, ...]:
    """Every room with its tools."""
    from clew.catalog.faces import FACES, ROOMS
    from clew.catalog.selection import offered_name

    return tuple(
        Room(
            room,
            tuple(
                _room_tool(offered_name(tool, FACES["clew"]), tool.description, core=tool.core)
                for tool in tools
                if tool.toolset == room
            ),
        )
        for room in ROOMS
    )


def _room_tool(name: str, description: str, *, core: bool) -> RoomTool:
    first_sentence = description.strip().split("\n")[0].partition(". ")[0].removesuffix(".")
    return RoomTool(name, QUESTIONS.get(name, first_sentence), core)


def _unknown_topic(name: str) -> NotFound:
    from difflib import get_close_matches

    names = topic_names()
    close = get_close_matches(name.lower(), names, n=3)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Topics: {', '.join(names)}."
    return NotFound(f"No such topic: {clipped(shown_text(name))}", hint)


def _tools_table(tools: tuple[Tool, ...]) -> str:
    found = [(room.name, tool) for room in rooms(tools) for tool in room.tools]
    found.sort(key=lambda pair: not pair[1].core)
    rows = [
        f"| {tool.question} | `{tool.name}` | {'always' if tool.core else room} |"
        for room, tool in found
    ]
    return "\n".join(["| Question | Tool | Toolset |", "|---|---|---|", *rows])


def _faces_table(tools: tuple[Tool, ...]) -> str:
    from clew.catalog.faces import FACES
    from clew.catalog.selection import select_tools

    rows = []
    for face in FACES.values():
        offered = len(select_tools(face, {}, tools))
        rows.append(f"| `{face.name} {face.serve_command}` | {face.summary} | {offered} |")
    return "\n".join(["| Command | For | Tools |", "|---|---|--:|", *rows])


def _topic_list(_tools: tuple[Tool, ...]) -> str:
    return ", ".join(f"`{name}`" for name in topic_names())


_FILLS = {
    "{tools}": _tools_table,
    "{faces}": _faces_table,
    "{topics}": _topic_list,
}
