"""The advisors room's tools."""

from __future__ import annotations

from clew.catalog.model import READS, STRING, WRITES, Tool, object_schema, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONVERSATION = string("Optional ID to maintain context between conversations")
_OUTPUT = object_schema({"output": STRING}, "output")


def _advisor_tool(name: str, description: str, **settings: Any) -> Tool:
    return Tool(
        name, description, face="clariad", toolset="advisors", slow=True, output=_OUTPUT, **settings
    )


ADVISORS_TOOLS = (
    _advisor_tool(
        "vision_agent",
        "Creates Vision & Scope documents to establish project requirements and goals",
        title="Vision and scope",
        effect=WRITES,
        properties={
            "project_description": string("Brief description of the project"),
            "conversation_id": _CONVERSATION,
        },
        required=("project_description",),
    ),
    _advisor_tool(
        "architecture_agent",
        "Designs system architecture and creates Architecture Decision Records (ADRs)",
        title="Architecture and decisions",
        effect=WRITES,
        properties={
            "project_name": string("Name of the project"),
            "requirements": string("Project requirements to consider for architecture"),
            "conversation_id": _CONVERSATION,
        },
        required=("project_name", "requirements"),
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
)
