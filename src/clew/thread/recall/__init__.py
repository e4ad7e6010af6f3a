"""Search over commits, specs and documents at once."""
