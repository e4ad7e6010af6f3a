"""Work: agents run specs in worktrees of their own, and nothing is lost."""
