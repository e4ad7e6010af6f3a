"""What somebody typed, as a text-index query: plain words just work.

Words are all wanted; `"two words"` is a phrase, `word*` a beginning, `-word` must not occur,
`a OR b` either. A word with signs in it (`src/main.rs`, `foo-bar`, `#482`) is looked for as it
reads. Text that uses the index's own syntax is passed on as it is when the index understands it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.kit.errors import Invalid

_PIECES = re.compile(r'(-?)"([^"]*)"(\*?)|(\S+)')
_WORD = re.compile(r"\w+")
_OWN_SYNTAX = re.compile(r"\b(?:AND|OR|NOT|NEAR)\b|[(){}^]|\b\w+\s*:\s*\w")
_SEED_COLUMN = re.compile(r"\bpatch_preview\s*:")


@dataclass(frozen=True)
class Query:
    """A query in the index's syntax, and the plain form to fall back to."""

    expression: str
    fallback: str | None = None


def parse_query(text: str) -> Query:
    """The query to run; Invalid when there is nothing to look for."""
    plain = _plain(text)
    if _OWN_SYNTAX.search(text):
        own = _SEED_COLUMN.sub("{added removed} :", text)
        return Query(own, plain)
    if plain is None:
        raise Invalid("The query has no words to look for", "Give at least one word.")
    return Query(plain)


def _plain(text: str) -> str | None:
    wanted: list[str] = []
    unwanted: list[str] = []
    join_next = False
    for minus, phrase, star, word in _PIECES.findall(text):
        if word == "OR" and wanted:
            join_next = True
            continue
        if word in ("AND", "OR"):
            continue
        term, negative = _term(phrase, star, minus) if not word else _word_term(word)
        if term is None:
            continue
        if negative:
            unwanted.append(term)
        elif join_next and wanted:
            wanted[-1] = f"({wanted[-1]} OR {term})"
        else:
            wanted.append(term)
        join_next = False
    if not wanted:
        return None
    expression = " AND ".join(wanted)
    return expression + "".join(f" NOT {term}" for term in unwanted)


def _word_term(word: str) -> tuple[str | None, bool]:
    negative = len(word) > 1 and word[0] == "-" and word[1].isalnum()
    star = "*" if word.endswith("*") else ""
    return _term(word, star, "-" if negative else "")


def _term(phrase: str, star: str, minus: str) -> tuple[str | None, bool]:
    words = _WORD.findall(phrase)
    if not words:
        return None, False
    return f'"{" ".join(words)}"{star}', bool(minus)
