"""The board: specs, history and the thread between them, in a browser."""
