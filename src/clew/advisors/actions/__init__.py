"""Decide, refine, review, and the check of a whole project."""
