"""What somebody asks about: lines of a file, a file, a symbol, or a commit; and nothing else.

Only files of registered repositories and of the project are ever looked at. A path is compared
with their roots as it is written, and git reads it from its own objects.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from clew.history.lookup import clean_path, find_record
from clew.history.model import Repo
from clew.history.questions.repo_git import line_range, repo_git
from clew.kit.errors import ClewError, Invalid, NotFound
from clew.kit.git import GitError, guard
from clew.kit.text.display import clipped, shown_text
from clew.thread.rooms import Rooms

_PLACE = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?")
_SHA = re.compile(r"[0-9a-f]{7,40}")
_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#)\w+)*")
_LONGEST = 4096
_MOST_LINES = 400
_MOST_BLOCK = 120
# Keywords before a name where it is defined, in common languages.
_DEFINING = (
    r"(def|class|func|fn|function|struct|interface|type|enum|trait|impl|module|mod|macro_rules!|"
    r"const|static|let|var|val|sub|proc|package|namespace|union|define|object|protocol|record)"
)


@dataclass(frozen=True)
class Target:
    """What is asked about, found: `kind` is lines, file, symbol or commit."""

    kind: str
    repo: Repo
    commit: str = ""
    path: str = ""
    start: int = 0
    end: int = 0
    note: str = ""

    @property
    def title(self) -> str:
        """The target as it is shown."""
        if self.kind == "commit":
            return f"{self.repo.name}@{self.commit[:12]}"
        if self.kind == "file":
            return self.path
        span = f"{self.start}" if self.start == self.end else f"{self.start}-{self.end}"
        return f"{self.path}:{span}"


def find_target(rooms: Rooms, text: str, repo_name: str | None = None) -> Target:
    """What the text means; an error says what would be understood."""
    wanted = text.strip()
    if not wanted or len(wanted) > _LONGEST or "\0" in wanted or "\n" in wanted:
        raise Invalid(
            "Nothing to ask about", "Give PATH, PATH:LINE, PATH:LINE-LINE, a symbol or a SHA."
        )
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
    symbol = _symbol(rooms, wanted, repo_name) if _SYMBOL.fullmatch(wanted) else None
    if symbol is not None:
        return symbol
    raise _unknown(rooms, wanted, repo_name)


def _unknown(rooms: Rooms, wanted: str, repo_name: str | None) -> NotFound:
    where = rooms.repo(repo_name).name  # raises if there is no repository at all
    return NotFound(
        f"{where} has no file, symbol or commit '{clipped(shown_text(wanted))}' at HEAD",
        "Give a path from the repository's root, PATH:LINE, a name that is defined, or a SHA.",
    )


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
    return Target("file", repo, path=path) if kind_at_head(repo, path) else None


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
    """Where a name is defined, else where it first occurs."""
    repo = rooms.repo(repo_name)
    last = re.split(r"\.|::|#", name)[-1]
    word = re.escape(last)
    defined = _grep(
        repo,
        rf"(^|[^[:alnum:]_]){_DEFINING}[[:space:]]+(\([^)]*\)[[:space:]]*)?{word}([^[:alnum:]_]|$)",
    )
    assigned = defined or _grep(repo, rf"^[[:space:]]*{word}[[:space:]]*(:[^=]+)?=")
    places = assigned or _grep(repo, rf"(^|[^[:alnum:]_]){word}([^[:alnum:]_]|$)")
    if not places:
        return None
    path, line = _best(places, name)
    others = len(places) - 1
    note = (
        f"'{shown_text(name)}' also occurs in {others} other place{'s'[: others != 1]}"
        if others
        else ""
    )
    start, end = line, (_block_end(repo, path, line) if defined else line)
    return Target("symbol", repo, path=path, start=start, end=end, note=note)


def _best(places: list[tuple[str, int]], name: str) -> tuple[str, int]:
    """The place to ask about: what is no test, then whose path says the other parts, then first."""
    parts = [part.lower() for part in re.split(r"\.|::|#", name)[:-1]]

    def rank(place: tuple[str, int]) -> tuple[bool, int, str, int]:
        path = place[0].lower()
        return "test" in path, -sum(part in path for part in parts), path, place[1]

    return min(places, key=rank)


def _grep(repo: Repo, pattern: str) -> list[tuple[str, int]]:
    try:
        out = repo_git(repo, "grep", "-z", "-n", "-I", "-E", "-m", "5", "-e", pattern, "HEAD", "--")
    except GitError:  # nothing found
        return []
    found = []
    for line in out.split(b"\n"):
        fields = line.split(b"\0", 2)
        if len(fields) == 3 and fields[1].isdigit():
            path = os.fsdecode(fields[0]).removeprefix("HEAD:")
            found.append((path, int(fields[1])))
    return found


def _block_end(repo: Repo, path: str, line: int) -> int:
    """The last line of a definition: where the text is indented as little as its first line."""
    text = os.fsdecode(repo_git(repo, "cat-file", "blob", f"HEAD:{guard(path)}"))
    lines = text.split("\n")
    depth = _indent(lines[line - 1])
    end = line
    for number in range(line, min(len(lines), line + _MOST_BLOCK)):
        content = lines[number]
        if content.strip() and _indent(content) <= depth:
            return number + 1 if content.strip()[0] in "})]" else end
        if content.strip():
            end = number + 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
