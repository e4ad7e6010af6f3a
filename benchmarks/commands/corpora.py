"""Registries that others made, and the texts by which others describe the same commands.

Nothing of these texts is kept here: `--registries DIR` names a directory with clones. A query is
always a second text about a command, written apart from the one that is searched:

- `fabric`: patterns of danielmiessler/fabric. Searched is the purpose in `system.md`; asked are
  `data/patterns/pattern_explanations.md` and `scripts/pattern_descriptions/pattern_descriptions.json`.
- `claude`: slash commands, as wshobson/commands has them. Searched is the file's first line; asked
  are the tables of its README.
- `skills`: skills, as github/awesome-copilot has them. Searched is the description; asked is the
  first paragraph of the text, unless it tells nothing of the skill: a role ("You are an expert."), a
  lead-in that ends with a colon, or a placeholder.
- `catalogue`: collections whose README describes each skill, command or agent in a list or a table.
  Searched is the file's own description; asked is the README's, unless it repeats the file's. Where
  the README describes none, asked is the first sentence of each text that no other text begins with.
- `climpt`: the registry of tettuan/climpt. Searched is `registry.json`; asked is the first paragraph
  below the title of each prompt.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from clew.commands.exchange.imports import read_source
from clew.commands.model import Command
from clew.commands.registry.registry_file import read_registry
from clew.kit.text.frontmatter import read_leniently

_EXPLAINED = re.compile(r"^\d+\. \*\*(\w+)\*\*: (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]{5,}")
_ENTRY = re.compile(
    r"^(?:\||[-*] )\s*[*`\[/]+([\w.-]+)[*`\]]*(?:\([^)]*\))?[*`\]]*\s*(?:\||[-:\u2013\u2014]+)\s*([^|\n]{12,})",
    re.MULTILINE,
)
_ROLE = re.compile(r"(?i)(you are|you're|act as|your (goal|task|job|role))\b|この指示|これは指示")


@dataclass(frozen=True)
class Query:
    """A text that somebody else wrote about a command."""

    kind: str
    text: str
    wanted: tuple[str, str, str]


@dataclass(frozen=True)
class Corpus:
    """A registry and the questions to it."""

    name: str
    commands: tuple[Command, ...]
    queries: tuple[Query, ...]


def read_corpora(place: Path) -> list[Corpus]:
    """Every corpus whose clone is in the directory, with typing errors made in its queries."""
    found = []
    for clone in sorted(one for one in place.iterdir() if (one / "README.md").is_file()):
        read = next((_READERS[name] for name in _READERS if name in clone.name), _catalogue)
        commands, queries = read(clone)
        if queries:
            found.append(Corpus(clone.name, tuple(commands), (*queries, *_mistyped(queries))))
    return found


def _mistyped(queries: list[Query]) -> Iterator[Query]:
    """Short queries with two letters swapped in each longer word."""
    dice = random.Random(5)
    for query in queries:
        words = query.text.split()
        if len(words) <= 9:
            text = " ".join(_swapped(word, dice) for word in words)
            yield replace(query, kind="typos", text=text)


def _swapped(word: str, dice: random.Random) -> str:
    if not _WORD.fullmatch(word):
        return word
    at = dice.randrange(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _fabric(clone: Path) -> tuple[list[Command], list[Query]]:
    commands = {
        Path(one.source).parent.name: _with_body(one.command, one.text)
        for one in read_source(str(clone / "data" / "patterns"), "fabric", "fabric")
    }
    explained = (clone / "data" / "patterns" / "pattern_explanations.md").read_text()
    described = json.loads(
        (clone / "scripts" / "pattern_descriptions" / "pattern_descriptions.json").read_text()
    )
    said = [("sentence", name, text) for name, text in _EXPLAINED.findall(explained)]
    said += [("phrase", one["patternName"], one["description"]) for one in described["patterns"]]
    queries = [
        Query(kind, text, commands[name].address) for kind, name, text in said if name in commands
    ]
    return list(commands.values()), queries


def _claude(clone: Path) -> tuple[list[Command], list[Query]]:
    commands = {
        Path(one.source).stem: _with_body(one.command, one.text)
        for folder in ("tools", "workflows")
        for one in read_source(str(clone / folder), "claude", folder)
    }
    rows = _ROW.findall((clone / "README.md").read_text())
    queries = []
    for name, purpose, features in rows:
        if name in commands:
            address = commands[name].address
            queries += [Query("phrase", purpose, address), Query("keywords", features, address)]
    return list(commands.values()), queries


def _skills(clone: Path) -> tuple[list[Command], list[Query]]:
    commands, queries = [], []
    for one in read_source(str(clone / "skills"), "skill", "skill"):
        body = read_leniently(Path(one.source).read_text(encoding="utf-8"))[1]
        first = _first_paragraph(body)
        commands.append(_with_body(one.command, one.text, first))
        if _tells(first) and first not in one.command.description:
            queries.append(Query("sentence", first, one.command.address))
    return commands, queries


def _climpt(clone: Path) -> tuple[list[Command], list[Query]]:
    home = clone / ".agent" / "climpt"
    read = read_registry(str(home / "registry.json"), "climpt", "project")
    commands = read[0] if read else []
    found, queries = [], []
    for command in commands:
        path = home.joinpath("prompts", *command.address, "f_default.md")
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        first = _first_paragraph(read_leniently(text)[1])
        found.append(_with_body(command, text, first))
        kind = "sentence" if first.isascii() else "japanese"
        queries += [Query(kind, first, command.address)] if _tells(first) else []
    return found, queries


def _catalogue(clone: Path) -> tuple[list[Command], list[Query]]:
    """Every file with a description, asked by what the README says of its name."""
    commands: dict[str, Command] = {}
    begins: dict[str, list[Command]] = {}
    for path in sorted(one for one in clone.rglob("*.md") if one.is_file()):
        name = path.parent.name if path.name == "SKILL.md" else path.stem
        fields, body, _ = read_leniently(path.read_text(encoding="utf-8", errors="replace"))
        said = (fields or {}).get("description")
        if isinstance(said, str) and said.strip() and name not in commands:
            c2, _, c3 = name.partition("-")
            made = Command("one", c2, c3 or "task", said.strip())
            first = _first_paragraph(body)
            commands[name] = _with_body(made, body)
            if _tells(first) and first[:40].lower() not in said.lower():
                begins.setdefault(first, []).append(_with_body(made, body, first))
    queries = []
    for name, text in dict(_ENTRY.findall((clone / "README.md").read_text("utf-8"))).items():
        asked = re.sub(r"[*_`]|\.\.\.$", "", text).strip()
        if name in commands and asked[:40].lower() not in commands[name].description.lower():
            queries.append(Query("sentence", asked, commands[name].address))
    if queries:
        return list(commands.values()), queries
    alone = {first: having[0] for first, having in begins.items() if len(having) == 1}
    without = {command.address: command for command in alone.values()}
    queries = [Query("sentence", first, command.address) for first, command in alone.items()]
    return [without.get(one.address, one) for one in commands.values()], queries


def _tells(text: str) -> bool:
    """Whether a first paragraph tells what the command is for."""
    return bool(text) and not _ROLE.match(text) and not text.endswith(":") and "${" not in text


def _with_body(command: Command, text: str, without: str = "") -> Command:
    """The command as it is read from its template, without the sentence that is asked."""
    body = "\n".join(
        line
        for line in read_leniently(text)[1].split("\n")
        if not without or without not in re.sub(r"[*_`]", "", line)
    )
    return replace(command, body=body[:20_000])


def _first_paragraph(body: str) -> str:
    """The first sentence below the headings, without Markdown's marks."""
    for line in body.splitlines():
        text = line.strip()
        if text and not text.startswith(("#", "-", "*", "|", "<", "`", "!", ">", "{")):
            sentence = re.split(r"(?<=[.!?。])\s", re.sub(r"[*_`]", "", text))[0]
            return sentence if len(sentence.split()) > 3 or not sentence.isascii() else ""
    return ""


Reader = Callable[[Path], tuple[list[Command], list[Query]]]
_READERS: dict[str, Reader] = {
    "fabric": _fabric,
    "wshobson+commands": _claude,
    "copilot": _skills,
    "anthropics": _skills,
    "climpt": _climpt,
}
