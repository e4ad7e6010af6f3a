"""`init`, `setup`, `serve`, `doctor`, `tools`, `guide`, `completion`."""
