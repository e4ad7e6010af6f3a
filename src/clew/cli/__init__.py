"""The terminal: one module per command group; parse, call, render."""
