"""Who last touched lines, and the commits that touched them before."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from clew.history.lookup import page
from clew.history.model import Repo
from clew.history.repo_git import line_range, repo_git, resolve, tracked
from clew.history.store.interface import HistoryStore
from clew.kit.git import PLAIN_DIFF, seconds_of
from clew.kit.text.diff import unquote

_NUMBERS = re.compile(rb"\d{1,9}(?: \d{1,9}){1,2}")
_FIELDS = "%H%x00%aN%x00%aE%x00%at%x00%s%x00"


class BlamedLine(NamedTuple):
    """A line of a file: its commit, its numbers then and now, and what git says of the commit."""

    sha: str
    old: int
    new: int
    facts: dict[str, str]
    text: str


def blame(
    store: HistoryStore,
    repo_name: str,
    path: str,
    *,
    start: int | None = None,
    end: int | None = None,
    rev: str = "HEAD",
    limit: int = 100,
) -> dict[str, Any]:
    """The commit behind each line of a file: moved and copied lines followed, spaces ignored."""
    repo, (first, last), commit, name = _lines(store, repo_name, path, (start, end), rev)
    span = () if start is None and end is None else ("-L", f"{first},{last}")
    output = repo_git(
        repo, "blame", "-w", "-M", "-C", "--porcelain", "--no-textconv", *span, commit, "--", name
    )
    merged = _merged(map(_entry, porcelain(output)))
    found = page("lines", merged, limit, repo=repo.name, path=name, rev=commit)
    known = store.known(repo.repo_id, {entry["sha"] for entry in found["lines"]})
    for entry in found["lines"]:
        entry["indexed"] = entry["sha"] in known
    return found


def _lines(
    store: HistoryStore, repo_name: str, path: str, lines: tuple[int | None, int | None], rev: str
) -> tuple[Repo, tuple[int, int | None], str, str]:
    """The repository, the lines, the commit and the file that were named."""
    repo = store.find_repo(repo_name)
    wanted = line_range(*lines)
    commit = resolve(repo, rev)
    return repo, wanted, commit, tracked(repo, commit, path)


def porcelain(output: bytes) -> Iterator[BlamedLine]:
    """What git says of each line of a file."""
    commits: dict[str, dict[str, str]] = {"": {}}
    sha, old, new = "", 0, 0
    for line in output.split(b"\n"):
        words = line.split(b" ")
        if line.startswith(b"\t"):
            yield BlamedLine(sha, old, new, commits[sha], line[1:].decode("utf-8", "replace"))
        elif len(words[0]) in (40, 64) and _NUMBERS.fullmatch(line[len(words[0]) + 1 :]):
            sha, old, new = words[0].decode("ascii", "replace"), int(words[1]), int(words[2])
            commits.setdefault(sha, {})
        elif line:
            key, _, value = line.partition(b" ")
            text = unquote(value) if key == b"filename" else value.decode("utf-8", "replace")
            commits[sha][key.decode("ascii", "replace")] = text


def _entry(line: BlamedLine) -> dict[str, Any]:
    facts = line.facts
    return {
        "start": line.new,
        "end": line.new,
        "sha": line.sha,
        "subject": facts.get("summary", ""),
        "author": facts.get("author", ""),
        "email": facts.get("author-mail", "").strip("<>"),
        "date": seconds_of(facts.get("author-time", "")),
        "path": facts.get("filename", ""),
        "line": line.old,
        "previous": facts.get("previous", "").partition(" ")[0] or None,
    }


def _merged(entries: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring lines of the same commit and file as one entry."""
    merged: list[dict[str, Any]] = []
    for entry in entries:
        last = merged[-1] if merged else None
        if (
            last is not None
            and (last["sha"], last["path"]) == (entry["sha"], entry["path"])
            and entry["line"] - last["line"] == entry["start"] - last["start"]
        ):
            last["end"] = entry["end"]
        else:
            merged.append(entry)
    return merged


def line_history(
    store: HistoryStore,
    repo_name: str,
    path: str,
    start: int,
    *,
    end: int | None = None,
    rev: str = "HEAD",
    limit: int = 20,
) -> dict[str, Any]:
    """The commits that changed lines of a file, newest first."""
    repo, (first, last), commit, name = _lines(store, repo_name, path, (start, end), rev)
    output = repo_git(
        repo, "log", "--no-patch", *PLAIN_DIFF, "--encoding=UTF-8", f"--format={_FIELDS}",
        f"-L{first},{last}:{name}", commit, "--",
    )  # fmt: skip
    fields = os.fsdecode(output).split("\x00")
    found = [_commit(fields[at : at + 5]) for at in range(0, len(fields) - 5, 5)]
    return page("commits", found, limit, repo=repo.name, path=name, rev=commit)


def _commit(fields: list[str]) -> dict[str, Any]:
    sha, author, email, date, subject = (
        field.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for field in fields
    )
    return {
        "sha": sha.strip(),
        "subject": subject,
        "author": author,
        "email": email,
        "date": seconds_of(date),
    }
