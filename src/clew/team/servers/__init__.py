"""What servers keep together in the database: tasks, sessions, conversations and their secret."""
