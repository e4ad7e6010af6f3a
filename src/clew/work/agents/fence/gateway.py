"""Inside a closed fence: listens where the agent looks for the network, then becomes the agent.

The sockets belong to the network of the fence, where nothing else is. They are handed out to the
proxy over the one descriptor that leads outside, which the agent does not get.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping

_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_BACKLOG = 128


def proxy_variables(port: int) -> Mapping[str, str]:
    """What programs look at to find a proxy."""
    address = f"http://127.0.0.1:{port}"
    found = dict.fromkeys(_PROXY_VARIABLES, address) | {"NO_PROXY": ""}
    found |= {name.lower(): value for name, value in found.items()}
    return {**found, "NODE_USE_ENV_PROXY": "1"}  # Node looks at them only when told to


def main(words: list[str]) -> None:
    """`python -m clew.work.agents.fence.gateway DESCRIPTOR PORTS PROGRAM [WORD]...`."""
    descriptor, ports, *command = words
    wanted = [0, *(int(port) for port in ports.split(",") if port)]
    listeners = [socket.create_server(("127.0.0.1", port), backlog=_BACKLOG) for port in wanted]
    with socket.socket(fileno=int(descriptor)) as outside:
        socket.send_fds(outside, [b"."], [one.fileno() for one in listeners])
    os.environ.update(proxy_variables(listeners[0].getsockname()[1]))
    os.execvp(command[0], command)  # noqa: S606 - the agent that the user chose


if __name__ == "__main__":
    main(sys.argv[1:])
