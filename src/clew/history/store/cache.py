"""Answers of one connection that stay true until the index changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from clew.history.store.store import HistoryStore

    Kept = tuple[tuple[int, int], dict[Hashable, Any]]

_Value = TypeVar("_Value")
_MOST = 16
_kept: WeakKeyDictionary[HistoryStore, Kept] = WeakKeyDictionary()


def remembered(store: HistoryStore, key: Hashable, make: Callable[[], _Value]) -> _Value:
    """What `make` gave for this key, made again once anything was written to the index."""
    changes = store.connection.execute("PRAGMA data_version").fetchone()[0]
    version = (int(changes), store.connection.total_changes)
    seen, values = _kept.get(store, ((-1, -1), {}))
    if seen != version:
        values = {}
        _kept[store] = (version, values)
    if key not in values:
        if len(values) >= _MOST:
            values.pop(next(iter(values)))
        values[key] = make()
    found: _Value = values[key]
    return found
