"""The groups of commands: `clew spec`, `clew team token` and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.catalog import command_table as table
from clew.cli.core.app import LazyGroup

if TYPE_CHECKING:
    from clew.catalog.command_table import Table


def _group(name: str, entries: Table, help_text: str) -> LazyGroup:
    return LazyGroup(name=name, entries=entries, help=help_text, no_args_is_help=True)


spec = _group(
    "spec",
    {**table.SPEC_COMMANDS, **table.WORK_COMMANDS},
    "Specs: Markdown files with a task and its acceptance criteria.",
)
criterion = _group(
    "criterion",
    table.CRITERION_COMMANDS,
    "Acceptance criteria: what must hold when a spec is done.",
)
site = _group("site", table.SITE_COMMANDS, "The board as pages that any web server can serve.")
worktree = _group(
    "worktree", table.WORKTREE_COMMANDS, "The worktrees in which agents work on specs."
)
command = _group(
    "command",
    table.COMMAND_COMMANDS,
    "Find, fill in and maintain prompts, addressed by domain, action and target.",
)
advise = _group(
    "advise",
    table.ADVISE_COMMANDS,
    "Write and check vision, architecture and decision documents, and derive specs from them.",
)
conversations = _group(
    "conversations",
    table.CONVERSATION_COMMANDS,
    "Conversations with the advisors and the documents they produced.",
)
sessions = _group(
    "sessions",
    table.SESSION_COMMANDS,
    "What agents were asked, read from their transcripts, and the lines that came of it.",
)
team = _group("team", table.TEAM_COMMANDS, "One Clew for many machines, on PostgreSQL.")
token = _group(
    "token",
    table.TOKEN_COMMANDS,
    "Tokens of programs, such as CI. Only their digests are kept.",
)
