"""Outlines that were made before, by blob: the same text is parsed once, in whichever repository."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from clew.kit import jsontext
from clew.kit.project import clew_home
from clew.kit.sqlite import Keeping, opened_keeping
from clew.symbols.parser import Definition, Outline

# Another number when queries change: what an older Clew made is not used.
_VERSION = 2
_MOST = 200_000


def cache_file() -> Path:
    """Where outlines are kept; it may be deleted at any time."""
    return clew_home() / "symbols" / f"outlines-{_VERSION}.sqlite3"


@contextmanager
def outline_cache() -> Iterator[OutlineCache]:
    """The cache, open; one that cannot be used knows nothing and keeps nothing."""
    with opened_keeping(cache_file(), _MOST) as keeping:
        yield OutlineCache(keeping)


class OutlineCache:
    """Outlines by blob and language."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping

    def known(self, blobs: Iterable[str], language: str) -> dict[str, Outline]:
        """The outlines that are kept of these blobs."""
        found = {}
        for blob, value in self._keeping.known(language, blobs).items():
            with suppress(zlib.error, ValueError, TypeError):
                found[blob] = _unpacked(value)
        return found

    def keep(self, outlines: Mapping[str, Outline], language: str) -> None:
        """Keep outlines."""
        self._keeping.keep(language, {blob: _packed(one) for blob, one in outlines.items()})


def _packed(outline: Outline) -> bytes:
    data = [[list(one) for one in outline.definitions], [list(one) for one in outline.calls]]
    return zlib.compress(jsontext.dumps(data).encode("utf-8", "replace"), 1)


def _unpacked(raw: bytes) -> Outline:
    definitions, calls = jsontext.loads(zlib.decompress(raw).decode("utf-8"))
    return Outline(
        tuple(Definition(n, kind, start, end, tuple(o)) for n, kind, start, end, o in definitions),
        tuple((name, line) for name, line in calls),
    )
