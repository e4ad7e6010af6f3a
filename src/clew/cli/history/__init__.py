"""`commitmux` and `clew history`."""
