"""Every Python that is started with this tells which files below a directory it opened, or whom it called."""

from __future__ import annotations

import os
import sys
import traceback

PLACE, TOLD, NETWORK = "WATCHED_DIRECTORY", "WATCHED_TOLD", "WATCHED_NETWORK"
_LOOKS = {"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.link",
          "os.chmod", "os.truncate", "os.utime", "sqlite3.connect"}  # fmt: skip
_ITSELF = {"os.remove", "os.rename", "os.link"}
_busy = []


def _is_below(path, flags, place):
    """Whether the system would go to a file in the directory for this."""
    if flags & os.O_NOFOLLOW:  # then a link itself is meant, or refused
        above, name = os.path.split(path)
        return f"{os.path.realpath(above)}/{name}".startswith(place)
    return os.path.realpath(path).startswith(place)


def _tell_of_call(event, given):
    """Note whom it speaks to over the network, or asks for."""
    whom = given[1] if event == "socket.connect" else given[0]
    if event == "socket.getaddrinfo" or isinstance(whom, tuple):
        with open(os.environ[TOLD], "a") as told:
            told.write(f"{event} {whom}\n")


def tell(event, given):
    """Note a look into the directory that is watched, and who looked."""
    if event in ("socket.connect", "socket.getaddrinfo") and os.environ.get(NETWORK):
        _tell_of_call(event, given)
    place = os.environ.get(PLACE)
    if event not in _LOOKS or not place or _busy:
        return
    _busy.append(event)
    try:
        path = given[0]
        flags = given[2] if event == "open" else os.O_NOFOLLOW * (event in _ITSELF)
        if isinstance(path, str | bytes | os.PathLike) and _is_below(
            os.fsdecode(path), flags, place
        ):
            stack = traceback.extract_stack()
            own = [f"{one.filename}:{one.lineno}" for one in stack if "/clew/" in one.filename]
            with open(os.environ[TOLD], "a") as told:
                told.write(f"{event} {os.fsdecode(path)} {' < '.join(reversed(own[-3:]))}\n")
    except FileNotFoundError:  # the working directory is gone
        pass
    finally:
        _busy.clear()


sys.addaudithook(tell)
