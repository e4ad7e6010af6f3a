"""One module per agent program: its transcripts as events."""
