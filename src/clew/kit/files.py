"""Files written whole or not at all, private where they hold secrets, and opened with care."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from clew.kit.project import followed

T = TypeVar("T")

_MOST_NAMES = 100
_WRITE = os.O_WRONLY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE = _WRITE | os.O_CREAT | os.O_EXCL
_NAMELESS = getattr(os, "O_TMPFILE", 0) if Path("/proc/self/fd").is_dir() else 0


def write_atomic(path: Path, data: bytes | str, *, mode: int | None = None) -> None:
    """Replace a file in one step: readers see the old bytes or the new ones, never a mix.

    Links are followed, so a dot-file kept elsewhere stays a link, but none out of a project;
    permissions are kept unless `mode` says otherwise.
    """
    payload = data.encode("utf-8") if isinstance(data, str) else data
    target = Path(followed(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if mode is None and target.exists():
        mode = target.stat().st_mode & 0o7777
    with _errors_about(target):
        _replace(target, payload, mode)
    _sync_directory(target.parent)


def write_new(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Make a file that was not there, whole or not at all; refused by `FileExistsError`."""
    with _errors_about(path):
        descriptor, temporary = _temporary(path, mode)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                _fill(stream, data, mode)
                if temporary is None:
                    _link(descriptor, path)
                else:
                    os.link(temporary, path)
        finally:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
    _sync_directory(path.parent)


@contextmanager
def _errors_about(target: Path) -> Iterator[None]:
    """Errors name the target, not the temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno:
            error.filename = str(target)
            del error.filename2
        raise


def _fill(stream: BinaryIO, payload: bytes, mode: int | None) -> None:
    stream.write(payload)
    stream.flush()
    if mode is not None:
        os.fchmod(stream.fileno(), mode)
    os.fsync(stream.fileno())


def _replace(target: Path, payload: bytes, mode: int | None) -> None:
    descriptor, temporary = _temporary(target, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            _fill(stream, payload, mode)
            if temporary is None:
                temporary = _named(descriptor, target)
        temporary.replace(target)
    except BaseException:
        if temporary is not None:
            with suppress(FileNotFoundError):
                temporary.unlink()
        raise


def _temporary(target: Path, mode: int | None) -> tuple[int, Path | None]:
    """A new file beside the target: without a name, so that a kill leaves nothing, or with one.

    Where no mode is given, the system applies the umask; asking for it would mean to change it.
    """
    permissions = 0o666 if mode is None else 0o600
    if _NAMELESS:
        with suppress(OSError):  # not every file system has them
            return os.open(target.parent, _NAMELESS | _WRITE, permissions), None
    return _with_new_name(target, lambda name: os.open(name, _CREATE, permissions))


def _named(descriptor: int, target: Path) -> Path:
    """Give a file without a name one beside the target."""
    return _with_new_name(target, lambda name: _link(descriptor, name))[1]


def _with_new_name(target: Path, make: Callable[[Path], T]) -> tuple[T, Path]:
    for _ in range(_MOST_NAMES):
        name = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
        with suppress(FileExistsError):
            return make(name), name
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def _link(descriptor: int, name: Path) -> None:
    # A directory, though the path needs none, because only then the link is followed.
    os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=descriptor)


def open_regular(path: Path | str) -> int:
    """A descriptor of a regular file for reading; a link or a pipe in its place is refused, and nobody waits."""
    descriptor = os.open(path, _READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return descriptor


def itself(path: str, flags: int) -> int:
    """What opens a file, as `opener` of `open`, but not what a link in its place leads to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def regular_bytes(path: Path) -> bytes:
    """A regular file; a link or a pipe in its place is refused."""
    with open(open_regular(path), "rb") as file:
        return file.read()


def regular_text(path: Path, most: int = -1) -> str:
    """The beginning of a regular file as text; a link or a pipe in its place is refused."""
    with open(open_regular(path), encoding="utf-8", errors="replace") as file:
        return file.read(most)


def private_directory(path: Path) -> Path:
    """The directory; it and the parents that are missing are made for their owner only."""
    if not path.is_dir():
        private_directory(path.parent)
        path.mkdir(exist_ok=True, mode=0o700)
    return path


def private_file(path: Path) -> Path:
    """The file; where there is none, one is made for its owner only, if the system lets us."""
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    return path


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
