"""Conversations: the store, a turn, its result, forms, the state of documents."""
