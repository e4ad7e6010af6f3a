"""Command tables that two faces share: name, where it lives, the line that help shows."""

from __future__ import annotations

HISTORY_COMMANDS = {
    "init": ("clew.cli.history:init", "Make the index."),
    "add-repo": ("clew.cli.history:add_repo", "Register a repository."),
    "remove-repo": ("clew.cli.history:remove_repo", "Forget a repository."),
    "sync": ("clew.cli.history:sync", "Read new commits into the index."),
    "status": ("clew.cli.history:status", "Show what is indexed and how fresh it is."),
    "search": ("clew.cli.history:search", "Search commits."),
    "touches": ("clew.cli.history:touches", "Show commits that touched a path."),
    "show": ("clew.cli.history:show", "Show one commit."),
    "patch": ("clew.cli.history:patch", "Show one commit's patch."),
}
