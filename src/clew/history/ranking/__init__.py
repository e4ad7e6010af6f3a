"""One ranking of commits for all that ask: candidates, their features, and learned weights."""
