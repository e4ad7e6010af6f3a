"""Running a team's Clew: whether it is ready, what it measures, and what is wrong with it."""
