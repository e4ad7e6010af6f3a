"""The seeds that fuzzing starts from, and how they are bent."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import strategies as st

_DIRECTORY = Path(__file__).with_name("corpus")
# What parsers look for, and what they seldom meet.
_TOKENS = [
    b"---\n", b"\n", b"\r\n", b"\r", b"\0", b"\t", b" ", b":", b"- ", b"[", b"]", b"{", b"}", b'"',
    b"'", b"\\", b"`", b"```\n", b"#", b"&a", b"*a", b"!!python/object:x", b"<<: *a", b"|\n", b">\n",
    b"- [ ] ", b"{uv-", b"{{", b"}}", b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", b"+", b"-", b"\\u",
    b"\\ud800", b"1e999", b"NaN", b"-0", b"9" * 400, b"9" * 5000, b"null", b"true", b"[" * 300, b'{"a":' * 300,
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\u0130".encode(),
    b"OR", b"NOT", b"NEAR(", b"*", b"^", b"(", b")", b"is:", b"..", b">", b"2026-13-45", b"../",
]  # fmt: skip


def seeds(name):
    """The seeds of one kind: each file, or each line of a file of lines."""
    found = []
    for path in sorted((_DIRECTORY / name).iterdir()):
        data = path.read_bytes()
        found += data.splitlines() if path.suffix in {".txt", ".jsonl"} else [data]
    assert found, name
    return found


def bent(dice, known):
    """One of the seeds with some of it cut, doubled, swapped or replaced."""
    data = bytearray(dice.choice(known))
    for _ in range(dice.randrange(1, 7)):
        start = dice.randrange(len(data) + 1)
        end = min(len(data), start + dice.choice((1, 1, 2, 4, 16, 64)))
        deed = dice.randrange(5)
        if deed == 0:
            del data[start:end]
        elif deed == 1:
            data[start:start] = dice.choice(_TOKENS)
        elif deed == 2:
            data[start:start] = data[start:end] * dice.choice((1, 2, 50))
        elif deed == 3:
            data[start:end] = dice.randbytes(end - start)
        else:
            other = dice.choice(known)
            data[start:end] = other[dice.randrange(len(other) + 1) :]
    return bytes(data)


def inputs(name):
    """Seeds, bent seeds and plain bytes, for hypothesis."""
    known = seeds(name)
    numbers = st.integers(min_value=0, max_value=2**63)
    return st.one_of(
        st.sampled_from(known),
        numbers.map(lambda number: bent(random.Random(number), known)),
        st.binary(max_size=400),
    )


def as_text(data):
    """The bytes as text, whatever they are."""
    return data.decode("utf-8", "replace")
