"""The index of sessions in SQLite: updated from transcripts, asked by everything else."""
