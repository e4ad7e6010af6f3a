"""When a text came in or went out: literal as `git log -S`, a pattern as `git log -G`.

The text index narrows the commits down by what must occur (`search/needles.py`); every hit is
verified on the stored patch. Patterns run in a process of their own, because a bad one may never
end. Limits are in processor time, and an answer says when one was reached.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from clew.history.lookup import bounded, briefs, chosen_repos, time_range
from clew.history.model import Repo
from clew.history.search.needles import Needles
from clew.history.search.pathmatch import matching_paths
from clew.history.search.unsearched import named_commits
from clew.history.store.engines import pickaxe_module, read_index
from clew.history.store.interface import CommitFilter, Dated, HistoryStore
from clew.kit.errors import Invalid, Unavailable
from clew.kit.text.diff import SECTION, FileDiff, sections

Lines = list[tuple[int, str]]

Matcher = Callable[[FileDiff], tuple[Lines, Lines]]


DIRECTIONS = ("both", "added", "removed")
_SECONDS = 10.0
_PATTERN_SECONDS = 20
_LONGEST_WAIT = 300.0  # on a machine that is busy otherwise
_CLOCK_EVERY = 32  # patches; to read the time of a thread is a call into the kernel
_SHOWN_LINES = 3
_HUNK = "\n@@"
_PLUS, _MINUS = b"+-"
_LINE_CHARACTERS = 200


def find_changes(  # noqa: PLR0913 - a question has as many filters as it has
    store: HistoryStore,
    text: str,
    *,
    regex: bool = False,
    direction: str = "both",
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = 20,
) -> dict[str, Any]:
    """Commits that changed or moved a text, or whose changed lines match a pattern."""
    if not text or "\n" in text:
        raise Invalid("Give the text to look for: a part of one line")
    if direction not in DIRECTIONS:
        raise Invalid(f"direction must be one of {', '.join(DIRECTIONS)}")
    asked = {
        "text": text,
        "regex": regex,
        "direction": direction,
        "repos": [repo.name for repo in chosen_repos(store, repos)],
        "paths": None if paths is None else list(paths),
        "committed": time_range(since, until),
        "limit": bounded(limit),
    }
    try:
        needles = Needles.of_pattern(text) if regex else Needles.of_text(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise Invalid(f"Not a regular expression: {error}") from None
    asked["expressions"] = needles.expressions(store)
    asked["needles"] = needles.groups if needles.is_exact else []
    return _search_apart(store, asked) if regex else _search(store, asked)


def _search_apart(store: HistoryStore, asked: dict[str, Any]) -> dict[str, Any]:
    """The same search in a process that can be ended."""
    visible = None if store.visible is None else sorted(store.visible)
    given = {"index": store.address, "visible": visible, "asked": asked}
    module = pickaxe_module(store.address) or "clew.history.questions.pickaxe"
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=json.dumps(given).encode(),  # not as an argument: it may have a password
            capture_output=True,
            timeout=_LONGEST_WAIT,
            check=False,
        )
        is_ended = done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    except subprocess.TimeoutExpired:
        is_ended = True
    if is_ended:
        raise Invalid(
            f"The pattern took more than {_PATTERN_SECONDS} s of processor time",
            "Make it simpler, or narrow it with paths or since.",
        )
    if done.returncode != 0:
        raise Unavailable(f"The search failed: {done.stderr.decode('utf-8', 'replace')[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _search(store: HistoryStore, asked: dict[str, Any]) -> dict[str, Any]:
    wanted = None if asked["paths"] is None else matching_paths(store, asked["paths"])
    match = _pattern_matcher(asked) if asked["regex"] else _literal_matcher(asked)
    repos = chosen_repos(store, asked["repos"])
    hits: list[Dated] = []
    deadline = time.thread_time() + _SECONDS
    complete = True
    for repo in repos:
        times = _candidates(store, repo, asked, wanted)
        for number, (commit_id, raw) in enumerate(store.patches(times)):
            if number % _CLOCK_EVERY == 0 and time.thread_time() > deadline:
                complete = False
                break
            if not _may_hold(raw, asked) or not _matches(raw, match, asked):
                continue
            if wanted is None or _seen(raw, match, wanted, asked)["lines"]:
                hits.append((times[commit_id], commit_id))
    hits.sort(reverse=True)
    shown = [one for _, one in _newest_and_first(hits, asked["limit"])]
    lines = {one: _seen(raw, match, wanted, asked) for one, raw in store.patches(shown)}
    passing = CommitFilter(repos, paths=wanted, committed=tuple(asked["committed"]))
    found = {commit_id for _, commit_id in hits}
    unseen = [one for one in store.unsearched(passing) if one not in found]
    looked_for = ["-G" if asked["regex"] else "-S", asked["text"]]
    return {
        "total": len(hits),
        "limit": asked["limit"],
        "complete": complete and not unseen,
        "unsearched": 0,
        **named_commits(store, unseen, looked_for),
        "commits": [
            head | lines[one] for head, one in zip(briefs(store, shown), shown, strict=True)
        ],
    }


def _newest_and_first(hits: list[Dated], most: int) -> list[Dated]:
    """The newest, and last of all the first one, which often is the one looked for."""
    if len(hits) <= most or most < 2:
        return hits[:most]
    return [*hits[: most - 1], hits[-1]]


def _may_hold(raw: bytes, asked: dict[str, Any]) -> bool:
    """Whether a patch may have what is looked for."""
    return all(
        any(not text.isascii() or text.encode() in raw for text in group)
        for group in asked["needles"]
    )


def _candidates(
    store: HistoryStore, repo: Repo, asked: dict[str, Any], wanted: dict[int, str] | None
) -> dict[int, int]:
    """Commits that may match, newest first, with their times."""
    columns = "added removed" if asked["direction"] == "both" else asked["direction"]
    expressions: list[str | None] = [None]
    if asked["expressions"] is not None:
        expressions = [f"{{{columns}}} : ({one})" for one in asked["expressions"]]
    found: dict[int, int] = {}
    for one in expressions:
        rows = store.with_patch(repo.repo_id, tuple(asked["committed"]), one, wanted)
        found |= {number: at for at, number in rows}
    return dict(sorted(found.items(), reverse=True)) if len(expressions) > 1 else found


def _matches(raw: bytes, match: Matcher, asked: dict[str, Any]) -> bool:
    """Whether a patch matches in any file; to parse each would take several times as long."""
    if not asked["regex"]:
        return any(_changes(part, match, asked) for part in _sections_with(raw, asked["text"]))
    signs = {"both": "+-", "added": "+", "removed": "-"}[asked["direction"]]
    search = re.compile(asked["text"]).search
    needles = max(asked["needles"], key=lambda group: min(map(len, group)), default=[""])
    patch = raw.decode("utf-8", "replace")
    bodies = (part[part.find("\n@@ ") :] for part in sections(patch) if "\n@@ " in part)
    return any(
        search(line[1:])
        for body in bodies
        for needle in needles
        for line in _lines_with(body, needle)
        if line[:1] in signs and line
    )


def _sections_with(raw: bytes, text: str) -> Iterator[bytes]:
    """The files of a patch that have a text; one that is not plain is looked for in what is shown."""
    if not text.isascii():
        raw = raw.decode("utf-8", "replace").encode()
    looked_for = _encoded(text)
    at = raw.find(looked_for)
    while at >= 0:
        start = raw.rfind(SECTION, 0, at - 1 + len(SECTION)) + 1
        end = raw.find(SECTION, at) + 1 or len(raw)
        yield raw[start:end]
        at = raw.find(looked_for, end)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _lines_with(body: str, needle: str) -> Iterator[str]:
    """The lines that have a text, each once."""
    if not needle:
        yield from body.split("\n")
        return
    at = body.find(needle)
    while at >= 0:
        end = body.find("\n", at)
        end = len(body) if end < 0 else end
        yield body[body.rfind("\n", 0, at) + 1 : end]
        at = body.find(needle, end)


def _changes(section: bytes, match: Matcher, asked: dict[str, Any]) -> bool:
    """Whether the text comes, goes or moves in a file, told without parsing it."""
    if b"\n@@ " not in section:  # a merge, compared with several parents
        return any(match(FileDiff(section.decode("utf-8", "replace"))))
    direction: str = asked["direction"]
    came, went = _occurrences(section, _encoded(asked["text"]))
    if len(came) != len(went):
        return direction != ("removed" if len(came) > len(went) else "added")
    if not came or direction != "both":
        return False
    moved = {_line_at(section, start) for start in went}
    return any(_line_at(section, start) in moved for start in came)


def _occurrences(section: bytes, text: bytes) -> tuple[list[int], list[int]]:
    """Where the added and the removed lines begin that have the text, once for each time."""
    came: list[int] = []
    went: list[int] = []
    at = section.find(text, section.find(b"\n@@ "))
    while at >= 0:
        start = section.rfind(b"\n", 0, at) + 1
        if at == start:  # the sign of the line is no part of it
            at = section.find(text, at + 1)
            continue
        if section[start] == _PLUS:
            came.append(start)
        elif section[start] == _MINUS:
            went.append(start)
        at = section.find(text, at + len(text))
    return came, went


def _line_at(section: bytes, start: int) -> str:
    end = section.find(b"\n", start)
    return section[start + 1 : end if end >= 0 else None].decode("utf-8", "replace").strip()


def _seen(
    raw: bytes, match: Matcher, wanted: dict[int, str] | None, asked: dict[str, Any]
) -> dict[str, Any]:
    """What of a patch matches: how many lines, and the first of them."""
    names = None if wanted is None else set(wanted.values())
    added = removed = 0
    lines: list[dict[str, Any]] = []
    for section in sections(raw.decode("utf-8", "replace")):
        if not _may_have(section, asked):
            continue
        part = FileDiff(_narrowed(section, asked))
        if names is not None and part.path not in names:
            continue
        came, went = match(part)
        added, removed = added + len(came), removed + len(went)
        lines += _shown("-", part.path, went) + _shown("+", part.path, came)
    return {"added": added, "removed": removed, "lines": lines[:_SHOWN_LINES]}


def _may_have(text: str, asked: dict[str, Any]) -> bool:
    """Whether a part of a patch has what every line that matches must have."""
    return all(any(needle in text for needle in group) for group in asked["needles"])


def _narrowed(section: str, asked: dict[str, Any]) -> str:
    """A file's section with only the hunks that may match: each says its own line numbers."""
    header, *hunks = section.split(_HUNK)
    return _HUNK.join([header, *(hunk for hunk in hunks if _may_have(hunk, asked))])


