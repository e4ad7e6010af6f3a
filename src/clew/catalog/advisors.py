"""The advisors room's tools."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    ENDS,
    INTEGER,
    READS,
    SETS,
    STRING,
    STRINGS,
    WRITES,
    Tool,
    boolean,
    integer,
    object_schema,
    string,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONVERSATION = string("Optional ID to maintain context between conversations")
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_OUTPUT = object_schema({"output": STRING}, "output")
_DOCUMENTS = object_schema(
    {
        "output": STRING,
        "conversation_id": STRING,
        "version": INTEGER,
        "documents": _OBJECTS,
        "questions": _OBJECTS,
        "questions_open": INTEGER,
        "checks": object_schema({"ready": BOOLEAN, "findings": _OBJECTS}),
        "writer": STRING,
        "authors": {"type": "object"},
        "skipped": STRINGS,
        "notes": STRINGS,
        "brief": {"type": "object"},
    },
    "output",
    "conversation_id",
)
# What the loop of the calling agent sends back; a result's brief explains it.
_LOOP = {
    "answers": {"type": ["object", "array"]},
    "sections": {"type": ["object", "array"]},
    "save": BOOLEAN,
    "project": STRING,
}


def _advisor_tool(name: str, description: str, **settings: Any) -> Tool:
    given = {"output": _OUTPUT, "slow": True, **settings}
    return Tool(name, description, face="clariad", toolset="advisors", **given)


ADVISORS_TOOLS = (
    _advisor_tool(
        "vision_agent",
        "Creates Vision & Scope documents to establish project requirements and goals",
        handler="clew.advisors.tools:vision_agent",
        title="Vision and scope",
        effect=WRITES,
        properties={
            "project_description": string("Brief description of the project"),
            "conversation_id": _CONVERSATION,
        },
        also_accepts=_LOOP,
        required=("project_description",),
        output=_DOCUMENTS,
    ),
    _advisor_tool(
        "architecture_agent",
        "Designs system architecture and creates Architecture Decision Records (ADRs)",
        handler="clew.advisors.tools:architecture_agent",
        title="Architecture and decisions",
        effect=WRITES,
        properties={
            "project_name": string("Name of the project"),
            "requirements": string("Project requirements to consider for architecture"),
            "conversation_id": _CONVERSATION,
        },
        also_accepts=_LOOP,
        required=("project_name", "requirements"),
        output=_DOCUMENTS,
    ),
    _advisor_tool(
        "long_running_operation",
        "Example of a long-running operation with streaming updates",
        title="Long-running example",
        effect=READS,
        handler="clew.advisors.tools:long_running_operation",
        properties={
            "operation_name": string("Name of the operation to perform"),
            "duration_seconds": {
                "type": "number",
                "description": "How long the operation should take in seconds",
            },
        },
        required=("operation_name", "duration_seconds"),
    ),
    _advisor_tool(
        "refine_agent",
        "Turn the vision's features into specs with criteria and dependencies; safe to repeat",
        handler="clew.advisors.tools:refine_agent",
        title="Vision to specs",
        effect=SETS,
        original=False,
        properties={
            "conversation_id": string("Whose documents, if they are not saved"),
            "later": boolean("Also features of later releases"),
            "project": string("Directory, if not the current one"),
        },
        output=object_schema({"output": STRING, "specs": _OBJECTS}, "output", "specs"),
    ),
    _advisor_tool(
        "review_agent",
        "Check a finished spec's changes against its acceptance criteria",
        handler="clew.advisors.tools:review_agent",
        title="Review a spec",
        effect=READS,
        original=False,
        properties={
            "id": string("Spec ID"),
            "range": string("Commits, for example main..branch (default: the spec's own)"),
            "project": string("Directory, if not the current one"),
        },
        required=("id",),
        output=object_schema(
            {"output": STRING, "verdict": STRING, "criteria": _OBJECTS, "findings": _OBJECTS},
            "output",
            "verdict",
        ),
    ),
    _advisor_tool(
        "advisor_conversations",
        "List conversations with the advisors; show, export or delete one",
        handler="clew.advisors.tools:conversations",
        title="Conversations",
        effect=ENDS,
        original=False,
        slow=False,
        properties={
            "action": {
                "type": "string",
                "description": "What to do (default list)",
                "enum": ["list", "show", "export", "delete"],
            },
            "conversation_id": string("Which one; not for list"),
            "limit": integer("Most to list (default 50)"),
        },
        output={"type": "object"},
    ),
)
