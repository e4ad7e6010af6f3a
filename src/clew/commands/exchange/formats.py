"""The files in which other programs keep prompts: where they are, how they are read and written.

Adding a program is one entry of `FORMATS`. A written file names the command's address where the
format has a place that its program ignores, so that it comes back under the same address.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.commands.authoring.templates import frontmatter_text
from clew.commands.exchange.arguments import (
    Style,
    given,
    in_words,
    indexed,
    named,
    numbered,
    templated,
)
from clew.commands.files.declarations import is_name, text_of
from clew.commands.model import Command
from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.kit.text.frontmatter import split_document
from clew.kit.text.yaml_text import YamlError, read_fields

REGISTRY = "registry"
OWN_KEY = "climpt"
LONGEST_SKILL_NAME = 64
LONGEST_SKILL_DESCRIPTION = 1024
_FIELD = re.compile(r"^([A-Za-z][\w-]*)\s*:\s*(.*)$")
_OWN_COMMENT = re.compile(r"^# climpt: (\S+ \S+ \S+)$", re.MULTILINE)
_HINTED = re.compile(r"[\[<{(]\s*([A-Za-z][\w -]*?)\s*[\]>})]|([A-Za-z][\w-]*)")
_KEPT = frozenset(
    {"name", "title", "description", "argument-hint", "arguments", OWN_KEY, "metadata", "prompt"}
)


@dataclass(frozen=True)
class Foreign:
    """A prompt as another program has it."""

    fields: Mapping[str, Any]
    body: str

    @property
    def address(self) -> tuple[str, ...]:
        """The address that a file written here names; empty where it names none."""
        extra = self.fields.get("metadata")
        found = self.fields.get(OWN_KEY) or (extra.get(OWN_KEY) if isinstance(extra, dict) else "")
        words = text_of(found).split()
        return tuple(words) if len(words) == 3 and all(map(is_name, words)) else ()

    @property
    def hints(self) -> tuple[str, ...]:
        """The names that the file gives its arguments, in order."""
        said = self.fields.get("arguments") or self.fields.get("argument-hint")
        text = " ".join(map(text_of, said)) if isinstance(said, list) else text_of(said)
        names = ("-".join((a or b).split()) for a, b in _HINTED.findall(text))
        return tuple(dict.fromkeys(name.lower() for name in names))

    @property
    def dropped(self) -> tuple[str, ...]:
        """The fields that have no counterpart here."""
        return tuple(key for key in self.fields if key not in _KEPT)


def read_markdown(text: str) -> Foreign:
    """Front matter and a body; what is no YAML is read line by line, as these programs do."""
    document = split_document(text)
    if not document.has_frontmatter:
        return Foreign({}, text)
    try:
        return Foreign(read_fields(document.yaml), document.body)
    except YamlError:
        return Foreign(_plain_fields(document.yaml), document.body)


def _read_claude(text: str) -> Foreign:
    """Markdown whose declared arguments may be named in the body, or counted from $0."""
    read = read_markdown(text)
    if "arguments" not in read.fields:
        return read
    body = re.sub(r"\$(\d)(?!\d)", r"$ARGUMENTS[\1]", read.body)
    for index, name in enumerate(read.hints):
        body = re.sub(rf"\${re.escape(name)}\b", f"$ARGUMENTS[{index}]", body, flags=re.IGNORECASE)
    return Foreign(read.fields, body)


def _plain_fields(yaml: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in yaml.splitlines():
        if found := _FIELD.match(line):
            last = found[1]
            fields[last] = found[2].strip().strip("\"'")
        elif last and line.strip():
            fields[last] = f"{fields[last]} {line.strip()}".strip()
    return fields


@dataclass(frozen=True)
class Format:
    """One program's way to keep prompts.

    `main` is the file's name where a prompt is a directory; otherwise `ending` is its ending.
    """

    name: str
    place: str
    style: Style
    path: Callable[[tuple[str, str, str]], str]
    write: Callable[[Command, str, str], str]
    read: Callable[[str], Foreign] = read_markdown
    ending: str = ".md"
    main: str = ""
    marks: tuple[str, ...] = ()


def _read_toml(text: str) -> Foreign:
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"Not TOML: {error}") from None
    own = _OWN_COMMENT.search(text)
    return Foreign({**fields, **({OWN_KEY: own[1]} if own else {})}, text_of(fields.get("prompt")))


def _read_llm(text: str) -> Foreign:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        loaded = YAML(typ="safe").load(text)
    except YAMLError as error:
        raise Invalid(f"Not YAML: {str(error).splitlines()[0]}") from None
    fields = loaded if isinstance(loaded, dict) else {"prompt": loaded}
    parts = [text_of(fields.get(key)) for key in ("system", "prompt")]
    kept = {key: value for key, value in fields.items() if key not in ("system", "prompt")}
    if own := _OWN_COMMENT.search(text):
        kept[OWN_KEY] = own[1]
    return Foreign(kept, "\n\n".join(part for part in parts if part))


def _with_fields(command: Command, body: str, hint: str, **more: object) -> str:
    meta: dict[str, object] = {**more, "description": command.description}
    if hint:
        meta["argument-hint"] = hint
    return f"{frontmatter_text({**meta, OWN_KEY: command.label})}\n{body}"


def _rule(command: Command, body: str, hint: str) -> str:
    meta = {"description": command.description, "alwaysApply": False, OWN_KEY: command.label}
    return f"{frontmatter_text(meta)}\n{body}"


def skill_name(address: tuple[str, str, str]) -> str:
    """A command's name among skills."""
    return "-".join(address).lower().replace("_", "-")[:LONGEST_SKILL_NAME].strip("-")


