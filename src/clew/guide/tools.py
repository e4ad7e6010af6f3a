"""The guide's tool: a topic's text, the project at hand, and every room's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.guide.topics import FIRST_TOPIC, rooms, topic_names, topic_text
from clew.kit.answer import Answer
from clew.kit.errors import ClewError
from clew.kit.git import git_text_or_none
from clew.kit.project import find_project
from clew.kit.text.display import shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.kit.call import Call


def guide(arguments: dict[str, Any], call: Call) -> Answer:
    """Answer one topic."""
    topic = arguments.get("topic") or FIRST_TOPIC
    text = topic_text(topic)
    project, note = _describe_project(arguments.get("project"), call.settings)
    data = {
        "topic": topic,
        "topics": list(topic_names()),
        "text": text,
        "project": project,
        "rooms": [
            {"name": room.name, "tools": [tool.name for tool in room.tools]} for room in rooms()
        ],
    }
    return Answer(f"{text}\n\n{note}" if topic == FIRST_TOPIC else text, data=data)


def _describe_project(
    named: str | None, settings: Mapping[str, str]
) -> tuple[dict[str, str | None] | None, str]:
    try:
        root = find_project(named, settings)
    except ClewError as error:
        return None, f"Project: none. {error.message}."
    branch = git_text_or_none(root, "symbolic-ref", "--quiet", "--short", "HEAD")
    head = git_text_or_none(root, "rev-parse", "--quiet", "--verify", "--short", "HEAD")
    shown = shown_path(root)
    note = f"Project: {shown} ({_position(branch, head)})"
    return {"root": shown, "branch": branch, "head": head}, note


def _position(branch: str | None, head: str | None) -> str:
    if branch is None and head is None:
        return "not a git repository"
    if head is None:
        return f"branch {branch}, no commits yet"
    return f"branch {branch} at {head}" if branch else f"detached at {head}"
