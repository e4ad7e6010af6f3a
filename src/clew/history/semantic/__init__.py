"""Search by meaning: vectors of messages, and agents' notes."""