def _skill(command: Command, body: str, hint: str) -> str:
    about = (command.description or command.title or command.label)[:LONGEST_SKILL_DESCRIPTION]
    meta = {"name": skill_name(command.address), "description": about}
    return f"{frontmatter_text({**meta, 'metadata': {OWN_KEY: command.label}})}\n{body}"


def _gemini(command: Command, body: str, hint: str) -> str:
    said = jsontext.dumps(" ".join(command.description.split()))
    text = body.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'# climpt: {command.label}\ndescription = {said}\nprompt = """\n{text}"""\n'


def _llm(command: Command, body: str, hint: str) -> str:
    lines = "\n".join(f"  {line}".rstrip() for line in body.rstrip("\n").split("\n"))
    return f"# climpt: {command.label}\nprompt: |-\n{lines}\n"


def _below(address: tuple[str, str, str]) -> str:
    c1, c2, c3 = address
    return f"{c1}/{c2}-{c3}"


_flat = "-".join

_ALL = (
    Format("skill", ".claude/skills", in_words, skill_name, _skill, _read_claude, main="SKILL.md"),
    Format(
        "fabric", "patterns", templated("input"),
        lambda address: f"{address[1]}_{address[2]}".replace("-", "_"),
        lambda _, body, __: body if "{{input}}" in body else f"{body.rstrip()}\n\n# INPUT\n",
        main="system.md",
    ),
    Format(
        "copilot", ".github/prompts", given, _flat,
        lambda command, body, _: _with_fields(command, body, "", agent="agent"),
        ending=".prompt.md", marks=(".github",),
    ),
    Format("gemini", ".gemini/commands", templated("args"), _below, _gemini, _read_toml, ".toml"),
    Format("llm", "templates", named, _flat, _llm, _read_llm, ".yaml"),
    Format("cursor-rule", ".cursor/rules", in_words, _flat, _rule, ending=".mdc"),
    Format("cursor", ".cursor/commands", in_words, _flat, lambda _, body, __: body, marks=(".cursor",)),
    Format("codex", ".codex/prompts", numbered, _flat, _with_fields, marks=(".codex",)),
    Format("claude", ".claude/commands", indexed, _below, _with_fields, _read_claude),
)  # fmt: skip
FORMATS = {one.name: one for one in _ALL}
PLUGIN = "plugin"  # only written: skills, and the file that makes them a plugin of Claude Code
KINDS = (REGISTRY, *FORMATS, PLUGIN)


def guess_format(source: str) -> str:
    """The format of a file or directory, by its names and those of its files."""
    place = Path(source)
    if place.suffix == ".json":
        return REGISTRY
    parts = place.absolute().parts
    for one in _ALL:
        if one.main:
            found = (any(place.glob(f"{below}{one.main}")) for below in ("", "*/"))
            if place.name == one.main or any(found):
                return one.name
        elif one.ending != ".md":
            if place.name.endswith(one.ending) or next(place.glob(f"**/*{one.ending}"), None):
                return one.name
        elif any(mark in parts for mark in one.marks):
            return one.name
    return "claude"
