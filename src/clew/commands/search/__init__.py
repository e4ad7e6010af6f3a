"""Ranking of commands: words, terms, synonyms, spelling."""
