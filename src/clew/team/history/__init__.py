"""The index of commits in PostgreSQL."""
