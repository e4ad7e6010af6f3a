"""Fingerprints of lines: the text itself, the text without its form, and its words.

Secrets are taken out before, here as in every text, so that nothing can be guessed from them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from clew.kit.text.redact import redact_patch
from clew.sessions.model import Edit

_WORD = re.compile(r"\w+|[^\w\s]")
_SPACE = re.compile(r"\s+")
# What formatters add, take away or exchange.
_LOOSE = {",", ";", "'", '"', "`", "(", ")", "\\"}
_PLAIN = frozenset(
    {
        "else", "try", "finally", "pass", "return", "break", "continue", "do", "then", "fi", "done",
        "end", "begin", "none", "null", "true", "false",
    }
)  # fmt: skip
_FEWEST_LETTERS = 3
MOST_LINES = 200_000


@dataclass(frozen=True)
class Prints:
    """The fingerprints of some lines, in their order."""

    exact: tuple[int, ...]
    normal: tuple[int, ...]
    weights: tuple[bool, ...]
    words: tuple[bytes, ...]


def prints_of(lines: Sequence[str]) -> Prints:
    """The fingerprints of a text's lines."""
    shown = _without_secrets(lines)
    normal = [_SPACE.sub("", line) for line in shown]
    return Prints(
        tuple(_hash(line.rstrip()) for line in shown),
        tuple(_hash(line) for line in normal),
        tuple(_says_something(line) for line in shown),
        tuple(_words(line) for line in shown),
    )


def _without_secrets(lines: Sequence[str]) -> Sequence[str]:
    raw = "\n".join(lines).encode("utf-8", "surrogatepass")
    kept, found = redact_patch(raw)
    if not found:
        return lines
    clean = kept.decode("utf-8", "replace").split("\n")
    return clean if len(clean) == len(lines) else ["[redacted]"] * len(lines)


def _hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


BLANK = _hash("")


def _says_something(line: str) -> bool:
    """Whether a line is told from others by its text: no bracket, no `else`, no `return None`."""
    words = re.findall(r"\w+", line)
    letters = sum(len(word) for word in words)
    return letters >= _FEWEST_LETTERS and not all(word.lower() in _PLAIN for word in words)


def _words(line: str) -> bytes:
    """Two bytes for each word that a formatter would keep."""
    found = [word for word in _WORD.findall(line) if word not in _LOOSE]
    return b"".join(
        blake2b(word.encode("utf-8", "surrogatepass"), digest_size=2).digest() for word in found
    )


def packed(values: Iterable[int]) -> bytes:
    """Numbers of eight bytes as one value for the database."""
    return array("q", values).tobytes()


def unpacked(data: bytes) -> tuple[int, ...]:
    """The numbers in such a value."""
    numbers = array("q")
    numbers.frombytes(data)
    return tuple(numbers)


def packed_words(words: Sequence[bytes]) -> bytes:
    """The words of each line, with their count before them."""
    return b"".join(
        min(len(one) // 2, 0xFFFF).to_bytes(2, "little") + one[:0x1FFFE] for one in words
    )


def unpacked_words(data: bytes) -> tuple[bytes, ...]:
    """The words of each line."""
    found, at = [], 0
    while at + 2 <= len(data):
        size = 2 * int.from_bytes(data[at : at + 2], "little")
        found.append(data[at + 2 : at + 2 + size])
        at += 2 + size
    return tuple(found)


def edit_values(edit: Edit) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """An edit's columns: exact, normal, flags, words, removed."""
    lines = edit.lines[:MOST_LINES]
    made = prints_of([text for text, _ in lines])
    gone = prints_of(edit.removed[:MOST_LINES])
    flags = bytes(
        is_new | (weight << 1) for (_, is_new), weight in zip(lines, made.weights, strict=True)
    )
    return (
        packed(made.exact),
        packed(made.normal),
        flags,
        packed_words(made.words),
        packed(gone.normal),
    )
