"""Paths of a cold start: joined, confined and read by `os` alone, which is already imported."""
# ruff: noqa: PTH116, PTH117, PTH208

from __future__ import annotations

import os
import stat

from clew.kit.errors import Invalid, NotFound, Unavailable

LARGEST_TEMPLATE = 1 << 20
_CHUNK = 1 << 16

join = os.path.join
real = os.path.realpath
parent = os.path.dirname
base_name = os.path.basename
absolute = os.path.abspath
is_file = os.path.isfile
is_directory = os.path.isdir
exists = os.path.lexists


def entries(directory: str) -> list[str]:
    """The names in a directory in a fixed order; none if it cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def directories(directory: str) -> list[str]:
    """The names of directories in a directory, in a fixed order."""
    try:
        with os.scandir(directory) as found:
            return sorted(entry.name for entry in found if entry.is_dir())
    except OSError:
        return []


def is_inside(root: str, path: str) -> bool:
    """Whether a path, all links followed, stays in a directory, all links followed."""
    return _is_below(real(root), real(path))


def _is_below(whole: str, place: str) -> bool:
    return place == whole or place.startswith(whole.rstrip(os.sep) + os.sep)


def confined(root: str, path: str, *, is_real: bool = False) -> str:
    """The path with all links followed; refused when that leads out of the directory.

    `is_real` says that the directory's own links were followed already.
    """
    place = real(path)
    if not _is_below(root if is_real else real(root), place):
        raise Invalid(
            f"{path} leads out of {root}",
            "A template must lie in its prompt directory; replace the link by the file itself.",
        )
    return place


def relative_in(root: str, path: str) -> str:
    """A relative path below a directory, joined; anything that climbs out is refused."""
    if not path or os.path.isabs(path) or ".." in path.replace("\\", "/").split("/"):
        raise Invalid(f"Not a path inside the project: {path!r}", "Write it relative, without `..`")
    return join(root, path)


def read_text(path: str, limit: int = LARGEST_TEMPLATE) -> str:
    """A regular file's text in UTF-8, at most so many bytes of it."""
    try:
        return decoded(_read_bytes(path, limit), path)
    except FileNotFoundError:
        raise NotFound(f"No such file: {path}") from None
    except OSError as error:
        raise Unavailable(f"{error.strerror or error}: {path}") from error


def _read_bytes(path: str, limit: int) -> bytes:
    # Non-blocking, so that a pipe in the place of a file cannot make anybody wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Invalid(f"Not a regular file: {path}")
        parts, size = [], 0
        while chunk := os.read(descriptor, _CHUNK):
            size += len(chunk)
            if size > limit:
                raise Invalid(f"Too large: {path} has more than {limit} bytes")
            parts.append(chunk)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def decoded(data: bytes, path: str) -> str:
    """Bytes as text, without a byte order mark."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Invalid(f"Not UTF-8 at byte {error.start}: {path}") from None


def stamp(path: str) -> tuple[int, int] | None:
    """When a file was written and how long it is; None where there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size
