"""Which edit wrote a line: from the text alone, whatever became of the commits."""
