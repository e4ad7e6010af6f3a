"""When documents last changed, by git: one call for all of them, and none until HEAD moves."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from clew.history.git.ref_files import RefFiles
from clew.kit import jsontext
from clew.kit.errors import ClewError
from clew.kit.files import write_atomic
from clew.kit.git import open_git
from clew.kit.project import clew_home

_UNTRACKED = 0
_DATE = "\x01"


def committed_dates(project: Path, names: Collection[str]) -> dict[str, int]:
    """The time of the last commit that touched each of these files; without those that none did."""
    head = _head(project)
    if head is None or not names:
        return {}
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:24]
    kept = clew_home() / "texts" / f"dates-{digest}.json"
    dates = _read(kept, head)
    if not dates.keys() >= set(names):
        dates = dict.fromkeys(names, _UNTRACKED) | _asked(project, head, set(names))
        with suppress(OSError, ClewError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(kept, jsontext.dumps({"head": head, "dates": dates}))
    return {name: dates[name] for name in names if dates[name] != _UNTRACKED}


def _head(project: Path) -> str | None:
    root = next((one for one in (project, *project.parents) if (one / ".git").exists()), None)
    try:
        return None if root is None else RefFiles(root).commit("HEAD")
    except (OSError, UnicodeDecodeError):
        return None


def _read(kept: Path, head: str) -> dict[str, int]:
    """What was found out when HEAD was there."""
    try:
        found = jsontext.loads(kept.read_text(encoding="utf-8"))
        return dict(found["dates"]) if found["head"] == head else {}
    except (OSError, UnicodeDecodeError, jsontext.JsonError, KeyError, TypeError, ValueError):
        return {}


def _asked(project: Path, head: str, wanted: set[str]) -> dict[str, int]:
    """What git says, read until every file has its date."""
    dates: dict[str, int] = {}
    for name, date in _touched(project, head):
        if name in wanted:
            dates.setdefault(name, date)
            if len(dates) == len(wanted):
                break
    return dates


def _touched(project: Path, head: str) -> Iterator[tuple[str, int]]:
    """Every Markdown file of every commit with its time, the newest first."""
    words = ("--no-renames", "--no-show-signature", "--relative", "--name-only", "-z")
    shape = f"--format=format:{_DATE}%ct"
    process = open_git("log", *words, shape, head, "--", ":(icase)*.md", cwd=project)
    assert process.stdout is not None
    date = _UNTRACKED
    try:
        for part in _parts(process.stdout.fileno()):
            name = part
            if part.startswith(_DATE):
                told, _, name = part.removeprefix(_DATE).partition("\n")
                date = int(told)
            if name:
                yield name, date
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


def _parts(stream: int) -> Iterator[str]:
    """What git prints, divided at its zeros."""
    rest = b""
    while read := os.read(stream, 1 << 16):
        *whole, rest = (rest + read).split(b"\0")
        yield from map(os.fsdecode, whole)
