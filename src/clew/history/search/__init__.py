"""Queries, filters, matches, ranking, snippets and pages."""
