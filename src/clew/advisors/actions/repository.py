"""What a repository tells about a change to come: how it is tested, and which files it will touch."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from clew.advisors.extract.similarity import tokens
from clew.kit.files import regular_text
from clew.kit.git import git_text_or_none
from clew.kit.jsontext import JsonError, loads
from clew.kit.paths import CHANT

_MOST_COMMITS: Final = 600
_LARGEST_COMMIT: Final = 30  # a commit of more files says little about any of them
_MOST_FILES: Final = 6
_CHARACTERS: Final = 200_000
_NAMED: Final = 4  # what a file that has a name of the text in it weighs
IDENTIFIER: Final = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[A-Z]\w*)\b"
)
_SKIPPED: Final = (f"{CHANT}/", "docs/", "CHANGELOG")


class Likely(NamedTuple):
    """The files that a change will probably touch, and who changed them most."""

    files: tuple[str, ...] = ()
    people: tuple[str, ...] = ()


def suite_command(project: Path) -> str:
    """The command that runs a project's tests, as far as its files say one."""
    if re.search(r"^test\s*:", _text(project / "Makefile"), re.MULTILINE):
        return "make test"
    try:
        manifest = loads(_text(project / "package.json") or "{}")
    except JsonError:
        manifest = {}
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    if isinstance(scripts, dict) and "no test specified" not in str(scripts.get("test", "no test specified")):  # fmt: skip
        return "npm test"
    if "pytest" in _text(project / "pyproject.toml") or (project / "pytest.ini").is_file():
        return "pytest -q"
    if (project / "Cargo.toml").is_file():
        return "cargo test"
    return "go test ./..." if (project / "go.mod").is_file() else ""


def likely_files(project: Path, words: str) -> Likely:
    """Files that have a name of the text in them, or whose names or commits' subjects speak of the same."""
    wanted = tokens(words)
    weights: Counter[str] = Counter()
    people: Counter[str] = Counter()
    commits = _commits(project)
    present = frozenset(paths_of(project, "ls-files", "-z"))
    for author, subject, files in commits:
        shared = len(wanted & tokens(subject))
        if shared and len(files) <= _LARGEST_COMMIT:
            people[author] += shared
            weights.update(dict.fromkeys(files, shared))
    for name in dict.fromkeys(IDENTIFIER.findall(words)):
        weights.update(dict.fromkeys(_naming(project, name), _NAMED))
    for path in present:
        weights[path] += 2 * len(wanted & tokens(re.sub(r"[/._-]", " ", path)))
    best = [path for path, weight in weights.most_common() if weight > 1 and path in present]
    chosen = [path for path in best if not path.startswith(_SKIPPED)][:_MOST_FILES]
    return Likely(tuple(chosen), tuple(name for name, _ in people.most_common(2)))


def paths_of(project: Path, *words: str) -> list[str]:
    """The paths that git lists, each ended by a NUL; none where there is no repository."""
    return (git_text_or_none(project, *words) or "").split("\0")[:-1]


def _text(path: Path) -> str:
    try:
        return regular_text(path, _CHARACTERS)
    except OSError:
        return ""


def _naming(project: Path, name: str) -> list[str]:
    """The files that have a name in them; one that is in many says little about any of them."""
    found = paths_of(project, "grep", "-l", "-z", "-w", "-F", "-e", name)
    return found if len(found) <= _LARGEST_COMMIT else []


def _commits(project: Path) -> list[tuple[str, str, list[str]]]:
    """Author, subject and files of the last commits."""
    words = (
        "log",
        "-n",
        str(_MOST_COMMITS),
        "--no-merges",
        "--name-only",
        "--format=%x1e%an%x1f%s",
    )
    found = []
    for record in filter(None, (git_text_or_none(project, *words) or "").split("\x1e")):
        head, _, files = record.partition("\n")
        author, _, subject = head.partition("\x1f")
        found.append((author, subject, [line for line in files.split("\n") if line]))
    return found
