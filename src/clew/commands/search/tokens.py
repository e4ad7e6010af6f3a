"""Text split for searching: words, their stems, and runs of Chinese, Japanese or Korean."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from clew.kit.text import tokens

LONGEST_TEXT = 4000

_COMPOUND = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
_PART = re.compile(
    r"[A-Z]{2,}s(?![A-Za-z0-9])"  # PRs
    r"|[A-Z0-9]{2,}(?=[A-Z][a-z]|[^A-Za-z0-9]|$)"  # TLS in TLSCertificate, 2FA
    r"|[A-Z]?[a-z0-9]+"
    r"|[A-Z0-9]+"
)
_RUN = re.compile(
    r"([\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff]+)"
)
_GRAMMAR = re.compile(r"[\u3041-\u309f]+")

STOP_WORDS = tokens.STOP_WORDS | tokens.REQUEST_WORDS

# Endings to strip, step by step: the ending, its replacement, and the minimum length of the rest.
# In each step only the first that matches is stripped.
_STEPS = tuple(
    (tuple(rule[0] for rule in rules), rules)
    for rules in (
        (
            ("sses", "ss", 1),
            ("ies", "y", 2),
            ("ches", "ch", 2),
            ("shes", "sh", 2),
            ("xes", "x", 2),
            ("ss", "ss", 1),
            ("us", "us", 1),
            ("is", "is", 1),
            ("s", "", 3),
        ),
        (("ly", "", 4),),
        (("ating", "", 4), ("ated", "", 4), ("ing", "", 3), ("ed", "", 3)),
        (("isation", "iz", 3), ("ization", "iz", 3), ("ise", "iz", 4)),
        (("ation", "", 4), ("ator", "", 4), ("ate", "", 4), ("sion", "s", 3), ("tion", "t", 3)),
        (("ment", "", 4), ("er", "", 4)),
        (("e", "", 3),),
    )
)
_VOWEL = re.compile(r"[aeiouy]")
_IRREGULAR = {
    "analyses": "analyz",
    "analysis": "analyz",
    "analyse": "analyz",
    "analysing": "analyz",
    "data": "data",
    "indices": "index",
    "issue": "issu",
    "production": "production",
    "specification": "spec",
    "specifications": "spec",
    "specs": "spec",
    "written": "writ",
    "wrote": "writ",
    "built": "build",
    "broke": "broken",
    "found": "find",
}


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The word without its ending: commits, committed and committing are all commit."""
    if word in _IRREGULAR or len(word) < 4 or not (word.isascii() and word.isalpha()):
        return _IRREGULAR.get(word, word)
    return _strip(word)


def _strip(word: str) -> str:
    for endings, rules in _STEPS:
        if not word.endswith(endings):
            continue
        for ending, instead, rest in rules:
            shorter = word[: -len(ending)]
            if word.endswith(ending) and len(shorter) >= rest and _VOWEL.search(shorter):
                word = _undoubled(shorter, ending) + instead
                break
    return word


def _undoubled(word: str, ending: str) -> str:
    """One letter for two: committ is commit, but pull and pass stay."""
    doubled = ending in ("ing", "ed", "er") and len(word) > 3 and word[-1] == word[-2]
    return word[:-1] if doubled and word[-1] not in "lsz" else word


def split_compound(compound: str) -> list[str]:
    """The words in groupCommit, group-commit or group_commit, in lower case."""
    if compound.islower() and compound.isalpha():
        return [compound]
    return [part.lower() for part in _PART.findall(compound)]


compounds = _COMPOUND.findall


def pieces(text: str) -> list[str]:
    """Compounds and words in order, and runs of scripts that do not separate words."""
    if text.isascii():
        return compounds(text)
    found: list[str] = []
    for number, part in enumerate(_RUN.split(unicodedata.normalize("NFKC", text))):
        found += [part] if number % 2 else _words(part)
    return found


def is_run(piece: str) -> bool:
    """Whether a piece is a run of Chinese, Japanese or Korean."""
    return not piece.isascii() and _RUN.fullmatch(piece) is not None


def _words(text: str) -> list[str]:
    """Letters beyond ASCII lose their accents, so that resume finds résumé."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return compounds(bare) if bare.isascii() else tokens.WORD.findall(bare.casefold())


def parts_of(word: str) -> list[str]:
    """A compound's words; a word of another script is one word."""
    return split_compound(word) if word.isascii() else [word]


def has_only_stop_words(text: str) -> bool:
    """Whether a text has words, and all of them are stop words."""
    words = [word for piece in pieces(text[:LONGEST_TEXT]) for word in parts_of(piece)]
    return bool(words) and STOP_WORDS.issuperset(words)


def bigrams(run: str) -> list[str]:
    """Pairs of neighbouring characters, without those that are only grammar."""
    if len(run) == 1:
        return [] if _GRAMMAR.fullmatch(run) else [run]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [pair for pair in pairs if not _GRAMMAR.fullmatch(pair)]


def is_grammar(run: str) -> bool:
    """Whether a Japanese run has no content of its own: particles and endings."""
    return _GRAMMAR.fullmatch(run) is not None
