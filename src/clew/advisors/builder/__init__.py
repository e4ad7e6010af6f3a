"""From statements to vision, architecture and decisions."""
