"""What git says, in bulk: commits, patches, refs."""
