"""What somebody asks about: lines of a file, a file, a symbol, a commit, or a spec; nothing else.

Only files of registered repositories and of the project are ever looked at. A path is compared
with their roots as it is written, and git reads it from its own objects.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from clew.history.locations import find_location
from clew.history.lookup import clean_path, find_record
from clew.history.model import Repo
from clew.history.repo_git import line_range, repo_git
from clew.kit.errors import ClewError, Invalid, NotFound
from clew.kit.git import GitError, guard
from clew.kit.text.display import clipped, shown_text
from clew.thread.rooms import Rooms
from clew.thread.why.definitions import SYMBOL, Spot, find_spots

_PLACE = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?")
_COLUMN = re.compile(r":\d+:\d+:?$|:\d+:$")
_SHA = re.compile(r"[0-9a-f]{7,64}")
_LONGEST = 4096
_MOST_LINES = 400
_MOST_SPOTS = 5


@dataclass(frozen=True)
class Target:
    """What is asked about, found: `kind` is lines, file, directory, symbol, places, commit or spec."""

    kind: str
    repo: Repo
    commit: str = ""
    path: str = ""
    start: int = 0
    end: int = 0
    note: str = ""
    places: tuple[Spot, ...] = ()

    @property
    def title(self) -> str:
        """The target as it is shown."""
        if self.kind == "commit":
            return f"{self.repo.name}@{self.commit[:12]}"
        if self.kind in ("file", "directory", "places", "spec"):
            return self.path
        span = f"{self.start}" if self.start == self.end else f"{self.start}-{self.end}"
        return f"{self.path}:{span}"


def find_target(rooms: Rooms, text: str, repo_name: str | None = None) -> Target:
    """What the text means; an error says what would be understood."""
    wanted = text.strip()
    if not wanted or len(wanted) > _LONGEST or "\0" in wanted or "\n" in wanted:
        raise Invalid(
            "Nothing to ask about",
            "Give PATH, PATH:LINE, PATH:LINE-LINE, a symbol, a SHA or a spec.",
        )
    wanted = _plain_place(rooms, wanted, repo_name)
    if _SHA.fullmatch(wanted):
        found = _commit(rooms, wanted, repo_name)
        if found is not None:
            return found
    place = _PLACE.fullmatch(wanted)
    if place is not None:
        return _lines(rooms, place, repo_name)
    tracked = _file(rooms, wanted, repo_name)
    if tracked is not None:
        return tracked
    symbol = _symbol(rooms, wanted, repo_name) if SYMBOL.fullmatch(wanted) else None
    if symbol is not None:
        return symbol
    spec = _spec(rooms, wanted, repo_name)
    if spec is not None:
        return spec
    raise _unknown(rooms, wanted, repo_name)


def _plain_place(rooms: Rooms, wanted: str, repo_name: str | None) -> str:
    """A line of a stack trace, or PATH:LINE:COL, as the place that it names here."""
    if " " not in wanted and not _COLUMN.search(wanted):
        return wanted
    repo = rooms.repo(repo_name) if repo_name else rooms.own_repo()
    place = find_location(Path(repo.local_path), wanted) if repo is not None else None
    return wanted if place is None else place.text


def _unknown(rooms: Rooms, wanted: str, repo_name: str | None) -> NotFound:
    where = rooms.repo(repo_name).name  # raises if there is no repository at all
    return NotFound(
        f"{where} has no file, symbol, commit or spec '{clipped(shown_text(wanted))}' at HEAD",
        "Give a path from the repository's root, PATH:LINE, a name that is defined, a SHA, or a spec's id.",
    )


def _spec(rooms: Rooms, wanted: str, repo_name: str | None) -> Target | None:
    """The project's spec with exactly this id."""
    if rooms.specs is None or repo_name:
        return None
    try:
        found = rooms.specs.load(wanted).id
    except ClewError:
        return None
    return Target("spec", rooms.repo(), path=found) if found == wanted else None


