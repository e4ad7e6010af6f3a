"""The guide's topics as MCP resources, `clew://guide/<topic>`, with completion."""

from __future__ import annotations

from clew.guide.topics import topic_names, topic_text
from clew.kit.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

_PREFIX = "clew://guide/"
_TEMPLATE = _PREFIX + "{topic}"


def list_resources() -> list[JsonObject]:
    """One resource per topic."""
    return [
        {
            "uri": _PREFIX + name,
            "name": name,
            "title": f"Guide: {name}",
            "mimeType": "text/markdown",
        }
        for name in topic_names()
    ]


def list_templates() -> list[JsonObject]:
    """The pattern that all topics follow."""
    return [
        {
            "uriTemplate": _TEMPLATE,
            "name": "guide",
            "title": "Guide by topic",
            "mimeType": "text/markdown",
        }
    ]


def read_resource(uri: str) -> list[JsonObject]:
    """A topic's text."""
    if not uri.startswith(_PREFIX):
        raise NotFound(f"Unknown resource: {uri}")
    text = topic_text(uri.removeprefix(_PREFIX))
    return [{"uri": uri, "mimeType": "text/markdown", "text": text}]


def complete_topic(reference: JsonObject, name: str, value: str) -> list[str]:
    """Topics that begin with what was typed."""
    if reference.get("uri") != _TEMPLATE or name != "topic":
        return []
    return [topic for topic in topic_names() if topic.startswith(value)]
