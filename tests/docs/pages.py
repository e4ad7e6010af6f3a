"""The documents as the tests see them: pages, code blocks, headings, links, command lines."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clew.catalog.faces import FACES

ROOT = Path(__file__).parents[2]
PAGES = (
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("README.md")),
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_COG = re.compile(r"<!-- \[\[\[.*?\]\]\] -->", re.DOTALL)


def name_of(path):
    """The path as a test's id."""
    return str(path.relative_to(ROOT))


@cache
def text_of(path):
    """A page's text, without the marks of the generator."""
    return _COG.sub("", path.read_text(encoding="utf-8"))


def prose_of(path):
    """A page's text without its code blocks."""
    return _FENCE.sub("", text_of(path))


def blocks(path, *languages):
    """The code blocks of a page in these languages."""
    return [body for language, body in _FENCE.findall(text_of(path)) if language in languages]


def links(path):
    """Where a page's links lead."""
    return _LINK.findall(prose_of(path))


def anchors(path):
    """The anchors that a page's headings have on GitHub."""
    found = set()
    for heading in _HEADING.findall(prose_of(path)):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = sum(1 for anchor in found if re.fullmatch(re.escape(plain) + r"(-\d+)?", anchor))
        found.add(f"{plain}-{number}" if number else plain)
    return found


@dataclass(frozen=True)
class Step:
    """One command of a `console` block and the output shown for it."""

    command: str
    output: str


def steps(path):
    """The commands of a page's `console` blocks, in order."""
    found = []
    for body in blocks(path, "console"):
        command, output = "", []
        for line in body.splitlines():
            if not line.startswith("$ "):
                output.append(line)
                continue
            if command:
                found.append(Step(command, "\n".join(output)))
            command, output = line[2:], []
        found.append(Step(command, "\n".join(output)))
    return found


def shell_lines(path):
    """Every command line that a page shows, in `sh` and `console` blocks."""
    lines = [step.command for step in steps(path)]
    for body in blocks(path, "sh"):
        lines += [line for line in body.replace("\\\n", " ").splitlines() if line.strip()]
    return lines


def our_commands(line):
    """The words of each of our commands in a shell line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
    lexer.whitespace_split = True
    command, found = [], []
    for word in [*lexer, ";"]:
        if not set(word) <= set("|&;()<>"):
            command.append(word)
            continue
        if command and command[0] in FACES:
            found.append(command)
        command = []
    return found


def inline_commands(path):
    """Our commands in inline code, as their words; placeholders are as they are written."""
    prose = prose_of(path)
    spans = re.findall(r"`([^`\n]+)`", prose)
    return [words for words in map(str.split, spans) if words[0] in FACES and len(words) > 1]
