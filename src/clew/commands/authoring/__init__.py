"""Writing, editing, checking, importing and exporting commands."""
