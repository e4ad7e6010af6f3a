"""Layers, names, variables and templates on disk."""
