"""Which project a call is about, and where Clew keeps what belongs to the user.

Nothing here may import what a cold start cannot afford, such as `pathlib` before it is needed.
"""
# ruff: noqa: PTH109, PTH110, PTH111, PTH112, PTH100, PTH113, PTH114, PTH115, PTH116, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import stat

from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.kit.text.display import clipped, os_reason, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PROJECT_VARIABLES = ("CLEW_PROJECT", "CLAUDE_PROJECT_DIR")
_MARKERS = (".git", ".chant", ".agent")
_HOME_MARKERS = (".git", ".chant")  # ~/.agent holds a user's own commands, not a project
_BARE = ("HEAD", "objects", "refs")
_EXISTING = "Name an existing directory."
_LONGEST_LINK = 4096
_MOST_LINKS = 40  # as many as Linux follows


def clew_home() -> Path:
    """Where Clew keeps conversations, settings and secrets: `CLEW_HOME` or `~/.clew`."""
    from pathlib import Path

    named = os.environ.get("CLEW_HOME")
    try:
        return Path(named or "~/.clew").expanduser()
    except RuntimeError:
        what = f"CLEW_HOME ({shown_path(named)})" if named else "~/.clew"
        raise Unavailable(
            f"{what} is in the home directory of a user that is not known here",
            "Set CLEW_HOME to the full path of a directory.",
        ) from None


def load_secret(name: str) -> bytes:
    """The user's secret of that name, made at its first use; safe when two processes race."""
    import secrets
    from contextlib import suppress

    from clew.kit.files import private_directory, write_new

    path = private_directory(clew_home() / "secrets") / name
    if not path.exists():
        with suppress(FileExistsError):  # another process was first; then its secret counts
            write_new(path, secrets.token_bytes(32), mode=0o600)
    return path.read_bytes()


def find_project(explicit: str | None = None, settings: Mapping[str, str] | None = None) -> Path:
    """The project's root.

    Asked for in this order: the explicit argument, `--project`, `CLEW_PROJECT`,
    `CLAUDE_PROJECT_DIR`, the working directory. From there the nearest ancestor with a
    project's mark counts, and a linked worktree leads to its main checkout.
    """
    from pathlib import Path

    start, root = project_directory(explicit, settings)
    if root is None:
        raise NotFound(
            f"No project found in {shown_path(start)} or above it",
            "Run in a git repository, or name one with --project or CLEW_PROJECT.",
        )
    return Path(root)


def find_repository(settings: Mapping[str, str] | None = None) -> Path | None:
    """The git repository that the project is, or is in; None where there is none.

    A linked worktree leads to its main checkout, and a bare directory is one by itself.
    """
    from pathlib import Path

    start, root = project_directory(None, settings)
    for directory in _with_parents(root or start):
        if os.path.exists(os.path.join(directory, ".git")):
            return Path(_main_checkout(directory))
        if all(os.path.exists(os.path.join(directory, name)) for name in _BARE):
            return Path(directory)
    return None


def project_directory(
    explicit: str | None = None, settings: Mapping[str, str] | None = None
) -> tuple[str, str | None]:
    """The directory that was named or is the working one, and the project's root where it has one."""
    named = explicit or (settings or {}).get("project")
    named = named or next((v for v in map(os.environ.get, PROJECT_VARIABLES) if v), None)
    start = os.path.realpath(_named_directory(named) if named else _working_directory())
    root = _marked_ancestor(start)
    if root is None:
        return start, start if named else None
    return start, _main_checkout(root)


def _named_directory(named: str) -> str:
    """The directory of this name; everything that a name can do wrong is said in plain words."""
    shown = clipped(shown_path(named))
    if "\0" in named:
        raise Invalid("A project's path cannot contain a NUL character", _EXISTING)
    place = os.path.expanduser(named)
    if place.startswith("~"):
        raise NotFound(f"No such project directory: {shown} (no such user)", _EXISTING)
    try:
        if stat.S_ISDIR(os.stat(place).st_mode):
            return place
    except UnicodeEncodeError:
        raise Invalid(f"No path can be called {shown}", _EXISTING) from None
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise NotFound(f"No usable project directory: {os_reason(error)}", _EXISTING) from error
    raise NotFound(f"No such project directory: {shown}", _EXISTING)


def followed(path: str | os.PathLike[str]) -> str:
    """The path with its links followed; refused where one leads out of the project that it lies in.

    Whatever reads or writes a file of a project asks this first: a clone can bring links, and what
    they lead to is not the project's. Links in the user's home, and outside of projects, are the user's.
    """
    given = os.path.abspath(path)
    real = os.path.realpath(given)
    if real == given:
        return real
    for link in _links_on(given):
        root = _marked_ancestor(os.path.dirname(link))
        if root and root != _home() and not _is_below(real, root):
            raise Invalid(
                f"{clipped(shown_path(given))} leads out of the project, by the link {clipped(shown_path(link))}",
                "Put a file or directory in the place of the link.",
            )
    return real


def _links_on(path: str) -> Iterator[str]:
    """Each link that the system meets on its way to a path, by its own real place."""
    done, left, most = "/", path.split("/")[:0:-1], _MOST_LINKS
    while left and most:
        part = left.pop()
        if part == os.pardir:
            done = os.path.dirname(done)
        elif part not in ("", os.curdir):
            place = os.path.join(done, part)
            if os.path.islink(place):
                yield place
                most -= 1
                target = os.readlink(place)
                done = "/" if target.startswith("/") else done
                left += target.split("/")[::-1]
            else:
                done = place


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def _home() -> str:
    return os.path.realpath(os.path.expanduser("~"))


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise NotFound("The working directory is gone", "Change to one that exists.") from None
    except OSError as error:
        hint = "Change to one that you may read."
        raise NotFound(f"The working directory is unusable: {os_reason(error)}", hint) from error


def _marked_ancestor(start: str) -> str | None:
    home = _home()
    for directory in _with_parents(start):
        markers = _HOME_MARKERS if directory == home else _MARKERS
        # A directory that may not be searched has no mark.
        if any(os.path.exists(os.path.join(directory, marker)) for marker in markers):
            return directory
    return None


def _with_parents(directory: str) -> Iterator[str]:
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _main_checkout(root: str) -> str:
    """The checkout that a linked worktree belongs to, as git's own files say on both sides, or this one."""
    git_directory = _content(os.path.join(root, ".git")).removeprefix("gitdir: ")
    if not git_directory:
        return root
    git_directory = os.path.join(root, git_directory)
    common = _content(os.path.join(git_directory, "commondir"))
    main = os.path.realpath(os.path.join(git_directory, common)) if common else ""
    is_main = os.path.basename(main) == ".git" and os.path.isdir(main)
    return os.path.dirname(main) if is_main and _is_worktree(git_directory, main, root) else root


def _is_worktree(git_directory: str, main: str, root: str) -> bool:
    """Whether the main checkout knows this worktree; anybody can write into an archive that it does."""
    git_directory = os.path.realpath(git_directory)
    back = os.path.join(git_directory, _content(os.path.join(git_directory, "gitdir")))
    is_known = os.path.dirname(git_directory) == os.path.join(main, "worktrees")
    return is_known and os.path.realpath(back) == os.path.realpath(os.path.join(root, ".git"))


def _content(path: str) -> str:
    """The line in a small file, or nothing."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(_LONGEST_LINK).rstrip("\n")
    except OSError:
        return ""
