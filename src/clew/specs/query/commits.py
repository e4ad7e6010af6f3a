"""What git has of a spec: its commits, found by their subjects or listed, its branch, worktree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from clew.kit.errors import ClewError
from clew.kit.git import guard, run_git
from clew.kit.text.frontmatter import FrontmatterError
from clew.specs.files.parse import read_document, read_file
from clew.specs.model import Spec, words_of
from clew.specs.store.config import Config
from clew.specs.store.store import SpecStore

_AGENT = re.compile(
    rb"\b(claude|anthropic|codex|openai|chatgpt|copilot|cursor|gemini|aider|opencode|devin|kiro)\b",
    re.IGNORECASE,
)
_SHORTEST_SHA = 7


def subject_mark(spec_id: str) -> str:
    """What the subject of a commit for this spec begins with."""
    return f"chant({spec_id}):"


def commits_of(project: Path, spec_id: str) -> list[str]:
    """Short ids of the commits for this spec on any branch, the oldest first."""
    mark = subject_mark(spec_id)
    lines = run_git(
        "log",
        "--branches",
        "--tags",
        "HEAD",
        "--reverse",
        "--fixed-strings",
        f"--grep={mark}",
        "--format=%h %s",
        "--",
        cwd=project,
    )
    pairs = (line.split(" ", 1) for line in lines.decode("utf-8", "replace").splitlines())
    return [pair[0] for pair in pairs if len(pair) == 2 and pair[1].startswith(mark)]


def commits_or_none(project: Path, spec_id: str) -> list[str] | None:
    """The same, or None where git cannot tell: no repository, no commit yet."""
    try:
        return commits_of(project, spec_id)
    except ClewError:
        return None


def listed_commits(
    store: SpecStore, worth: Callable[[bytes], bool] = lambda raw: b"commits" in raw
) -> dict[str, tuple[str, ...]]:
    """What each spec has in its `commits` field; only files that are worth it are taken apart."""
    found: dict[str, tuple[str, ...]] = {}
    for head in store.heads(archived=True):
        with suppress(FrontmatterError, OSError):
            raw = read_file(f"{store.project}/{head.path}", now_ns=0)[0]
            if worth(raw):
                found[head.id] = words_of(read_document(raw).fields.get("commits"))
    return found


def specs_by_commit(
    listed: Mapping[str, Sequence[str]], shas: Iterable[str]
) -> dict[str, list[str]]:
    """The specs that list each of these commits, whole or shortened."""
    wanted: dict[str, list[str]] = {}
    for sha in shas:
        wanted.setdefault(sha[:_SHORTEST_SHA], []).append(sha)
    found: dict[str, list[str]] = {}
    for spec_id, commits in listed.items():
        for short in commits:
            for sha in wanted.get(short[:_SHORTEST_SHA], ()):
                if sha.startswith(short):
                    found.setdefault(sha, []).append(spec_id)
    return found


def specs_listing(store: SpecStore, sha: str) -> list[str]:
    """The specs that list one commit in their `commits` field."""
    start = sha[:_SHORTEST_SHA].encode()
    return specs_by_commit(listed_commits(store, lambda raw: start in raw), [sha]).get(sha, [])


def has_agent_author(project: Path, commits: Sequence[str]) -> bool:
    """Whether one of the commits names an agent as its co-author."""
    if not commits:
        return False
    form = "--format=%(trailers:key=Co-Authored-By,valueonly)"
    trailers = run_git(
        "log", "--no-walk", form, *map(guard, commits), "--", cwd=project, check=False
    )
    return _AGENT.search(trailers) is not None


def branch_of(spec: Spec, config: Config) -> str:
    """The branch that a spec's work is on."""
    return spec.text("branch") or f"{config.text('defaults', 'branch_prefix') or 'chant/'}{spec.id}"


def worktree_of(project: Path, branch: str) -> Path | None:
    """The linked worktree that has this branch checked out."""
    from clew.kit.repository import checkouts

    try:
        place = next((known.path for known in checkouts(project) if known.branch == branch), None)
    except ClewError:
        return None
    is_linked = place is not None and place.is_dir() and place.resolve() != project.resolve()
    return place if is_linked else None


def is_dirty(worktree: Path) -> bool:
    """Whether a worktree has changes that no commit has."""
    return bool(run_git("status", "--porcelain", "-z", cwd=worktree).strip(b"\0"))
