"""Every command of every face: its name, where it lives, the line that help shows.

Commands are loaded by name here and nowhere else, so that neither running one command nor listing
all of them imports the others. `climpt` reads this table before it renders a prompt, so nothing
here may import what a cold start cannot afford. A line that names tools stands for the command of
its name; one that begins with a star, for all commands that they declare.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.catalog.model import Tool

    Table = dict[str, tuple[str, str] | str]

_QUESTIONS = "clew.history.tools.questions:QUESTION_TOOLS"
_COMMITS = "clew.history.tools.commits:COMMIT_TOOLS"
HISTORY_COMMANDS: Table = {
    "init": ("clew.cli.history.sync:init", "Create the index."),
    "add-repo": ("clew.cli.history.repos:add_repo", "Register a repository."),
    "update-repo": ("clew.cli.history.repos:update_repo", "Change a repository's settings."),
    "remove-repo": ("clew.cli.history.repos:remove_repo", "Remove a repository from the index."),
    "sync": ("clew.cli.history.sync:sync", "Read new commits into the index."),
    "status": ("clew.cli.history.sync:status", "Show what is indexed and how fresh it is."),
    "search": ("clew.cli.history.search:search", "Search commits."),
    "touches": ("clew.cli.history.search:touches", "Show commits that touched a path."),
    "show": ("clew.cli.history.sync:show", "Show one commit."),
    "patch": ("clew.cli.history.sync:patch", "Show one commit's patch."),
    "*questions": _QUESTIONS,
    "*commits": _COMMITS,
    "embed": ("clew.cli.history.sync:embed", "Compute the vectors for semantic search."),
    "install-hook": ("clew.cli.history.repos:install_hook", "Sync after every commit."),
    "watch": ("clew.cli.history.repos:watch", "Sync repositories as they change, until Ctrl-C."),
    "verify": ("clew.cli.history.repos:verify", "Compare the index with git."),
    "gc": ("clew.cli.history.repos:gc", "Remove unreachable and unused data."),
    "redactions": ("clew.cli.history.repos:redactions", "List redacted secrets."),
    "snapshot": ("clew.cli.history.repos:snapshot", "Write one repository's index to a file."),
    "attach": ("clew.cli.history.repos:attach", "Import such a file into this index."),
}

SPEC_COMMANDS: Table = {
    "init": ("clew.cli.specs.init:init", "Set this project up for specs."),
    "add": ("clew.cli.specs.add:add", "Create a spec."),
    "list": ("clew.cli.specs.read:list_command", "List specs."),
    "ready": ("clew.cli.specs.read:ready", "List the specs that can be worked on now."),
    "show": ("clew.cli.specs.read:show", "Show one spec."),
    "prep": ("clew.cli.specs.read:prep", "Print what is to be done, for an agent."),
    "search": ("clew.cli.specs.read:search", "Search titles and bodies."),
    "status": ("clew.cli.specs.read:status", "Count specs by status."),
    "log": ("clew.cli.specs.read:log", "Show a spec's log."),
    "update": ("clew.cli.specs.edit:update", "Change status or fields, or append output."),
    "check": ("clew.cli.specs.edit:check", "Check one acceptance criterion."),
    "criterion": ("clew.cli.groups:criterion", "Add, check and uncheck acceptance criteria."),
    "edit": ("clew.cli.specs.edit:edit", "Open a spec in your editor."),
    "lint": ("clew.cli.specs.inspect:lint", "Look for quality issues."),
    "verify": ("clew.cli.specs.inspect:verify", "Check whether the criteria are met."),
    "diagnose": ("clew.cli.specs.inspect:diagnose", "Diagnose problems of a spec."),
    "approve": ("clew.cli.specs.edit:approve", "Approve a spec."),
    "reject": ("clew.cli.specs.edit:reject", "Reject a spec with a reason."),
    "finalize": ("clew.cli.specs.edit:finalize", "Mark a spec as completed."),
    "reset": ("clew.cli.specs.edit:reset", "Reset a failed or stuck spec to pending."),
    "cancel": ("clew.cli.specs.edit:cancel", "Cancel a spec."),
    "archive": ("clew.cli.specs.edit:archive", "Move completed specs to the archive."),
    "export": ("clew.cli.specs.inspect:export", "Write specs as JSON, CSV or Markdown."),
    "dag": ("clew.cli.specs.inspect:dag", "Draw the dependency graph."),
    "drift": ("clew.cli.specs.inspect:drift", "Find completed specs whose files changed."),
    "activity": ("clew.cli.specs.inspect:activity", "Show who changed what, and when."),
    "derive": ("clew.cli.specs.inspect:derive", "Fill in derived fields."),
    "template": ("clew.cli.specs.inspect:template", "List or show templates."),
    "config": ("clew.cli.specs.inspect:config", "Show and check the configuration."),
    "site": ("clew.cli.groups:site", "Write the board as a site."),
    "silent": ("clew.cli.specs.init:silent", "Keep .chant/ out of git, or stop doing so."),
    "merge-driver": ("clew.cli.specs.inspect:merge_driver", "Merge one spec file; called by git."),
}

CRITERION_COMMANDS: Table = {
    "add": ("clew.cli.specs.add:add_criterion", "Add a criterion."),
    "check": ("clew.cli.specs.add:check", "Check a criterion."),
    "uncheck": ("clew.cli.specs.add:uncheck", "Uncheck a criterion."),
}

WORK_COMMANDS: Table = {
    "work": ("clew.cli.work.run:work", "Have an agent work on specs."),
    "pause": ("clew.cli.work.run:pause", "Stop the agent of a spec; nothing is lost."),
    "resume": ("clew.cli.work.run:resume", "Continue a spec that was stopped."),
    "takeover": ("clew.cli.work.run:takeover", "Take a spec over from its agent."),
    "release": ("clew.cli.work.run:release", "Hand back a spec that you took over."),
    "runs": ("clew.cli.work.run:runs", "List runs, or the steps of one."),
    "logs": ("clew.cli.work.run:logs", "Show what an agent did and said."),
    "merge": ("clew.cli.work.merge:merge", "Merge finished specs into the main branch."),
    "watch": ("clew.cli.work.merge:watch", "Finish, merge and clean up the work of agents."),
    "split": ("clew.cli.work.merge:split", "Split a spec into members."),
    "worktree": ("clew.cli.groups:worktree", "Show the worktrees of specs."),
    "cleanup": ("clew.cli.work.merge:cleanup", "Remove worktrees whose work is merged."),
    "trust": ("clew.cli.work.trust:trust", "Approve the project's commands, or take it back."),
}

TEAM_COMMANDS: Table = {
    "migrate": ("clew.cli.team:migrate", "Make the tables, or bring them up to date."),
    "import": ("clew.cli.team:import_file", "Take the index of a file into the database."),
    "export": ("clew.cli.team:export", "Write a repository's index to a file."),
    "add-repos": ("clew.cli.team:add_repos", "Register the repositories of a file or a forge."),
    "sync": ("clew.cli.team:sync", "Ask the workers for syncs."),
    "order": ("clew.cli.team:order", "Have the fleet work on specs of a repository."),
    "orders": ("clew.cli.team:orders", "List what the fleet works on."),
    "ask": ("clew.cli.team:ask", "Pause, take over, cancel or resume an order."),
    "logs": ("clew.cli.team:logs", "Show what an agent of the fleet did and said."),
    "webhooks": ("clew.cli.team:webhooks", "Queue a sync for each push that a forge tells of."),
    "sign-in": ("clew.cli.access:sign_in", "Let people sign in by your identity provider."),
    "grant": ("clew.cli.access:grant", "Let a group see repositories, and say what it may do."),
    "withdraw": ("clew.cli.access:withdraw", "Let a group see and do nothing any more."),
    "groups": ("clew.cli.access:groups", "List groups, what they see and what they may do."),
    "token": ("clew.cli.groups:token", "Tokens of programs, such as CI."),
    "doctor": ("clew.cli.setup.doctor:team_doctor", "Check what a team's Clew runs on."),
    "audit": ("clew.cli.access:audit", "Show who changed what by which client."),
}

TOKEN_COMMANDS: Table = {
    "create": ("clew.cli.access:create_token", "Make a token for a program."),
    "list": ("clew.cli.access:list_tokens", "List tokens of programs."),
    "revoke": ("clew.cli.access:revoke_token", "Accept a program's token no more."),
}

SITE_COMMANDS: Table = {
    "build": ("clew.cli.web:build_site", "Write the pages into a directory."),
}

WORKTREE_COMMANDS: Table = {
    "status": ("clew.cli.work.merge:worktree_status", "List worktrees and what happens there."),
}

COMMAND_COMMANDS: Table = {
    "list": ("clew.cli.commands.use:list_commands", "List commands."),
    "search": ("clew.cli.commands.use:search", "Search commands by purpose."),
    "show": ("clew.cli.commands.use:show", "Show the details of one command."),
    "run": ("clew.cli.commands.use:run", "Print the filled-in prompt of a command."),
    "new": ("clew.cli.commands.author:new", "Write a template for a new command."),
    "edit": ("clew.cli.commands.author:edit", "Open a template in your editor."),
    "lint": ("clew.cli.commands.author:lint", "Find errors and drift."),
    "test": ("clew.cli.commands.author:test_commands", "Compare the examples with their output."),
    "reload": ("clew.cli.commands.use:reload", "Reload everything and report what is broken."),
    "export": ("clew.cli.commands.author:export", "Export as registry.json or another format."),
    "import": ("clew.cli.commands.author:import_commands", "Import another program's prompts."),
}

ADVISE_COMMANDS: Table = {
    "vision": ("clew.cli.advise:vision", "Write or refine the vision and scope."),
    "architecture": ("clew.cli.advise:architecture", "Write or refine architecture and decisions."),
    "refine": ("clew.cli.advise:refine", "Turn the vision's features into specs."),
    "review": ("clew.cli.advise:review", "Check a spec's changes against its criteria."),
    "deployment": ("clew.cli.advise:deployment", "Show a checklist of what the repository says."),
    "check": ("clew.cli.advise:check", "Check the documents; also for CI."),
    "trace": ("clew.cli.advise:trace", "Show objective, feature, component, decision and spec."),
    "decide": ("clew.cli.advise:decide", "Accept, reject or supersede a decision record."),
    "conversations": ("clew.cli.groups:conversations", "List or delete conversations."),
}

CONVERSATION_COMMANDS: Table = {
    "list": ("clew.cli.advise:list_conversations", "List conversations."),
    "show": ("clew.cli.advise:show", "Show a conversation, or one of its documents."),
    "export": ("clew.cli.advise:export", "Print everything stored for one, as JSON."),
    "delete": ("clew.cli.advise:delete", "Delete one; documents in projects stay."),
}

SESSION_COMMANDS: Table = {
    "list": ("clew.cli.sessions:list_sessions", "List sessions."),
    "show": ("clew.cli.sessions:show", "Show a session, or one of its turns."),
    "search": ("clew.cli.sessions:search", "Search what was asked and said."),
    "blame": ("clew.cli.sessions:blame", "Show the session behind each line of a file."),
    "stats": ("clew.cli.sessions:stats", "Count sessions, edits, tokens and cost."),
    "index": ("clew.cli.sessions:index", "Read what is new in the transcripts."),
    "capture": ("clew.cli.sessions:capture", "Read one session when it ends; hooks run this."),
    "export": ("clew.cli.sessions:export", "Write requests as git notes, or as Markdown."),
    "import": ("clew.cli.sessions:import_shared", "Take over what others noted on commits."),
    "off": ("clew.cli.sessions:off", "Read no transcripts any more."),
    "on": ("clew.cli.sessions:on", "Read transcripts again."),
    "forget": ("clew.cli.sessions:forget", "Remove sessions for good."),
    "exclude": ("clew.cli.sessions:exclude", "Leave out directories."),
}

_SERVE = "Run the MCP server (stdio, or HTTP with --http)."
_VERSION = ("clew.cli.setup.doctor:version", "Show the versions of Clew and its dependencies.")


# What `clew --help` shows, by what a person wants to do. The other words of a room are in its group.
DOOR_SECTIONS: dict[str, tuple[str, ...]] = {
    "Understand code": (
        *("why", "brief", "recall", "search", "log", "show", "grep", "blame"),
        *("owners", "co-change", "culprit", "hunks", "pickaxe"),
    ),
    "Say what is to be done": ("add", "list", "ready", "edit", "trace"),
    "Have it done": ("work", "runs", "logs", "pause", "resume", "merge"),
    "See it": ("board", "web"),
    "Set up and repair": ("init", "setup", "serve", "doctor", "uninit", "completion", "version"),
    "More, by room": (
        "spec",
        "history",
        "command",
        "advise",
        "sessions",
        "team",
        "worker",
        "guide",
        "tools",
    ),
}

COMMANDS: dict[str, Table] = {
    "clew": {
        "*thread": "clew.thread.tools:THREAD_TOOLS",
        "search": HISTORY_COMMANDS["search"],
        "log": ("clew.cli.door:log", "Show commits: of a path, or the newest."),
        "show": ("clew.cli.door:show", "Show one commit or one spec."),
        "grep": _QUESTIONS,
        "blame": _QUESTIONS,
        "owners": _QUESTIONS,
        "co-change": _QUESTIONS,
        "culprit": _COMMITS,
        "hunks": _COMMITS,
        "pickaxe": _QUESTIONS,
        **{name: SPEC_COMMANDS[name] for name in ("add", "list", "ready", "edit")},
        "trace": ("clew.cli.thread:trace", "Show objectives, features, specs and commits."),
        **WORK_COMMANDS,
        "board": ("clew.cli.web:board", "Draw the board in the terminal."),
        "web": ("clew.cli.web:web", "Open the board in a browser."),
        "init": ("clew.cli.setup.init:init", "Set Clew up for this project and your agent hosts."),
        "setup": ("clew.cli.setup.register:setup", "Register Clew with one agent host."),
        "serve": ("clew.cli.setup.serve:clew_serve", _SERVE),
        "doctor": ("clew.cli.setup.doctor:doctor", "Check this machine and project."),
        "uninit": ("clew.cli.setup.init:uninit", "Undo what init and setup wrote."),
        "completion": ("clew.cli.setup.completion:completion", "Print a shell completion script."),
        "version": _VERSION,
        "spec": ("clew.cli.groups:spec", "Everything about specs and the work on them."),
        "history": ("clew.cli.history.sync:history", "Everything about history and its index."),
        "command": ("clew.cli.groups:command", "Find, fill in and maintain prompts."),
        "advise": ("clew.cli.groups:advise", "Write and check vision, architecture and decisions."),
        "guide": ("clew.cli.setup.guide:guide", "Show how agents use Clew, by topic."),
        "sessions": ("clew.cli.groups:sessions", "Show what agents were asked."),
        "team": ("clew.cli.groups:team", "Use one database for many machines."),
        "worker": ("clew.cli.team:worker", "Work for a team, from its queue."),
        "tools": ("clew.cli.setup.tools:tools", "List the tools that a server would offer."),
    },
    "chant": {
        **SPEC_COMMANDS,
        **WORK_COMMANDS,
        "mcp": ("clew.cli.setup.serve:chant_mcp", _SERVE),
        "version": _VERSION,
    },
    "commitmux": {
        **HISTORY_COMMANDS,
        "serve": ("clew.cli.setup.serve:commitmux_serve", _SERVE),
        "version": _VERSION,
    },
    "climpt": {
        "init": ("clew.cli.commands.use:init", "Copy the packaged commands into this project."),
        **COMMAND_COMMANDS,
        "mcp": ("clew.cli.setup.serve:climpt_mcp", _SERVE),
        "version": _VERSION,
    },
    "clariad": {
        **ADVISE_COMMANDS,
        "serve": ("clew.cli.setup.serve:clariad_serve", _SERVE),
        "version": _VERSION,
    },
}


def find(table: Table, name: str) -> str | Tool | None:
    """Where the command of this name is; the tool, where one declares it."""
    line = table.get(name)
    return line[0] if isinstance(line, tuple) else _declared(table).get(name)


def summaries(table: Table) -> dict[str, str]:
    """Every command in the table's order, and the line that help shows."""
    lines: dict[str, str] = {}
    for name, line in table.items():
        if isinstance(line, tuple):
            lines[name] = line[1]
        else:
            tools = _declared({name: line})
            lines |= {known: tool.command.summary for known, tool in tools.items() if tool.command}
    return lines


def _declared(table: Table) -> dict[str, Tool]:
    """The tools that declare a command, by its name; a line without a star stands for one."""
    found: dict[str, Tool] = {}
    for key, line in table.items():
        if isinstance(line, str):
            named = {tool.command.name: tool for tool in load(line) if tool.command}
            found |= named if key.startswith("*") else {key: named[key]}
    return found


def load(target: str) -> Any:
    """The object that a table names as `module:name`, imported now."""
    from importlib import import_module

    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
