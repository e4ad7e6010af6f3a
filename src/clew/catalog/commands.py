"""The commands room's tools; where they stand among others they carry the face's name."""

from __future__ import annotations

from clew.catalog.model import (
    NUMBER,
    READS,
    SETS,
    STRING,
    Tool,
    boolean,
    integer,
    list_schema,
    object_schema,
    string,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.kit.jsontext import JsonObject

_AGENT: JsonObject = {**string("Agent name"), "default": "climpt"}
_ADDRESS: JsonObject = {
    "c1": string("Domain identifier"),
    "c2": string("Action identifier"),
    "c3": string("Target identifier"),
}
_ALGORITHM: JsonObject = {
    **string("ranked by default"),
    "enum": ["ranked", "cosine", "tfidf", "bm25"],
}
_COMMAND: JsonObject = {"c1": STRING, "c2": STRING, "c3": STRING, "description": STRING}
_HITS = list_schema(
    object_schema({**_COMMAND, "score": NUMBER}, "c1", "c2", "c3", "description", "score")
)


def _command_tool(name: str, description: str, **settings: Any) -> Tool:
    return Tool(
        name,
        description,
        face="climpt",
        toolset="commands",
        prefixed_name=f"climpt_{name}",
        **settings,
    )


COMMANDS_TOOLS = (
    _command_tool(
        "search",
        "Searches for similar commands from natural language query.",
        handler="clew.commands.tools:search",
        title="Search commands",
        effect=READS,
        core=True,
        properties={"query": string("Search query"), "agent": _AGENT},
        also_accepts={"algorithm": _ALGORITHM},
        required=("query",),
        output=_HITS,
    ),
    _command_tool(
        "match",
        "Search commands with more say: by action and target, within a domain, explained.",
        handler="clew.commands.tools:match",
        title="Match commands",
        effect=READS,
        original=False,
        properties={
            "query": string("Search query"),
            "action": string("Verbs, like c2"),
            "target": string("Nouns, like c3"),
            "agent": string("Agent name, or * for all"),
            "c1": string("Only this domain"),
            "limit": {**integer("At most so many"), "minimum": 1, "maximum": 100},
            "algorithm": _ALGORITHM,
            "explain": boolean("Say why"),
        },
        output=_HITS,
    ),
    _command_tool(
        "describe",
        "Retrieves detailed command information from C3L identifiers.",
        handler="clew.commands.tools:describe",
        title="Describe a command",
        effect=READS,
        properties={"agent": _AGENT, **_ADDRESS},
        required=("c1", "c2", "c3"),
        output=list_schema(
            object_schema(
                {**_COMMAND, "usage": STRING, "options": {"type": "object"}},
                "c1",
                "c2",
                "c3",
                "description",
            )
        ),
    ),
    _command_tool(
        "execute",
        "Executes a command and retrieves the instruction prompt.",
        handler="clew.commands.tools:execute",
        title="Render a command",
        effect=READS,
        core=True,
        properties={
            "agent": string('Agent name ("climpt")'),
            "c1": string('Domain identifier (e.g., "git", "meta")'),
            "c2": _ADDRESS["c2"],
            "c3": _ADDRESS["c3"],
            "options": {"type": "object", "description": "Command options", "default": {}},
        },
        also_accepts={"options": {"type": ["object", "array"], "items": STRING}},
        required=("agent", "c1", "c2", "c3"),
        output=object_schema({"prompt": STRING}, "prompt"),
    ),
    _command_tool(
        "reload",
        "Reloads the registry cache.",
        handler="clew.commands.tools:reload",
        title="Reload commands",
        effect=SETS,
        properties={"agent": _AGENT},
        output={"type": "object"},
    ),
)
