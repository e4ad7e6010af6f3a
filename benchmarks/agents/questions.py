"""Questions with known answers, made of any history: what it says of itself after a cut.

Agents see the history up to the cut. The answers are in what came later (fixes that name the
commit they mend), or in git's own blame where `git log -S` agrees with it.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.history.search.pathkind import path_kind

KINDS = ("cause", "reason", "also")
_NAMES = re.compile(
    r"^(?:Fixes:|Follow-?up (?:to|for)|Regression (?:in|from)|Bug introduced in)\s+([0-9a-f]{7,40})\b",
    re.IGNORECASE | re.MULTILINE,
)
_TRAILER = re.compile(
    r"[A-Z][a-z]+(-[a-z]+)*-by:?\s|(Fixes|Closes|Cc|CC|Bug|Bugzilla ID|Reported[- ]\w+|Ref|Link)\b[: ]"
)
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")
_LONGEST = 1200
_SHORTEST_LINE = 25
_TRIED_FILES = 200


@dataclass(frozen=True)
class Question:
    """What an agent is asked, and what is right: commits by SHA, or paths."""

    id: str
    repo: str
    kind: str
    text: str
    right: tuple[str, ...]


@dataclass(frozen=True)
class _Fix:
    sha: str
    report: str
    subject: str
    named: str


class History:
    """A repository with all that came, and the commit at which agents look at it."""

    def __init__(self, directory: Path, cut: str, oldest: str) -> None:
        self._directory = directory
        self.cut = self.git("rev-parse", cut).strip()
        since = f"--since={oldest}"
        self._known = set(self.git("rev-list", "--no-merges", since, self.cut).split())

    def git(self, *arguments: str) -> str:
        """What git prints; nothing where it fails."""
        done = subprocess.run(
            ["git", "-C", str(self._directory), *arguments],
            capture_output=True, check=False,
        )  # fmt: skip
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def later(self) -> Iterator[tuple[str, str]]:
        """SHA and message of what came after the cut."""
        listed = self.git("log", "--no-merges", "--format=%H%n%B%x00", "HEAD", f"^{self.cut}")
        for entry in listed.split("\0"):
            sha, _, message = entry.strip().partition("\n")
            if sha:
                yield sha, message

    def is_known(self, sha: str) -> bool:
        """Whether agents see a commit, and it is young enough to ask about."""
        return sha in self._known

    def full(self, start: str) -> str:
        """The SHA of the only such commit that begins so; empty if there is none."""
        found = [sha for sha in self._known if sha.startswith(start)]
        return found[0] if len(found) == 1 else ""

    def files(self, sha: str) -> list[str]:
        """The paths that a commit changes."""
        listed = self.git("diff-tree", "-r", "--root", "--no-commit-id", "--name-only", sha)
        return listed.split("\n")[:-1]

    def has(self, path: str) -> bool:
        """Whether agents see a file."""
        return bool(self.git("ls-tree", "--name-only", self.cut, "--", path))


def make_questions(name: str, history: History, each: int, seed: int) -> list[Question]:
    """So many questions of each kind, drawn at random."""
    draw = random.Random(seed)
    fixes = list(_fixes(history))
    draw.shuffle(fixes)
    made: list[Question] = []
    makers = (_causes(name, fixes), _reasons(name, history, draw), _forgotten(name, history, fixes))
    for maker in makers:
        for number, question in enumerate(maker):
            if number == each:
                break
            made.append(question)
    return made


def _fixes(history: History) -> Iterator[_Fix]:
    """Later commits that name exactly one commit as the cause."""
    for sha, message in history.later():
        named = {history.full(one.lower()) for one in _NAMES.findall(message)}
        cause = named.pop() if len(named) == 1 else ""
        if cause:
            subject = message.partition("\n")[0]
            report = _report(message, history.git("log", "-1", "--format=%s", cause).strip())
            yield _Fix(sha, report, subject, cause)


def _report(message: str, cause: str) -> str:
    """A fix's message without trailers, and without what names the cause."""
    lines = [line for line in message.split("\n") if not _TRAILER.match(line)]
    paragraphs = "\n".join(lines).split("\n\n")
    kept = [one for one in paragraphs if not _SHA.search(one) and cause not in one]
    return "\n\n".join(kept).strip()[:_LONGEST]


def _causes(name: str, fixes: list[_Fix]) -> Iterator[Question]:
    for fix in fixes:
        if len(fix.report) > 120:
            yield Question(
                f"{name}-cause-{fix.sha[:8]}", name, "cause",
                "A bug in this repository was later fixed with this explanation (the fix is not in"
                f" your history):\n\n{fix.report}\n\nWhich commit in your history introduced the"
                " bug? Answer with one SHA.",
                (fix.named,),
            )  # fmt: skip


def _forgotten(name: str, history: History, fixes: list[_Fix]) -> Iterator[Question]:
    for fix in fixes:
        before = set(history.files(fix.named))
        missed = [
            path
            for path in history.files(fix.sha)
            if path not in before and path_kind(path) in ("code", "test") and history.has(path)
        ]
        if missed and len(before) <= 12:
            shown = " ".join(word for word in fix.subject.split() if "/" not in word)
            yield Question(
                f"{name}-also-{fix.sha[:8]}", name, "also",
                f"Commit {fix.named[:12]} was incomplete: a later commit, '{shown}', had to change"
                " a file that it did not touch. Which file? Answer with up to three paths, the"
                " most likely first.",
                tuple(missed),
            )  # fmt: skip


def _reasons(name: str, history: History, draw: random.Random) -> Iterator[Question]:
    """Lines whose writer blame and pickaxe agree on, and who gave a reason."""
    listed = history.git("log", "--no-merges", "--format=", "--name-only", "-300", history.cut)
    paths = sorted({path for path in listed.split("\n") if path and path_kind(path) == "code"})
    draw.shuffle(paths)
    for path in paths[:_TRIED_FILES]:
        lines = history.git("cat-file", "blob", f"{history.cut}:{path}").split("\n")
        good = [
            number
            for number, line in enumerate(lines, start=1)
            if len(line.strip()) >= _SHORTEST_LINE
            and ";" in line
            and lines.count(line) == 1
            and not line.strip().startswith(("*", "/", "#"))
        ]
        if not good:
            continue
        number = draw.choice(good)
        text = lines[number - 1].strip()
        writer = _writer(history, path, number, text)
        if writer:
            yield Question(
                f"{name}-reason-{path.rpartition('/')[2]}-{number}", name, "reason",
                f"Line {number} of {path} reads `{text}`. Which commit first wrote this line (not"
                " one that moved or reformatted it), and why? Answer with one SHA and one"
                " sentence.",
                (writer,),
            )  # fmt: skip


def _writer(history: History, path: str, number: int, text: str) -> str:
    place = f"-L{number},{number}"
    blamed = history.git("blame", "-l", "-s", "-w", "-M", "-C", place, history.cut, "--", path)
    sha = blamed.partition(" ")[0].lstrip("^")
    if not sha or not history.is_known(sha):
        return ""
    first = history.git("log", "--no-merges", "--format=%H", f"-S{text}", history.cut, "--", path)
    body = history.git("log", "-1", "--format=%b", sha)
    told = [line for line in body.split("\n") if line and not _TRAILER.match(line)]
    return sha if first.split()[-1:] == [sha] and len(" ".join(told)) > 100 else ""
