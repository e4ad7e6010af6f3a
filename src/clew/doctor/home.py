"""Checks of Clew's own directory: present, writable and private."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from clew.doctor.model import Check, Subject, shell_path, show_path
from clew.kit.errors import Conflict, Unavailable
from clew.kit.files import private_directory
from clew.kit.project import clew_home

OTHERS = 0o077
SECRET_WORDS = {"token", "tokens", "secret", "secrets", "credentials", "password", "key", "keys"}
_OWN_DIRECTORIES = ("secrets", "http", "tasks", "backups", "crashes", "locks")
_LITTLE = 20_000_000  # bytes
_OWN_PLACE = "export CLEW_HOME=~/.clew"


def home(_subject: Subject) -> Check:
    """Whether Clew's directory is usable and private."""
    try:
        place = clew_home()
    except Unavailable as error:
        return Check("home", "fail", error.message, fix=_OWN_PLACE)
    return _state(place)


def _state(place: Path) -> Check:
    shown = show_path(place)
    if not place.exists():
        return _missing_home(place, shown)
    if not place.is_dir():
        fix = f"mv {shell_path(place)} {shell_path(place)}.old"
        return Check("home", "fail", f"{shown} is not a directory", fix=fix)
    if _is_shared(place):
        summary = f"{shown} has other contents; CLEW_HOME needs its own directory"
        return Check("home", "fail", summary, fix=_OWN_PLACE)
    state = place.stat()
    if state.st_uid != os.getuid():
        fix = f"sudo chown -R {os.getuid()} {shell_path(place)}"
        return Check("home", "fail", f"{shown} belongs to another user", fix=fix)
    if refused := write_problem(place):
        return _unwritable(place, shown, refused)
    return _permissions(place, shown, stat.S_IMODE(state.st_mode))


def disk(subject: Subject) -> Check:
    """Whether there is room for what Clew writes."""
    from clew.history.store.sqlite import database_path

    places = [database_path(subject.settings)]
    with suppress(Unavailable):  # another check reports it
        places.append(clew_home())
    tight = dict[str, float]()
    for place in places:
        there = next((one for one in (place, *place.absolute().parents) if one.exists()), Path("/"))
        room = shutil.disk_usage(there)
        if room.total and room.free < _LITTLE:
            tight[show_path(there)] = room.free / 1e6
    if not tight:
        return Check("disk", "ok", "There is room for what Clew writes")
    named = ", ".join(f"{name}: {free:.0f} MB free" for name, free in tight.items())
    return Check("disk", "fail", f"The disk is almost full ({named})", fix="df -h")


def _unwritable(place: Path, shown: str, refused: OSError) -> Check:
    if refused.errno in (errno.EACCES, errno.EPERM):
        fix = f"chmod 700 {shell_path(place)}"
        return Check("home", "fail", f"{shown} is not writable", fix=fix, repair=close_home)
    summary = f"{shown} is not writable: {refused.strerror}"
    return Check("home", "fail", summary, fix=f"df -h {shell_path(place)}")


def secrets(_subject: Subject) -> Check:
    """Whether every file with a secret is private."""
    open_files = _open_secrets()
    if not open_files:
        return Check("secrets", "ok", "No file with a secret is readable by other users")
    summary = f"Readable by other users: {', '.join(map(show_path, open_files))}"
    fix = f"chmod 600 {' '.join(map(shell_path, open_files))}"
    return Check("secrets", "fail", summary, fix=fix, repair=close_secrets)


def close_home(_subject: Subject) -> str:
    """Create Clew's directory, or restrict it to its owner."""
    place = clew_home()
    if place.exists() and _is_shared(place):
        raise Conflict(f"{show_path(place)} has other contents")
    existed = place.exists()
    private_directory(place)
    place.chmod(0o700)
    return f"{'Restricted' if existed else 'Created'} {show_path(place)} (mode 0700)"


def close_secrets(_subject: Subject) -> str:
    """Restrict every file with a secret to its owner."""
    paths = _open_secrets()
    for path in paths:
        path.chmod(0o600)
    return f"Restricted {', '.join(show_path(path) for path in paths)} (mode 0600)"


def _missing_home(place: Path, shown: str) -> Check:
    nearest = next(parent for parent in place.absolute().parents if parent.exists())
    if nearest.is_dir() and write_problem(nearest) is None:
        return Check("home", "ok", f"{shown} is created when first needed", repair=close_home)
    summary = f"{shown} cannot be created: {show_path(nearest)} is not a writable directory"
    return Check("home", "fail", summary, fix=_OWN_PLACE)


def _permissions(place: Path, shown: str, mode: int) -> Check:
    if mode & OTHERS:
        summary = f"{shown} is accessible to other users (mode {mode:04o})"
        fix = f"chmod 700 {shell_path(place)}"
        return Check("home", "warn", summary, fix=fix, repair=close_home)
    return Check("home", "ok", f"{shown}, private (mode {mode:04o})")


def _is_shared(place: Path) -> bool:
    """Whether closing this directory would shut out more than Clew."""
    real = place.resolve()
    sticky = bool(real.stat().st_mode & stat.S_ISVTX)
    try:
        return sticky or Path.home().resolve().is_relative_to(real)
    except RuntimeError:  # nobody knows where home is
        return sticky


def write_problem(place: Path) -> OSError | None:
    """Why no file can be written in this directory."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        return error
    return None


def _open_secrets() -> list[Path]:
    candidates = _own_secrets()
    named = os.environ.get("CLEW_TOKEN_FILE")
    if named:
        with suppress(RuntimeError):  # the home of a user who is not known here
            candidates.append(Path(named).expanduser())
    return sorted({path for path in candidates if path.is_file() and path.stat().st_mode & OTHERS})


def _own_secrets() -> list[Path]:
    try:
        place = clew_home()
    except Unavailable:  # another check reports it
        return []
    return [
        path
        for path in _files(place)
        if _sounds_secret(path.relative_to(place)) and not path.is_symlink()
    ]


def _sounds_secret(path: Path) -> bool:
    return not SECRET_WORDS.isdisjoint(re.split(r"[^a-z]+", str(path).lower()))


def _files(place: Path) -> list[Path]:
    """Clew's own files there; worktrees and clones are other people's."""
    found: list[Path] = []
    for inside in (place, *(place / name for name in _OWN_DIRECTORIES)):
        with suppress(OSError):
            found += [path for path in inside.iterdir() if path.is_file()]
    return found
