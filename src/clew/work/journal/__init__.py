"""The journal of runs, schedules and merges in SQLite, the run log, and the status files made from it."""
