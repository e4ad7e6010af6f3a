"""A fence around an agent, and the proxy that is the way out of a closed one."""
