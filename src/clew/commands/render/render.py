"""Filling a template in: one pass, and what is inserted is never read again.

Placeholders are `{name}`, `{{name}}` and `${name}`, with blanks allowed inside. Names without a
value stay as they are. A backslash before a placeholder keeps it as text.
"""

from __future__ import annotations

from clew.kit.text.frontmatter import read_leniently

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INPUT, FILE, DESTINATION = "input_text", "input_text_file", "destination_path"
VARIABLE = "uv-"
FIXED_NAMES = (INPUT, FILE, DESTINATION, "schema_file", "base_prompt_dir")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_BLANK = " \t"
_LONGEST_NAME = 100

DOUBLE, DOLLAR, SINGLE = "{{", "${", "{"
_FORMS = (DOUBLE, DOLLAR, SINGLE)
_CLOSING = {DOUBLE: "}}", DOLLAR: "}", SINGLE: "}"}


def placeholders(text: str, forms: tuple[str, ...] = _FORMS) -> Iterator[tuple[int, int, str]]:
    """Every placeholder of a known name: where it begins, where it ends, what it names."""
    position = text.find("{")
    while position >= 0:
        found = _at(text, position, forms)
        if found is None:
            position = text.find("{", position + 1)
            continue
        yield found
        position = text.find("{", found[1])


def _at(text: str, brace: int, forms: tuple[str, ...]) -> tuple[int, int, str] | None:
    for form in forms:
        start = brace - 1 if form == DOLLAR else brace
        if start < 0 or not text.startswith(form, start):
            continue
        found = _closed(text, start + len(form), _CLOSING[form])
        if found is not None:
            return (start, *found)
    return None


def _closed(text: str, position: int, closing: str) -> tuple[int, str] | None:
    first = _skip(text, position, _BLANK)
    last = _skip(text, first, _NAME)
    end = _skip(text, last, _BLANK)
    name = text[first:last]
    if last - first > _LONGEST_NAME or not text.startswith(closing, end) or not is_known(name):
        return None
    return end + len(closing), name


def _skip(text: str, position: int, alphabet: str | frozenset[str]) -> int:
    while position < len(text) and text[position] in alphabet:
        position += 1
    return position


def is_known(name: str) -> bool:
    """Whether a name can ever have a value; other braces are plain text."""
    return name in FIXED_NAMES or (name.startswith(VARIABLE) and len(name) > len(VARIABLE))


def names_in(text: str) -> list[str]:
    """The names that a template asks for, each once, in their order."""
    found = (name for start, _, name in placeholders(text) if text[start - 1 : start] != "\\")
    return list(dict.fromkeys(found))


def fill(body: str, values: Mapping[str, str]) -> str:
    """The body with every placeholder that has a value replaced, in one pass."""
    parts: list[str] = []
    position = 0
    for start, end, name in placeholders(body):
        if start > position and body[start - 1] == "\\":
            parts += [body[position : start - 1], body[start:end]]
        elif name in values:
            parts += [body[position:start], values[name]]
        else:
            parts.append(body[position:end])
        position = end
    parts.append(body[position:])
    return "".join(parts)


def render(text: str, values: Mapping[str, str]) -> str:
    """A template as the prompt it becomes."""
    _, body, _ = read_leniently(text)
    return _ended(fill(body.lstrip(), values))


def render_compatibly(text: str, values: Mapping[str, str]) -> str:
    """The prompt as the original system renders it: three passes, without the first `---` block.

    It reads inserted text again and mistakes rules for frontmatter. Only for trees that rely on it.
    """
    for form in _FORMS:
        text = _one_form(text, values, form)
    return _ended(_without_first_block(text).lstrip())


def _one_form(text: str, values: Mapping[str, str], form: str) -> str:
    parts: list[str] = []
    position = 0
    for start, end, name in placeholders(text, (form,)):
        if name in values:
            parts += [text[position:start], values[name]]
            position = end
    return "".join([*parts, text[position:]])


def _without_first_block(text: str) -> str:
    lines = text.splitlines(keepends=True)
    rules = [index for index, line in enumerate(lines) if line.rstrip() == "---"][:2]
    if len(rules) < 2:
        return text
    return "".join(lines[: rules[0]] + lines[rules[1] + 1 :])


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
