"""A scripted model service that real programs talk to: four APIs, one script, faults on demand."""