def _commit(rooms: Rooms, sha: str, repo_name: str | None) -> Target | None:
    """The commit that begins so: in the named repository, in the project's, or in the index."""
    asked = rooms.repo(repo_name) if repo_name else rooms.own_repo()
    if asked is not None:
        try:
            found = repo_git(
                asked, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}^{{commit}}"
            )
            return Target("commit", asked, found.decode("ascii").strip())
        except ClewError:
            pass
    if rooms.history is None or repo_name:
        return None
    for repo in rooms.history.repos():
        try:
            row = find_record(rooms.history, repo.name, sha, "")
        except NotFound:
            continue
        return Target("commit", repo, row.sha)
    return None


def _lines(rooms: Rooms, place: re.Match[str], repo_name: str | None) -> Target:
    repo, path = locate(rooms, place[1], repo_name)
    first, last = line_range(int(place[2]), int(place[3]) if place[3] else None)
    end = first if last is None else last
    if end - first >= _MOST_LINES:
        raise Invalid(f"More than {_MOST_LINES} lines", "Ask for fewer, or for the whole file.")
    return Target("lines", repo, path=path, start=first, end=end)


def _file(rooms: Rooms, text: str, repo_name: str | None) -> Target | None:
    try:
        repo, path = locate(rooms, text, repo_name)
    except Invalid:
        if "/" in text or text.startswith((".", "~", "-")):
            raise
        return None
    kind = {"blob": "file", "tree": "directory"}.get(kind_at_head(repo, path))
    return Target(kind, repo, path=path) if kind else None


def locate(rooms: Rooms, text: str, repo_name: str | None = None) -> tuple[Repo, str]:
    """The repository that a path is in, and the path from its root."""
    if repo_name:
        repo = rooms.repo(repo_name)
        return repo, _below([repo], text)[1] if text.startswith("/") else clean_path(text)
    if text.startswith("/"):
        return _below(rooms.allowed(), text)
    repo = rooms.repo()
    return repo, clean_path(_from_here(repo, text))


def _below(repos: list[Repo], text: str) -> tuple[Repo, str]:
    plain = os.path.normpath(text)
    for repo in sorted(repos, key=lambda one: -len(one.local_path)):
        for root in {repo.local_path, os.path.realpath(repo.local_path)}:
            if plain.startswith(root.rstrip("/") + "/"):
                return repo, clean_path(plain[len(root.rstrip("/")) + 1 :])
    raise Invalid(
        f"Not in a registered repository: {clipped(shown_text(text))}",
        "Only registered repositories and the project are read: clew history add-repo PATH",
    )


def _from_here(repo: Repo, text: str) -> str:
    """A path as it is typed in a directory of the repository, or from its root."""
    plain = text.removeprefix("./")
    try:
        below = Path.cwd().resolve().relative_to(Path(repo.local_path).resolve())
    except (OSError, ValueError):
        return plain
    joined = os.path.normpath(below / plain)
    if joined.startswith(".."):
        return text
    is_here = str(below) != "." and (Path(repo.local_path) / joined).exists()
    return joined if is_here or ".." in plain.split("/") else plain


def kind_at_head(repo: Repo, path: str) -> str:
    """`blob` or `tree` if HEAD has the path, else nothing."""
    try:
        found = repo_git(repo, "cat-file", "-t", f"HEAD:{guard(path)}")
    except GitError:
        return ""
    return found.decode("ascii").strip()


def _symbol(rooms: Rooms, name: str, repo_name: str | None) -> Target | None:
    """Where a name is defined; where it could mean several, all of them."""
    repo = rooms.repo(repo_name)
    found = find_spots(repo, name)
    if found is None:
        return None
    what = "is defined" if found.is_defined else "has no definition that was found; it occurs"
    if len(found.meant) > 1:
        note = f"'{shown_text(name)}' {what} in {len(found.meant)} places: ask for one of them"
        return Target("places", repo, path=name, note=note, places=found.meant)
    spot = found.meant[0]
    note = "" if found.is_defined else f"'{shown_text(name)}' {what} here only"
    if found.others:
        listed = ", ".join(f"{one.path}:{one.start}" for one in found.others[:_MOST_SPOTS])
        more = len(found.others) - _MOST_SPOTS
        note = f"also defined in {listed}{f' and {more} more' if more > 0 else ''}"
    return Target("symbol", repo, path=spot.path, start=spot.start, end=spot.end, note=note)
