"""What a document must hold, structure by structure."""
