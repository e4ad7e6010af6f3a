"""A trial of agents that answer questions with plain git and with Clew."""