def _shown(sign: str, path: str, lines: Lines) -> list[dict[str, Any]]:
    return [
        {"path": path, "line": number, "sign": sign, "text": text[:_LINE_CHARACTERS]}
        for number, text in lines[:_SHOWN_LINES]
    ]


def _literal_matcher(asked: dict[str, Any]) -> Matcher:
    """Lines with the text, of files where it comes, goes, or is moved as it is."""
    text, direction = asked["text"], asked["direction"]

    def match(part: FileDiff) -> tuple[Lines, Lines]:
        came = [line for line in part.added if text in line[1]]
        went = [line for line in part.removed if text in line[1]]
        more = sum(line[1].count(text) for line in came)
        more -= sum(line[1].count(text) for line in went)
        if more == 0 and direction == "both":
            lines = {line.strip() for _, line in went}
            moved = [line for line in came if line[1].strip() in lines]
            lines = {line.strip() for _, line in moved}
            return moved, [line for line in went if line[1].strip() in lines]
        if (more > 0 and direction != "removed") or (more < 0 and direction != "added"):
            return came, went
        return [], []

    return match


def _pattern_matcher(asked: dict[str, Any]) -> Matcher:
    """Changed lines that match the pattern."""
    search, direction = re.compile(asked["text"]).search, asked["direction"]

    def match(part: FileDiff) -> tuple[Lines, Lines]:
        came = [line for line in part.added if search(line[1])] if direction != "removed" else []
        went = [line for line in part.removed if search(line[1])] if direction != "added" else []
        return came, went

    return match


def main() -> None:
    """Search as the process that was started for a pattern."""
    resource.setrlimit(resource.RLIMIT_CPU, (_PATTERN_SECONDS, _PATTERN_SECONDS + 1))
    given = json.load(sys.stdin)
    visible = None if given["visible"] is None else frozenset(given["visible"])
    with closing(read_index(given["index"], visible)) as store:
        json.dump(_search(store, given["asked"]), sys.stdout)


if __name__ == "__main__":
    main()
