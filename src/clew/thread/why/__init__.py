"""From a line, symbol or commit to its reasons."""
