"""Rows, charts, diffs and drawings that the pages show."""
