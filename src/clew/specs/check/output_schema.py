"""What an agent handed back as JSON, found in its log and held against a JSON schema.

A schema comes from the repository, and a regular expression or a reference in it can be made to
never end: a schema with one of those is used in a process of its own, for a limited time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from clew.kit.jsontext import JsonError, dumps_bytes, loads, loads_bytes
from clew.kit.text.display import clipped

_FENCE = re.compile(r"^```([A-Za-z0-9]*)[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MOST_ERRORS = 10
_MOST_STARTS = 200
_MOST_SCHEMA_BYTES = 1 << 20
_SECONDS = 30.0
_UNBOUNDED = frozenset({"pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"})


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
    return _errors_in_child(schema, value) if _is_unbounded(schema) else _errors(schema, value)


def _errors(schema: Any, value: Any) -> list[str]:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
        # An empty registry: nothing that a schema refers to is fetched.
        found = kind(schema, registry=Registry()).iter_errors(value)
        return [
            f"at '{''.join(f'/{part}' for part in error.absolute_path)}': {clipped(error.message)}"
            for error in islice(found, _MOST_ERRORS)
        ]
    except SchemaError as error:
        return [f"the schema is not valid: {clipped(error.message)}"]
    except Unresolvable as error:
        return [f"the schema refers to what it does not contain: {clipped(str(error))}"]
    except RecursionError:
        return ["at '': too deep or too large to be checked"]


def _is_unbounded(schema: Any) -> bool:
    """Whether a part of the schema can take any time."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if not _UNBOUNDED.isdisjoint(part):
                return True
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return False


def _errors_in_child(schema: Any, value: Any) -> list[str]:
    import subprocess
    import sys

    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=dumps_bytes([schema, value]),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
        found: list[str] = loads_bytes(done.stdout)
    except subprocess.TimeoutExpired:
        return [f"at '': the check was not finished within {_SECONDS:.0f} s"]
    except (subprocess.CalledProcessError, JsonError, OSError) as error:
        return [f"at '': the check failed: {error}"]
    return found


def _check_input() -> None:
    """Check what standard input holds, in a process that may be ended at any time."""
    import sys

    schema, value = loads_bytes(sys.stdin.buffer.read())
    sys.stdout.buffer.write(dumps_bytes(_errors(schema, value)))


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


if __name__ == "__main__":
    _check_input()
