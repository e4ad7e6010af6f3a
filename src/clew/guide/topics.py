"""The topics: Markdown files beside this module, completed from the catalogue; also as MCP resources."""

from __future__ import annotations

from pathlib import Path

from clew.catalog.service import Source
from clew.kit.errors import NotFound
from clew.kit.text.display import clipped, shown_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.catalog.model import Tool
    from clew.kit.jsontext import JsonObject

    AllTools = Callable[[], tuple[Tool, ...]]

FIRST_TOPIC = "overview"
# The question that leads to a tool. A tool without an entry is shown with its description.
QUESTIONS = {
    "clew_guide": "What is set up here? Which tool answers what?",
    "clew_doctor": "Something does not work. What is wrong, and what repairs it?",
    "long_running_operation": "Do progress and cancelling work in this host? (an example tool)",
}
_PREFIX = "clew://guide/"
_TEMPLATE = _PREFIX + "{topic}"
_MARKDOWN = {"mimeType": "text/markdown"}
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


def rooms(tools: tuple[Tool, ...]) -> dict[str, dict[str, Tool]]:
    """Every room with its tools by name."""
    from clew.catalog.faces import FACES, ROOMS
    from clew.catalog.selection import offered_name

    clew = FACES["clew"]
    return {
        room: {offered_name(tool, clew): tool for tool in tools if tool.toolset == room}
        for room in ROOMS
    }


def _unknown_topic(name: str) -> NotFound:
    from difflib import get_close_matches

    names = topic_names()
    close = get_close_matches(name.lower(), names, n=3)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Topics: {', '.join(names)}."
    return NotFound(f"No such topic: {clipped(shown_text(name))}", hint)


def _tools_table(tools: tuple[Tool, ...]) -> str:
    rows: list[str] = []
    rows_of_core: list[str] = []
    for room, named in rooms(tools).items():
        for name, tool in named.items():
            described = tool.description.strip().split("\n")[0].partition(". ")[0].removesuffix(".")
            row = f"| {QUESTIONS.get(name, described)} | `{name}` |"
            (rows_of_core if tool.core else rows).append(
                f"{row} {'always' if tool.core else room} |"
            )
    return "\n".join(["| Question | Tool | Toolset |", "|---|---|---|", *rows_of_core, *rows])


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


class GuideSource(Source):
    """The guide's topics as resources, with completion."""

    def __init__(self, all_tools: AllTools) -> None:
        self._all_tools = all_tools

    def resources(self) -> list[JsonObject]:
        """One resource per topic."""
        return [
            {"uri": _PREFIX + name, "name": name, "title": f"Guide: {name}", **_MARKDOWN}
            for name in topic_names()
        ]

    def resource_templates(self) -> list[JsonObject]:
        """The pattern that all topics follow."""
        return [{"uriTemplate": _TEMPLATE, "name": "guide", "title": "Guide by topic", **_MARKDOWN}]

    def read_resource(self, uri: str) -> list[JsonObject] | None:
        """A topic's text."""
        if not uri.startswith(_PREFIX):
            return None
        text = topic_text(uri.removeprefix(_PREFIX), self._all_tools())
        return [{"uri": uri, **_MARKDOWN, "text": text}]

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Topics that begin with what was typed."""
        if reference.get("uri") != _TEMPLATE or name != "topic":
            return []
        return [topic for topic in topic_names() if topic.startswith(value)]
