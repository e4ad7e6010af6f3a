"""Claims about the rooms: history, specs, work, commands, thread."""
