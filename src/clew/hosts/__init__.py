"""Agent hosts: the table of them, how to register with each, and how to undo it."""
