"""Clew: one thread from intent to code, for coding agents and the people who steer them."""

__version__ = "0.1.0"
