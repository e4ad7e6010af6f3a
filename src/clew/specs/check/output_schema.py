"""What an agent handed back as JSON, found in its log and held against a JSON schema.

The schema words that are checked: type, enum, const, required, properties, additionalProperties,
items, the length and size limits, anyOf, allOf, oneOf, not and local `$ref`. (A `pattern` is not: a
schema comes from the repository, and a regular expression can be made to never end.)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clew.kit.jsontext import JsonError, loads, loads_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FENCE = re.compile(r"^```([A-Za-z0-9]*)[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MOST_ERRORS = 10
_MOST_DEPTH = 60
_MOST_STEPS = 100_000
_MOST_STARTS = 200
_MOST_SCHEMA_BYTES = 1 << 20
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def check_output(project: Path, schema_path: str, spec_id: str, log: str | None) -> str | None:
    """What is wrong with the output, or None; without a log there is nothing to say."""
    target = (project / schema_path).resolve()
    if not target.is_relative_to(project.resolve()) or not target.is_file():
        return f"Output schema file not found: {schema_path}"
    if log is None:
        return None
    try:
        with target.open("rb") as stream:
            schema = loads_bytes(stream.read(_MOST_SCHEMA_BYTES))
    except (JsonError, OSError) as error:
        return f"Failed to validate output: {schema_path} cannot be used: {error}"
    found = list(find_json(log))
    if not found:
        return f"Output validation failed: No JSON found in agent output for spec '{spec_id}'"
    errors = schema_errors(schema, found[0])
    return f"Output validation failed: {'; '.join(errors)}" if errors else None


def find_json(text: str) -> Iterator[Any]:
    """JSON in a text, the likeliest first: a json fence, any fence, all of it, any part of it."""
    fences = _FENCE.findall(text)
    candidates = [body for kind, body in fences if kind.lower() == "json"]
    candidates += [body for kind, body in fences if kind.lower() != "json"]
    for candidate in (*candidates, text):
        value = _parsed(candidate)
        if isinstance(value, dict | list):
            yield value
    yield from _embedded(text, "{")
    yield from _embedded(text, "[")


def schema_errors(schema: Any, value: Any) -> list[str]:
    """Where a value does not fit a schema, at most ten places."""
    errors: list[str] = []
    for error in _Checker(schema).errors(schema, value, "", 0):
        errors.append(error)
        if len(errors) == _MOST_ERRORS:
            break
    return errors


def _parsed(text: str) -> Any:
    try:
        return loads(text)
    except JsonError:
        return None


def _embedded(text: str, opening: str) -> Iterator[Any]:
    import json

    decoder = json.JSONDecoder()
    position = -1
    for _ in range(_MOST_STARTS):
        position = text.find(opening, position + 1)
        if position < 0:
            return
        try:
            yield decoder.raw_decode(text, position)[0]
        except (ValueError, RecursionError):
            continue


class _Checker:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._steps_left = _MOST_STEPS

    def errors(self, schema: Any, value: Any, at: str, depth: int) -> Iterator[str]:
        """Every way in which the value does not fit."""
        self._steps_left -= 1
        if depth > _MOST_DEPTH or self._steps_left < 0:
            yield f"at '{at}': too deep or too large to be checked"
            return
        if schema is False:
            yield f"at '{at}': nothing is allowed here"
        if not isinstance(schema, dict):
            return
        if isinstance(schema.get("$ref"), str):
            yield from self.errors(self._referred(schema["$ref"]), value, at, depth + 1)
        for message in _own_errors(schema, value):
            yield f"at '{at}': {message}"
        yield from self._combined(schema, value, at, depth)
        if isinstance(value, dict):
            yield from self._object(schema, value, at, depth)
        elif isinstance(value, list) and "items" in schema:
            for number, item in enumerate(value):
                yield from self.errors(schema["items"], item, f"{at}/{number}", depth + 1)

    def _fits(self, schema: Any, value: Any, at: str, depth: int) -> bool:
        return next(self.errors(schema, value, at, depth + 1), None) is None

    def _combined(self, schema: Any, value: Any, at: str, depth: int) -> Iterator[str]:
        for part in _list(schema.get("allOf")):
            yield from self.errors(part, value, at, depth + 1)
        for word, allowed in (("anyOf", range(1, 1 << 30)), ("oneOf", range(1, 2))):
            parts = _list(schema.get(word))
            fitting = sum(self._fits(part, value, at, depth) for part in parts)
            if parts and fitting not in allowed:
                yield f"at '{at}': fits {fitting} of the {len(parts)} schemas of {word}"
        if "not" in schema and self._fits(schema["not"], value, at, depth):
            yield f"at '{at}': fits a schema that it must not fit"

    def _object(self, schema: Any, value: Any, at: str, depth: int) -> Iterator[str]:
        for name in _list(schema.get("required")):
            if name not in value:
                yield f"at '{at}': {_shown(name)} is a required property"
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        other = schema.get("additionalProperties", True)
        for name, item in value.items():
            part = known.get(name, other)
            if part is False and name not in known:
                yield f"at '{at}': {_shown(name)} is not allowed"
            else:
                yield from self.errors(part, item, f"{at}/{name}", depth + 1)

    def _referred(self, reference: str) -> Any:
        node = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            node = node.get(name) if isinstance(node, dict) else None
        return node if reference.startswith("#") else None


def _own_errors(schema: dict[str, Any], value: Any) -> Iterator[str]:
    names = schema.get("type")
    names = [names] if isinstance(names, str) else _list(names)
    if names and not any(_is_a(name, value) for name in names):
        yield f"{_shown(value)} is not of type {' or '.join(map(str, names))}"
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        yield f"{_shown(value)} is not one of {_shown(schema['enum'])}"
    if "const" in schema and value != schema["const"]:
        yield f"{_shown(value)} is not {_shown(schema['const'])}"
    yield from _bound_errors(schema, value)


def _bound_errors(schema: dict[str, Any], value: Any) -> Iterator[str]:
    if isinstance(value, bool) or value is None:
        return
    sized = isinstance(value, str | list)
    size = len(value) if sized else value
    kind = "Length" if isinstance(value, str) else "Items" if sized else "imum"
    if isinstance(value, dict):
        return
    low, high = schema.get(f"min{kind}"), schema.get(f"max{kind}")
    if isinstance(low, int | float) and size < low:
        yield f"{_shown(value)} is less than {low}" if not sized else f"{size} is fewer than {low}"
    if isinstance(high, int | float) and size > high:
        yield f"{_shown(value)} is more than {high}" if not sized else f"{size} is more than {high}"


def _is_a(name: Any, value: Any) -> bool:
    if isinstance(value, bool):
        return bool(name == "boolean")
    if name == "integer" and isinstance(value, float):
        return bool(value.is_integer())
    return isinstance(value, _TYPES.get(str(name), (object,)))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _shown(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
