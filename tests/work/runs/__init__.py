"""Tests of starting, scheduling and finishing work."""
