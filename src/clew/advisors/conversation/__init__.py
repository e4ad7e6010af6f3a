"""Conversations: the store, a turn, its draft and result, the state of documents."""
