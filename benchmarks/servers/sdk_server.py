"""The official SDK's server with the same one tool; its logging is off, which is kind to it."""

from mcp.server import MCPServer

server = MCPServer("sdk", log_level="CRITICAL")


@server.tool()
def echo(text: str) -> str:
    """Echo."""
    return text


server.run()
