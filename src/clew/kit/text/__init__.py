"""Text: what may be shown, and what must not be kept."""
