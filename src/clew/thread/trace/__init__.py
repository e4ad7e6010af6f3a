"""Objectives, features, specs and commits, as a table and a picture."""
