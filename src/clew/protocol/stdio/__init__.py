"""The transport over standard input and output."""
