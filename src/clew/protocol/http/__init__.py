"""Streamable HTTP of both eras. The only part of the protocol that needs Starlette."""
