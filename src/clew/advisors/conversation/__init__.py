"""Conversations: the store, a turn, the draft, and what is known."""
