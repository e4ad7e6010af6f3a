"""Syncing by a fleet: workers, their clones, webhooks, and where repositories come from."""
