"""JSON-RPC and MCP: the kernel, both eras, the older dialect, stdio and HTTP. No domain here."""
