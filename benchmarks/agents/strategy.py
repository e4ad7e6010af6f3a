"""What a simple agent does: the same few commands for every question of a kind, in both arms.

It reads the first answer and believes it. So it measures what an answer says at once, and how much
has to be read for it; an agent that thinks asks again, and does better in both arms.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_NAME = re.compile(r"\b[A-Za-z]\w*_\w+\b|\b[a-z]+[a-z0-9]*[A-Z]\w+\b")
_WORD = re.compile(r"[A-Za-z]{6,}")
_SHA = re.compile(r"^[0-9a-f]{7,40}(?= )", re.MULTILINE)
_PATH = re.compile(r"[\w.+-]+(?:/[\w.+-]+)+")
_MOST_NAMES = 3

Run = Callable[[str], str]


@dataclass(frozen=True)
class Asked:
    """A question as an agent reads it."""

    kind: str
    text: str

    @property
    def report(self) -> str:
        """The message of the fix that a cause is asked for."""
        return self.text.split("\n\n", 1)[1].rpartition("\n\nWhich commit")[0]

    @property
    def line(self) -> tuple[str, str, str]:
        """Number, path and text of the line that a reason is asked for."""
        found = re.match(r"Line (\d+) of (\S+) reads `(.*)`\. Which", self.text, re.DOTALL)
        assert found is not None
        return found[1], found[2], found[3]

    @property
    def incomplete(self) -> tuple[str, str]:
        """The incomplete commit, and what completed it."""
        found = re.match(r"Commit (\w+) was incomplete: a later commit, '(.*)', had", self.text)
        assert found is not None
        return found[1], found[2]


def with_clew(asked: Asked, run: Run) -> str:
    """One command for each question."""
    if asked.kind == "cause":
        return _first(run(f"clew culprit {shlex.quote(asked.report)}"))
    if asked.kind == "reason":
        number, path, _ = asked.line
        return _first(run(f"clew why {shlex.quote(f'{path}:{number}')}"))
    sha, about = asked.incomplete
    return _paths(run(f"clew co-change {sha} --about {shlex.quote(about)}"), ())


def with_git(asked: Asked, run: Run) -> str:
    """What finds most with least of git: pickaxe for texts, the words of a message, grep for users."""
    if asked.kind == "cause":
        return _git_cause(asked, run)
    if asked.kind == "reason":
        _, path, text = asked.line
        words = f"git log --format='%h %as %s%n%b' -S{shlex.quote(text)} -- {shlex.quote(path)}"
        return _last(run(words))
    sha, about = asked.incomplete
    changed = run(f"git show --format=%s --stat=200 {sha} | head -60")
    own = _PATH.findall(changed)
    names = _names(run(f"git show --format= -U0 {sha} | head -c 3000"))
    wanted = _names(about) or names
    users = run(f"git grep -l -w {_either(wanted)} | head -40") if wanted else ""
    return _paths(users, own)


def _git_cause(asked: Asked, run: Run) -> str:
    names = _names(asked.report)
    for name in names:
        found = run(f"git log --no-merges --format='%h %as %s' -S{shlex.quote(name)} | tail -5")
        if found.strip():
            sha = _last(found)
            run(f"git show --format='%h %as %s%n%b' --stat {sha} | head -40")
            return sha
    words = sorted(set(_WORD.findall(asked.report.partition("\n")[0])), key=len)[-2:]
    greps = " ".join(f"--grep={word}" for word in words)
    found = run(f"git log --no-merges -i --all-match --format='%h %as %s' {greps} | head -10")
    return _first(found)


def _names(text: str) -> list[str]:
    """The longest names in a text: they say most."""
    return sorted(set(_NAME.findall(text)), key=lambda name: (-len(name), name))[:_MOST_NAMES]


def _either(names: Sequence[str]) -> str:
    return " ".join(f"-e {shlex.quote(name)}" for name in names)


def _first(text: str) -> str:
    found = _SHA.search(text)
    return found[0] if found else ""


def _last(text: str) -> str:
    found = _SHA.findall(text)
    return found[-1] if found else ""


def _paths(text: str, own: Sequence[str]) -> str:
    kept = (path for path in dict.fromkeys(_PATH.findall(text)) if path not in own)
    return " ".join(path for path, _ in zip(kept, range(3), strict=False))


STRATEGIES = {"git": with_git, "clew": with_clew}
