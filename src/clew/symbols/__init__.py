"""Symbols: what a source file defines and calls, read by real parsers and kept by blob."""
