"""What all rooms share: files, locks, git, JSON, errors, project discovery, results."""
