"""Children, their identity and their end: what starts, detaches and watches a process."""
