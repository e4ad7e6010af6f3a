"""History: git history of many repositories in one index, searched without touching git."""
