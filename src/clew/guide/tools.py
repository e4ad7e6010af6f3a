"""The guide's tool for agents."""

from __future__ import annotations

from clew.catalog.model import READS, STRING, STRINGS, Tool, nullable, object_schema, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    AllTools = Callable[[], tuple[Tool, ...]]


def guide_tools(all_tools: AllTools) -> tuple[Tool, ...]:
    """The guide's tool; it shows the tools of every room."""

    def handler(arguments: JsonObject, call: Call) -> Answer:
        return guide(arguments, call, all_tools())

    return (
        Tool(
            "clew_guide",
            "How to use Clew here, and which tool answers what",
            title="Guide",
            face="clew",
            toolset="guide",
            effect=READS,
            original=False,
            core=True,
            handler=handler,
            properties={
                "topic": string("Topic (default: overview, which lists the others)"),
                "project": string("Project directory (default: where the server runs)"),
            },
            output=object_schema(
                {
                    "topic": STRING,
                    "topics": STRINGS,
                    "text": STRING,
                    "project": nullable({"type": "object"}),
                    "rooms": {"type": "array", "items": {"type": "object"}},
                },
                "topic",
                "topics",
                "text",
            ),
        ),
    )


def guide(arguments: JsonObject, call: Call, tools: tuple[Tool, ...]) -> Answer:
    """Answer one topic."""
    from clew.guide.topics import FIRST_TOPIC, rooms, topic_names, topic_text
    from clew.kit.answer import Answer

    topic = arguments.get("topic") or FIRST_TOPIC
    text = topic_text(topic, tools)
    project, note = _describe_project(arguments.get("project"), call.settings)
    data = {
        "topic": topic,
        "topics": list(topic_names()),
        "text": text,
        "project": project,
        "rooms": [{"name": room, "tools": list(named)} for room, named in rooms(tools).items()],
    }
    return Answer(f"{text}\n\n{note}" if topic == FIRST_TOPIC else text, data=data)


def _describe_project(
    named: str | None, settings: Mapping[str, str]
) -> tuple[dict[str, str | None] | None, str]:
    from clew.kit.errors import ClewError
    from clew.kit.git import git_text_or_none
    from clew.kit.project import find_project
    from clew.kit.text.display import shown_path

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
