"""What a caller writes: the source, quotes and coverage, kinds of statements, the briefing."""
