"""Host files read, edited as text, backed up and undone."""
