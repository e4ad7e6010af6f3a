"""The work room's tools: the half of the chant tools that starts, watches and stops agents."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    ENDS,
    INTEGER,
    READS,
    SETS,
    STRING,
    WRITES,
    Tool,
    boolean,
    integer,
    nullable,
    object_schema,
    string,
)
from clew.catalog.specs import SPEC_CHANGED, SPEC_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROCESS = {
    "process_id": STRING,
    "spec_id": STRING,
    "pid": INTEGER,
    "started_at": STRING,
    "mode": STRING,
}
_WATCH_CHANGED = object_schema({"pid": INTEGER, "message": STRING}, "message")


def _work_tool(name: str, description: str, **settings: Any) -> Tool:
    return Tool(name, description, face="chant", toolset="work", **settings)


WORK_TOOLS = (
    _work_tool(
        "chant_work_start",
        "Start working on a spec asynchronously (returns immediately)",
        handler="clew.work.tools:work_start",
        title="Start work on a spec",
        effect=WRITES,
        open_world=True,
        properties={
            "id": SPEC_ID,
            "chain": boolean("Continue to next ready spec after completion"),
            "parallel": integer("Number of parallel workers (requires multiple ready specs)"),
            "skip_criteria": boolean("Skip acceptance criteria validation"),
        },
        required=("id",),
        output=object_schema(_PROCESS, "process_id", "spec_id", "pid", "started_at", "mode"),
    ),
    _work_tool(
        "chant_work_list",
        "List running work processes",
        handler="clew.work.tools:work_list",
        title="List running work",
        effect=READS,
        properties={
            "process_id": string("Filter to specific process"),
            "include_completed": boolean("Include recently completed processes"),
        },
        output=object_schema(
            {
                "processes": {
                    "type": "array",
                    "items": object_schema(
                        {**_PROCESS, "status": STRING, "completed_at": nullable(STRING)}
                    ),
                },
                "summary": object_schema(
                    {"running": INTEGER, "completed": INTEGER, "failed": INTEGER}
                ),
            },
            "processes",
            "summary",
        ),
    ),
    _work_tool(
        "chant_pause",
        "Pause a running work process for a spec",
        handler="clew.work.tools:pause",
        title="Pause work",
        effect=SETS,
        properties={"id": SPEC_ID},
        required=("id",),
        output=SPEC_CHANGED,
    ),
    _work_tool(
        "chant_takeover",
        "Take over a running spec, stopping the agent and analyzing progress",
        handler="clew.work.tools:takeover",
        title="Take over work",
        effect=ENDS,
        properties={
            "id": SPEC_ID,
            "force": boolean("Force takeover even if no active process detected (default: false)"),
        },
        required=("id",),
        output=object_schema(
            {
                "spec_id": STRING,
                "analysis": STRING,
                "log_tail": STRING,
                "suggestion": STRING,
                "worktree_path": nullable(STRING),
            },
            "spec_id",
            "analysis",
            "log_tail",
            "suggestion",
        ),
    ),
    _work_tool(
        "chant_release",
        "Hand back a spec that was taken over",
        handler="clew.work.tools:release",
        title="Hand work back",
        effect=WRITES,
        open_world=True,
        original=False,
        properties={
            "id": SPEC_ID,
            "then": {
                **string("`continue` starts an agent, `finish` checks and completes"),
                "enum": ["pause", "continue", "finish"],
            },
        },
        required=("id",),
        output=SPEC_CHANGED,
    ),
    _work_tool(
        "chant_watch_status",
        "Get watch status and active worktrees",
        handler="clew.work.watch_tools:watch_status",
        title="Watch status",
        effect=READS,
        output=object_schema(
            {
                "watch_running": BOOLEAN,
                "worktrees": {"type": "array", "items": {"type": "object"}},
                "worktree_count": INTEGER,
            },
            "watch_running",
            "worktrees",
            "worktree_count",
        ),
    ),
    _work_tool(
        "chant_watch_start",
        "Start watch in background if not running",
        handler="clew.work.watch_tools:watch_start",
        title="Start the watch",
        effect=SETS,
        open_world=True,
        output=_WATCH_CHANGED,
    ),
    _work_tool(
        "chant_watch_stop",
        "Stop running watch process",
        handler="clew.work.watch_tools:watch_stop",
        title="Stop the watch",
        effect=SETS,
        output=_WATCH_CHANGED,
    ),
    _work_tool(
        "chant_split",
        "Split a complex spec into smaller member specs using AI analysis",
        handler="clew.work.watch_tools:split",
        title="Split a spec",
        effect=WRITES,
        open_world=True,
        slow=True,
        properties={
            "id": SPEC_ID,
            "force": boolean("Skip confirmation prompts"),
            "recursive": boolean("Recursively split member specs that are still too complex"),
            "max_depth": integer("Maximum recursion depth (default: 3)"),
        },
        required=("id",),
        output={"type": "object"},
    ),
)
