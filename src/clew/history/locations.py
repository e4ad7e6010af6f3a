"""Places in code as people have them at hand: PATH:LINE:COL, a line of a stack trace, a path from here.

A path of another machine, as traces have it, is taken for the file of the repository whose path ends
most like it. Nothing is read but names.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from clew.kit.errors import ClewError
from clew.kit.git import run_git

_NUMBER = r"(?P<line>\d{1,9})"
# What a line of a stack trace looks like, by language.
_TRACES = tuple(
    re.compile(pattern)
    for pattern in (
        rf'\s*File "(?P<path>[^"]+)", line {_NUMBER}(?:, in .*)?',  # Python
        rf"\s*at (?:[^()]* )?\(?(?:file://|webpack:///)?(?P<path>[^\s()]+?):{_NUMBER}:\d+\)?,?",  # JS
        rf"\s*(?:at )?(?P<package>[\w$.]+)\.[\w$<>]+\((?P<path>[\w$.-]+\.\w+):{_NUMBER}\).*",  # Java
        rf"\s*(?P<path>\S+\.go):{_NUMBER}(?: \+0x[0-9a-f]+)?",  # Go
        rf"\s*(?:at |--> |thread '.*' panicked at )(?P<path>[^\s:]+\.rs):{_NUMBER}(?::\d+)?:?",  # Rust
        rf"\s*(?P<path>[^\s:]+\.\w+):{_NUMBER}:(?:\d+:)? .*",  # pytest, compilers, grep
    )
)
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d{1,9})(?:-(?P<end>\d{1,9})|:\d{1,9})?:?")
_FEWEST_PARTS = 2  # of a path that must agree, where the path is of another machine


@dataclass(frozen=True)
class Location:
    """A file by its path, and the lines that are meant, if any."""

    path: str
    start: int | None = None
    end: int | None = None

    @property
    def text(self) -> str:
        """The place as PATH, PATH:LINE or PATH:LINE-LINE."""
        lines = "" if self.start is None else f":{self.start}"
        return f"{self.path}{lines}" + (f"-{self.end}" if self.end is not None else "")


def find_location(root: Path, text: str) -> Location | None:
    """The place that a text names in the checkout at `root`, from where the caller is.

    None where the text names no file there: it may be another thing, or a file that is gone.
    """
    plain = text.strip()
    if not plain or "\0" in plain:
        return None
    for trace in _TRACES:
        found = trace.fullmatch(plain)
        if found is not None:
            parts = found.groupdict()
            package = (parts.get("package") or "").split(".")[:-1]
            path = "/".join([*package, found["path"]])
            known = _known_path(root, path)
            if known is not None:
                return Location(known, int(found["line"]))
    place = _PLACE.fullmatch(plain)
    if place is not None:
        known = _here(root, place["path"])
        if known is not None:
            return Location(known, int(place["line"]), int(place["end"]) if place["end"] else None)
    known = _here(root, plain)
    return None if known is None else Location(known)


def _here(root: Path, text: str) -> str | None:
    """A path as it is typed, from the working directory or from the root, if there is such a file."""
    for start in (_working_directory(), root):
        if start is None:
            continue
        absolute = os.path.normpath(start / Path(text))
        below = _below(root, absolute)
        if below is not None and below != "." and os.path.lexists(root / below):
            return below
    return None


def _working_directory() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None


def _below(root: Path, absolute: str) -> str | None:
    """A path from the root on; also where the root is reached by a link."""
    plain = Path(absolute)
    for place in (absolute, str(Path(os.path.realpath(plain.parent)) / plain.name)):
        for top in (str(root), os.path.realpath(root)):
            if place == top:
                return "."
            if place.startswith(top.rstrip("/") + "/"):
                return place[len(top.rstrip("/")) + 1 :]
    return None


def _known_path(root: Path, path: str) -> str | None:
    """The tracked file that a path of a trace means: itself, or the one with the longest same end."""
    here = _here(root, path)
    if here is not None:
        return here
    wanted = [part for part in path.split("/") if part not in ("", ".", "..")]
    if not wanted:
        return None
    try:
        listed = os.fsdecode(
            run_git("ls-files", "-z", "--", f":(glob)**/{_literal(wanted[-1])}", cwd=root)
        )
    except (ClewError, OSError):
        return None
    ranked = sorted(
        ((_common_end(one.split("/"), wanted), one) for one in listed.split("\0") if one),
        key=lambda found: (-found[0], found[1]),
    )
    if not ranked or ranked[0][0] < min(_FEWEST_PARTS, len(wanted)):
        return None
    is_clear = len(ranked) == 1 or ranked[0][0] > ranked[1][0]
    return ranked[0][1] if is_clear else None


def _common_end(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


def _literal(name: str) -> str:
    return re.sub(r"([*?\[\]\\])", r"\\\1", name)
