"""Specs: Markdown files under `.chant/`, their lifecycle, and what waits for what."""
