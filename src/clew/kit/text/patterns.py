"""Regular expressions of others: in bounded time, whatever they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import lru_cache

from clew.kit.errors import Invalid

_LONGEST = 1000
_SECONDS = 3.0
_SEARCH = """
import json, re, sys
pattern, text, flags = json.load(sys.stdin)
found = re.search(pattern, text, flags)
json.dump(found and [found[0], *found.groups()], sys.stdout)
"""
# With few repeats, and none of a group, no text of this length takes long.
_REPEATS = re.compile(r"[*+{]")
_OF_A_GROUP = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=")
_FEW = 2


@lru_cache(1024)
def first_match(pattern: str, text: str, flags: int = 0) -> tuple[str | None, ...] | None:
    """The first match in the beginning of a text, and its groups; Invalid if that takes too long."""
    text = text[:_LONGEST]
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise Invalid(f"Not a regular expression: {pattern}", str(error)) from None
    if len(_REPEATS.findall(pattern)) <= _FEW and not _OF_A_GROUP.search(pattern):
        found = compiled.search(text)
        return None if found is None else (found[0], *found.groups())
    return _matched_apart(pattern, text, flags)


def _matched_apart(pattern: str, text: str, flags: int) -> tuple[str | None, ...] | None:
    """The same in a process that can be ended."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            input=json.dumps([pattern, text, flags]).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise Invalid(f"This pattern takes too long: {pattern}", "Make it simpler.") from None
    said = json.loads(done.stdout)
    return None if said is None else tuple(said)
