"""What commits changed, hunk by hunk: of chosen files or with a text, never cut inside a hunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clew.history.lookup import find_record, patch_text
from clew.history.search.pathkind import path_kind
from clew.history.search.pathmatch import matching_paths
from clew.history.store.interface import HistoryStore
from clew.kit.text.diff import FileDiff, Hunk, file_diffs

_MOST_COMMITS = 20
_LONG_HUNK = 24  # lines; of a longer one, what is near the text
_NEAR = 4
_LEFT_OUT = "[…]"


def commit_hunks(
    store: HistoryStore,
    repo_name: str,
    shas: Sequence[str],
    *,
    paths: Sequence[str] | None = None,
    code_only: bool = False,
    text: str | None = None,
    max_chars: int = 2500,
) -> dict[str, Any]:
    """Messages, files and hunks of commits, as many as fit; of those with a text, only hunks."""
    wanted = None if paths is None else set(matching_paths(store, paths).values())
    commits: list[dict[str, Any]] = []
    room = max_chars
    for sha in list(dict.fromkeys(shas))[:_MOST_COMMITS]:
        record = find_record(store, repo_name, sha, f"Commit {repo_name}:{sha} not found")
        patch = patch_text(store, record.id)
        parts = list(file_diffs(patch or ""))
        shown: list[dict[str, Any]] = []
        left = 0
        for part, hunk in _chosen(parts, wanted, text, code_only=code_only):
            lines = hunk.lines if text is None else _near(hunk, text)
            entry = {"path": part.path, "hunk": "\n".join([hunk.header, *lines])}
            if len(entry["hunk"]) > room and (shown or commits):
                left += 1
                continue
            shown.append(entry)
            room -= len(entry["hunk"])
        commits.append(
            {
                "sha": record.sha,
                "subject": record.subject,
                "body": record.body if text is None else None,
                "author": record.author,
                "date": record.date,
                "files": _unread(store, record.id)
                if patch is None
                else [_file(part) for part in parts if text is None],
                "hunks": shown,
                "left_out": left,
            }
        )
    return {"repo": repo_name, "total": len(set(shas)), "commits": commits}


def _near(hunk: Hunk, text: str) -> list[str]:
    """The lines of a long hunk that are near a text; all of a short one."""
    if len(hunk.lines) <= _LONG_HUNK:
        return hunk.lines
    places = [at for at, line in enumerate(hunk.lines) if text in line and line[:1] in "+-"]
    near = {n for at in places for n in range(at - _NEAR, at + _NEAR + 1)}
    shown: list[str] = []
    for number, line in enumerate(hunk.lines):
        if number in near:
            shown.append(line)
        elif not shown or shown[-1] != _LEFT_OUT:
            shown.append(_LEFT_OUT)
    return shown


def chosen_patch(
    store: HistoryStore,
    repo_name: str,
    sha: str,
    *,
    paths: Sequence[str] | None = None,
    code_only: bool = False,
    text: str | None = None,
    max_chars: int | None = None,
) -> dict[str, Any]:
    """Whole hunks of a patch under the heads of their files, as many as fit, and how many not."""
    record = find_record(store, repo_name, sha, f"Patch {repo_name}:{sha} not found")
    wanted = None if paths is None else set(matching_paths(store, paths).values())
    parts = list(file_diffs(patch_text(store, record.id) or ""))
    written: list[str] = []
    size = left = 0
    last = None
    for part, hunk in _chosen(parts, wanted, text, code_only=code_only):
        lines = [*([] if part is last else [part.header]), hunk.header, *hunk.lines]
        size += sum(len(line) + 1 for line in lines)
        if max_chars is not None and size > max_chars and written:
            left += 1
            continue
        written += lines
        last = part
    text = "\n".join([*written, ""]) if written else ""
    return {"repo": repo_name, "sha": record.sha, "patch_text": text, "left_out": left}


def _chosen(
    parts: list[FileDiff], wanted: set[str] | None, text: str | None, *, code_only: bool
) -> Iterator[tuple[FileDiff, Hunk]]:
    """Hunks of the files asked for that change a text, programs before tests and prose."""
    order = ("code", "test", "prose", "generated")
    for part in sorted(parts, key=lambda part: order.index(path_kind(part.path))):
        if wanted is not None and part.path not in wanted:
            continue
        if code_only and path_kind(part.path) != "code":
            continue
        for hunk in part.hunks:
            if text is None or any(text in line for sign in "+-" for line in hunk.texts(sign)):
                yield part, hunk


def _unread(store: HistoryStore, commit_id: int) -> list[str]:
    """The files of a commit whose patch the index does not have."""
    return [
        f"{file.path} (not read: too large, or not in the clone)"
        for file in store.files([commit_id])[commit_id]
    ]


def _file(part: FileDiff) -> str:
    """A line for each file: its name and how much changed."""
    name = part.path if part.path == part.old_path else f"{part.old_path} => {part.path}"
    return f"{name} +{len(part.added)} -{len(part.removed)}"
