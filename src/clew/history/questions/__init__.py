"""One module per question about paths, lines and commits."""
