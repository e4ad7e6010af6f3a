"""The environment of every child: the one here, without what belongs to whoever called us.

A child is told its directory by `PWD` as well, since several programs believe that rather than the
system. Git variables that lead to another repository are left out, and so is what a host tells its
own children: a worker is no child of the host that asked for the work. Credentials and settings
stay, also those of a host. Which is which was found by asking the programs themselves.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from clew.kit.git import INHERITED_LOCATION

_OF_A_SESSION = (
    "CLAUDECODE|CLAUDE_(?:PID|EFFORT|PROJECT_DIR|ENV_FILE|PLUGIN_ROOT|PLUGIN_DATA)",
    "CLAUDE_(?:CODE_(?:ENTRYPOINT|EXECPATH|SSE_PORT|CHILD_SESSION|TASK_LIST_ID))",
    "CLAUDE_(?:CODE_(?:SESSION_(?!ACCESS_TOKEN)|MESSAGING_|BRIDGE_|HOST_WORKTREE).*)",
    "CODEX_(?:CI|VERSION|SESSION_ID|THREAD_ID|TOOL_CALL_ID|SANDBOX.*|MANAGED_.*)",
    "CODEX_(?:APPLY_PATCH_.*|NETWORK_PROXY_.*|EXEC_SERVER_.*|INTERNAL_.*|SNAPSHOT_.*)",
    "COPILOT_(?:CLI|LOADER_PID|AGENT_SESSION_ID|CLI_BINARY_VERSION|CLI_RESOLVED_DIST_DIR)",
    "GEMINI_CLI|GEMINI_CLI_(?:NO_RELAUNCH|WORKTREE_HANDLED|ACTIVITY_LOG_TARGET|IDE_.*)",
    "QWEN_CODE|QWEN_CODE_(?:AGENT_ID|CLI|DESKTOP|LAUNCHER_.*|MANAGED_NPM_.*|MODEL.*)",
    "QWEN_CODE_(?:NO_RELAUNCH|PRIVATE_.*|PROJECT_DIR|PROMPT_ID|RELAUNCH_ARGS|SERVE)",
    "QWEN_CODE_(?:SESSION_ID|STARTUP_VERSION|EXTERNAL_TOOL_GUARD_TOKEN|IDE_.*)",
    "OPENCODE|OPENCODE_(?:PID|WORKSPACE_ID|EDITOR_SSE_PORT)",
    "AI_AGENT|CURSOR_AGENT|CURSOR_TRACE_ID",
    "CLEW_(?:TOOLSETS|TOOLS|EXCLUDE_TOOLS|READ_ONLY|EXTENDED)|OLDPWD",
)
_SET_DUMPABLE = 4  # PR_SET_DUMPABLE
_SESSION = re.compile("|".join(_OF_A_SESSION))
# A shell of this host hides the user's own git configuration from what runs in it.
_HIDES_GIT_CONFIG = "GEMINI_CLI"


def keep_from_neighbours() -> None:
    """Let no other process of this user read the environment and memory of this one (Linux).

    Leaving a variable out of what children get is not enough: `/proc` shows what a process was started
    with. Programs that this one starts are as readable as ever.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):  # a C library without it
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def child_environment(cwd: Path, added: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a child that works in this directory inherits, and what it is told besides."""
    kept = {name: text for name, text in os.environ.items() if not _is_foreign(name)}
    return {**kept, "PWD": str(cwd.absolute()), **(added or {})}


def _is_foreign(name: str) -> bool:
    if name.startswith("GIT_CONFIG_") and _HIDES_GIT_CONFIG in os.environ:
        return True
    return name in INHERITED_LOCATION or _SESSION.fullmatch(name) is not None
