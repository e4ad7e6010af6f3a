"""What changes specs: add, update, approve, finalize, archive, merge."""
