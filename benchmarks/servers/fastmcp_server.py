"""FastMCP's server with the same one tool."""

from fastmcp import FastMCP

server = FastMCP("fastmcp")


@server.tool
def echo(text: str) -> str:
    """Echo."""
    return text


server.run(show_banner=False)
