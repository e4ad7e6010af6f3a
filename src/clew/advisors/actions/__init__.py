"""Decide, refine, review, and the documents of a project gathered and checked."""
