"""Sessions: what agents were asked, tied to the lines they wrote; read from their transcripts."""
