"""Team: PostgreSQL, workers and a queue, for many machines: second implementations of the stores."""
