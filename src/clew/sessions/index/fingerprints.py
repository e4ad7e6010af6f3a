"""Fingerprints of lines: the text itself, the text without its form, and its words.

Secrets are taken out before, here as in every text, so that nothing can be guessed from them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from clew.kit.text.redact import redact_patch
from clew.sessions.model import Edit

_WORD = re.compile(r"\w+|[^\w\s]")
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
_LONGEST_KNOWN = 200  # of what is remembered


@dataclass(frozen=True)
class Prints:
    """The fingerprints of some lines, in their order."""

    exact: tuple[int, ...]
    normal: tuple[int, ...]
    weights: tuple[bool, ...]
    words: tuple[bytes, ...]


def prints_of(lines: Sequence[str]) -> Prints:
    """The fingerprints of a text's lines."""
    made = [
        (_known_line if len(line) <= _LONGEST_KNOWN else _line)(line)
        for line in _without_secrets(lines)
    ]
    exact, normal, weights, words = zip(*made, strict=True) if made else ((), (), (), ())
    return Prints(exact, normal, weights, words)


def _line(line: str) -> tuple[int, int, bool, bytes]:
    """The fingerprints of one line."""
    found = _WORD.findall(line)
    return (
        _hash(line.rstrip()),
        _hash("".join(line.split())),
        _says_something([word for word in found if word[0] == "_" or word[0].isalnum()]),
        b"".join(
            [
                (_known_word if len(word) <= _LONGEST_KNOWN else _word)(word)
                for word in found
                if word not in _LOOSE
            ]
        ),
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


def _says_something(words: Sequence[str]) -> bool:
    """Whether a line is told from others by its text: no bracket, no `else`, no `return None`."""
    letters = sum(map(len, words))
    return letters >= _FEWEST_LETTERS and not all(word.lower() in _PLAIN for word in words)


def _word(word: str) -> bytes:
    """Two bytes for a word that a formatter would keep."""
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=2).digest()


# The lines of one edit come again in the next, and words in every line.
_known_line = lru_cache(maxsize=20_000)(_line)
_known_word = lru_cache(maxsize=20_000)(_word)


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
