"""Layers, declarations and templates on disk."""
