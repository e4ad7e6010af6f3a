"""How other programs write the arguments of a prompt, and how these become ours and back.

A style turns a body around: `Style.into` gives it our placeholders, `Style.out` theirs. Both tell
what they changed, since a person has to know what to type now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clew.commands.files.declarations import is_variable_name
from clew.commands.render.render import (
    DESTINATION,
    FILE,
    INPUT,
    VARIABLE,
    fill,
    names_in,
    placeholders,
)

_NUMBERED = re.compile(
    r"(?P<all>\$ARGUMENTS\b(?!\[))|\$ARGUMENTS\[(?P<index>\d)\]|\$(?P<number>\d)(?!\d)"
    r"|\$\{(?P<braced>[1-9])\}|\$(?P<name>[A-Z][A-Z0-9_]+)\b"
)
_ZERO = re.compile(r"\$0(?!\d)")
_GIVEN = re.compile(
    r"\$\{(input:(?P<name>[\w-]+)(?::[^}]*)?|(?P<fixed>selection|selectedText|file))\}"
)
_TEMPLATED = re.compile(r"\{\{\s*([A-Za-z][\w-]*)\s*\}\}")
_NAMED = re.compile(r"\$\$|\$\{?([A-Za-z_]\w*)\}?")
_SPOKEN = (
    "(the text given with this command)",
    "(the file given with this command)",
    "(the destination given with this command)",
)
_SHELL = frozenset({"HOME", "PATH", "PWD", "USER", "SHELL", "TMPDIR", "EDITOR"})

Changes = dict[str, str]
Hints = Sequence[str]


@dataclass(frozen=True)
class Style:
    """One way to write arguments.

    A variable has a name, its words joined by `_`, its number and its index; `fixed` are the words
    for the input, its file and the destination.
    """

    read: Callable[[str, Hints, Changes], str]
    variable: str
    fixed: tuple[str, str, str]
    hint: str = ""

    def into(self, body: str, hints: Hints = ()) -> tuple[str, Changes]:
        """A foreign body with our placeholders, and what became what."""
        changes: Changes = {}
        return self.read(escaped(body), hints, changes), changes

    def out(self, body: str) -> tuple[str, str]:
        """Our body with foreign placeholders, and the hint that names the arguments."""
        asked = [n.removeprefix(VARIABLE) for n in names_in(body) if n.startswith(VARIABLE)]
        values = dict(zip((INPUT, FILE, DESTINATION), self.fixed, strict=True))
        for index, name in enumerate(asked):
            words = {"name": name, "joined": name.replace("-", "_")}
            written = self.variable.format(**words, number=index + 1, index=index)
            values[VARIABLE + name] = written
        return fill(body, values), " ".join(self.hint.format(name) for name in asked if self.hint)


def escaped(body: str) -> str:
    """The body with what would be a placeholder here kept as text."""
    parts, position = [], 0
    for start, end, _ in placeholders(body):
        parts += [body[position:start], "\\", body[start:end]]
        position = end
    return "".join([*parts, body[position:]])


def _variable(name: str, said: str, changes: Changes) -> str:
    clean = name.strip().replace(" ", "-").lower()
    if not is_variable_name(clean):
        clean = f"arg-{clean}"
    return changes.setdefault(said, f"{{{VARIABLE}{clean}}}")


def _read_numbered(body: str, hints: Hints, changes: Changes) -> str:
    # Claude Code counts from $0 now; in files that know no $0 the first argument is $1.
    starts_at_zero = _ZERO.search(body) is not None

    def ours(found: re.Match[str]) -> str:
        if found["all"]:
            return changes.setdefault(found[0], f"{{{INPUT}}}")
        if found["name"]:
            known = found["name"].lower() in hints
            return _variable(found["name"], found[0], changes) if known else found[0]
        counted = found["number"] or found["braced"]
        number = int(counted) + starts_at_zero if counted else int(found["index"]) + 1
        name = hints[number - 1] if number <= len(hints) else f"arg{number}"
        return _variable(name, found[0], changes)

    return _NUMBERED.sub(ours, body)


def _read_given(body: str, hints: Hints, changes: Changes) -> str:
    def ours(found: re.Match[str]) -> str:
        if found["name"]:
            return _variable(found["name"], found[0], changes)
        return changes.setdefault(found[0], f"{{{FILE if found['fixed'] == 'file' else INPUT}}}")

    return _GIVEN.sub(ours, body)


def templated(whole: str) -> Style:
    """`{{name}}`, where one name stands for everything that was typed."""

    def read(body: str, hints: Hints, changes: Changes) -> str:
        def ours(found: re.Match[str]) -> str:
            if found[1] == whole:
                return changes.setdefault(found[0], f"{{{INPUT}}}")
            return _variable(found[1], found[0], changes)

        converted = _TEMPLATED.sub(ours, body)
        if INPUT in names_in(converted) or whole != "input":
            return converted
        return f"{converted}\n\n{{{INPUT}}}"

    return Style(read, "{{{{{name}}}}}", (f"{{{{{whole}}}}}", *_SPOKEN[1:]))


def _read_named(body: str, hints: Hints, changes: Changes) -> str:
    def ours(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "$"
        if name == "input":
            return changes.setdefault(found[0], f"{{{INPUT}}}")
        return found[0] if name in _SHELL else _variable(name, found[0], changes)

    converted = _NAMED.sub(ours, body)
    return converted if INPUT in names_in(converted) else f"{converted}\n\n{{{INPUT}}}"


_TYPED = ("$ARGUMENTS",) * 3
numbered = Style(_read_numbered, "${number}", _TYPED, "[{}]")
# Unlike $1, an index in brackets means the same in every release of Claude Code.
indexed = Style(_read_numbered, "$ARGUMENTS[{index}]", _TYPED, "[{}]")
given = Style(_read_given, "${{input:{name}}}", ("${selection}", "${file}", "${input:destination}"))
named = Style(_read_named, "${joined}", ("$input", "$file", "$destination"))
in_words = Style(_read_numbered, "<{name}>", _SPOKEN)  # for programs without variables


def told(changes: Mapping[str, str]) -> list[str]:
    """What became what, a line each."""
    return [f"{theirs} is {ours} here" for theirs, ours in changes.items()]
