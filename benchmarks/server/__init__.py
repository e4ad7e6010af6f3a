"""Claims about the server: its start, its calls, its memory."""
