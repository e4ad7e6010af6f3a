"""How much two texts speak of the same: their words without endings and small words."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")
_SMALL_WORDS = (
    "i me my a an and are as at be by can do does for from has have in into is it its no not of on or "
    "our out shall should so that the their them there these they this to was we will with "
    "without would must may than then via per only all every each any also scope goal project "
    "product system new first want need build make get let der die das ein eine einen und "
    "oder ist sind nicht mit von zu zum zur für im in auf es wir soll sollen muss müssen kann "
    "können bei den dem des außerhalb teil "
)
_SMALL = frozenset(_SMALL_WORDS.split())
_ENDINGS = (
    "ations",
    "ation",
    "ings",
    "ing",
    "ies",
    "ers",
    "ed",
    "es",
    "er",
    "en",
    "s",
    "e",
    "y",
    "n",
)


def stem(word: str) -> str:
    """The word without its ending, as far as four letters are left."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """What a text speaks of: stems of its words; pairs of characters where none part words."""
    lowered = text.casefold()
    pairs = {run[at : at + 2] for run in _WIDE.findall(lowered) for at in range(len(run) - 1)}
    words = {stem(word) for word in _WORD.findall(_WIDE.sub(" ", lowered)) if word not in _SMALL}
    return frozenset(pairs | words)


def contained(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of the smaller set is in the larger: 0 to 1."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
