"""From an address and arguments to a filled-in prompt."""
