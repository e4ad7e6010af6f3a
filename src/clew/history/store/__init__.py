"""The index in SQLite: schema, commits, patches, repositories."""
