"""A home of its own for what is measured in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_home(directory: Path) -> Iterator[None]:
    """Keep Clew's own files there meanwhile, and let no index of the user's be found."""
    names = {"CLEW_HOME": str(directory), "COMMITMUX_DB": str(directory / "none.sqlite3")}
    before = {name: os.environ.get(name) for name in names}
    directory.mkdir(parents=True, exist_ok=True)
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
