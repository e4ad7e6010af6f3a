"""From git into the index: registering, cloning, syncing, watching."""
