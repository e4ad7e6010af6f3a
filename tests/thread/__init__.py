"""Tests of the thread."""
