"""What reads specs: lists, queries, search, graph, export, activity, logs."""
