"""The merge queue: preconditions, the candidate commit, conflicts, cleaning up."""
