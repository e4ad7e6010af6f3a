"""How similar two texts are: their words without endings and stop words."""

from __future__ import annotations

import re
from functools import lru_cache

from clew.kit.text.tokens import GERMAN_STOP_WORDS, STOP_WORDS, WORD

_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")
_OF_PROJECTS = (
    "out via per only also want need get let scope goal project product system new first build make "
    "außerhalb teil"
)
_SMALL = STOP_WORDS | GERMAN_STOP_WORDS | frozenset(_OF_PROJECTS.split())
_ENDINGS = (
    "ations", "ation", "ings", "ing", "ies", "ers", "ed", "es", "er", "en", "s", "e", "y",
    "n",
)  # fmt: skip


def stem(word: str) -> str:
    """The word without its ending, as far as four letters are left."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """What a text is about: stems of its words; pairs of characters in scripts without spaces."""
    lowered = text.casefold()
    pairs = {run[at : at + 2] for run in _WIDE.findall(lowered) for at in range(len(run) - 1)}
    words = {stem(word) for word in WORD.findall(_WIDE.sub(" ", lowered)) if word not in _SMALL}
    return frozenset(pairs | words)


def contained(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of the smaller set is in the larger: 0 to 1."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
