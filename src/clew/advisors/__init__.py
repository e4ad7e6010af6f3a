"""Advisors: specialists that write documents and remember the conversation."""
