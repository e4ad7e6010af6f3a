"""Words of a text, and the words that say nothing by themselves."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+")
_LONGEST_WORD = 100
_APART = {code: " " for code in range(128) if not chr(code).isalnum()}

_STOP_WORDS = """
    a an the this that these those there it its is are was were be been being am do does did
    has have had having i me my mine we us our you your he she they them their his her
    and or but if then than so as at by for from in into of on onto to with without within
    what which who whom whose when where why how
    can could will would shall should may might must some any all each every both not no
"""
_GERMAN_STOP_WORDS = """
    der die das den dem des ein eine einen und oder ist sind nicht mit von zu zum zur für im in
    auf es wir soll sollen muss müssen kann können bei
"""
# What people write around the request itself; in prose some of these words tell something.
_REQUEST_WORDS = """
    about after before during while until over under between through
    need want like please help let lets just only also too very really more most much
    yes here now again once up out off down done
    something someone somebody anything thing things way give get got sure using use
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
GERMAN_STOP_WORDS = frozenset(_GERMAN_STOP_WORDS.split())
REQUEST_WORDS = frozenset(_REQUEST_WORDS.split())


def lower_words(text: str) -> list[str]:
    """All words of a text in small letters, in their order; for plain text in a fifth of the time."""
    lower = text.lower()
    return lower.translate(_APART).split() if lower.isascii() else WORD.findall(lower)


def telling_words(text: str, most: int, *, shortest: int = 1) -> list[str]:
    """The words that say what a text is about, each once; all of them where none does.

    Words of other scripts count whatever their length.
    """
    words = list(dict.fromkeys(word[:_LONGEST_WORD].lower() for word in WORD.findall(text)))
    telling = [
        word
        for word in words
        if word not in STOP_WORDS and (len(word) >= shortest or not word.isascii())
    ]
    return (telling or words)[:most]
