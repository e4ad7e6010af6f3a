"""All specs at once: the index, the dependency graph, ids resolved."""
