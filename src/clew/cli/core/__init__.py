"""The frame of every command: groups, output, errors, tables."""
