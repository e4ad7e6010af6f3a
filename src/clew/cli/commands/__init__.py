"""`climpt` and `clew command`."""
