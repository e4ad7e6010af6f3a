"""Worktrees, branches and snapshots of runs, and the main branch they start from."""
