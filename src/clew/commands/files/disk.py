"""Files read with care: regular ones, up to a limit, inside the directory that holds them.

By `os` alone: importing pathlib would double the time of a cold call.
"""

from __future__ import annotations

import os
import stat

from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.kit.project import followed

LARGEST_TEMPLATE = 1 << 20


def entries(directory: str) -> list[str]:
    """The names in a directory in a fixed order; none if it cannot be read."""
    try:
        return sorted(os.listdir(followed(directory)))
    except (OSError, Invalid):
        return []


def directories(directory: str) -> list[str]:
    """The names of directories in a directory, in a fixed order."""
    try:
        with os.scandir(followed(directory)) as found:
            return sorted(entry.name for entry in found if entry.is_dir())
    except (OSError, Invalid):
        return []


def is_inside(root: str, path: str) -> bool:
    """Whether a path, all links followed, stays in a directory, all links followed."""
    whole, place = os.path.realpath(root), os.path.realpath(path)
    return place == whole or place.startswith(whole.rstrip(os.sep) + os.sep)


def confined(root: str, path: str) -> str:
    """The path with all links followed; refused when that leads out of the directory."""
    if not is_inside(root, path):
        raise Invalid(
            f"{path} leads out of {root}",
            "A template must lie in its prompt directory; replace the link by the file itself.",
        )
    return os.path.realpath(path)


def relative_in(root: str, path: str) -> str:
    """A relative path below a directory, joined; anything that climbs out is refused."""
    if not path or os.path.isabs(path) or ".." in path.replace("\\", "/").split("/"):
        raise Invalid(f"Not a path inside the project: {path!r}", "Write it relative, without `..`")
    return os.path.join(root, path)


def read_text(path: str, limit: int = LARGEST_TEMPLATE) -> str:
    """A regular file's text in UTF-8, without a byte order mark; refused above the limit."""
    try:
        return _read_bytes(path, limit).decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Invalid(f"Not UTF-8 at byte {error.start}: {path}") from None
    except FileNotFoundError:
        raise NotFound(f"No such file: {path}") from None
    except OSError as error:
        raise Unavailable(f"{error.strerror or error}: {path}") from error


def _read_bytes(path: str, limit: int) -> bytes:
    # Non-blocking, so that a pipe in the place of a file cannot make anybody wait.
    descriptor = os.open(followed(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Invalid(f"Not a regular file: {path}")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise Invalid(f"Too large: {path} has more than {limit} bytes")
    return data
