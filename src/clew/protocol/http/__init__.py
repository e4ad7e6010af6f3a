"""The transport over HTTP."""
