"""What to know before starting a task."""
