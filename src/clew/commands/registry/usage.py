"""How often commands were used on this machine: one line for each use, in Clew's own directory.

Nothing here may import what a cold start cannot afford. Nothing leaves the machine, and
`CLEW_USAGE=off` writes nothing.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE = "command-usage.tsv"
_LARGEST = 4 << 20


def _path() -> str:
    home = os.environ.get("CLEW_HOME") or os.path.join(os.path.expanduser("~"), ".clew")
    return os.path.join(os.path.expanduser(home), _FILE)


def record_use(project: str, agent: str, address: tuple[str, str, str]) -> None:
    """Add a line; a disk that cannot be written costs the count, not the prompt."""
    if os.environ.get("CLEW_USAGE", "").lower() in ("off", "0", "no", "false"):
        return
    path = _path()
    line = "\t".join((str(int(time.time())), project, agent, *address))
    if "\n" in line:
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size < _LARGEST:
                os.write(descriptor, f"{line}\n".encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)
    except OSError:
        return


def uses(project: str, agent: str) -> tuple[dict[tuple[str, ...], int], int]:
    """How often each command of an agent was used in a project, and when the first use was."""
    counts: dict[tuple[str, ...], int] = {}
    first = 0
    for moment, *words in _lines():
        if words[:2] == [project, agent]:
            address = tuple(words[2:])
            counts[address] = counts.get(address, 0) + 1
            first = first or int(moment)
    return counts, first


def _lines() -> Iterator[list[str]]:
    try:
        with open(_path(), encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                parts = line.rstrip("\n").split("\t")
                if len(parts) == 6 and parts[0].isdigit():
                    yield parts
    except OSError:
        return
