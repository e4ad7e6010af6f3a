"""The guide's tools: where an agent starts."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    READS,
    STRING,
    STRINGS,
    Tool,
    nullable,
    object_schema,
    string,
)

GUIDE_TOOLS = (
    Tool(
        "clew_guide",
        "How to use Clew here: what is set up, and which tool answers which question",
        title="Guide",
        face="clew",
        toolset="guide",
        effect=READS,
        original=False,
        core=True,
        handler="clew.guide.tools:guide",
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
    Tool(
        "clew_doctor",
        "Check this machine and project; each finding names the command that repairs it",
        title="Doctor",
        face="clew",
        toolset="guide",
        effect=READS,
        original=False,
        core=True,
        handler="clew.doctor.tools:doctor",
        properties={"project": string("Project directory (default: where the server runs)")},
        output=object_schema(
            {"ok": BOOLEAN, "checks": {"type": "array", "items": {"type": "object"}}},
            "ok",
            "checks",
        ),
    ),
)
