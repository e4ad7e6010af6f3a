"""Paths through plain values."""

from __future__ import annotations

from typing import Any


def value_at(value: Any, path: tuple[str, ...]) -> Any:
    """The value at this path, or None."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def others(value: Any, path: tuple[str, ...]) -> Any:
    """Everything beside the path; parents that would hold nothing are left out."""
    if not path or not isinstance(value, dict):
        return None
    kept = {key: item for key, item in value.items() if key != path[0]}
    inner = others(value.get(path[0]), path[1:])
    return {**kept, path[0]: inner} if inner else kept
