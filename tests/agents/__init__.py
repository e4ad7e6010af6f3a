"""The real agent programs as judges: `make agents` runs them against a scripted model."""
