"""A team's index: what a million commits and two hundred clients cost its database."""
