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
_OWN_SYNTAX = re.compile(r"\b(?:AND|OR|NOT|NEAR)\b|[(){}^]|\b\w+\s*:\s*\w")
_MOST_TERMS = 64
_LONGEST_TERM = 1000
_DOCUMENTED_COLUMN = re.compile(r"\bpatch_preview\s*:")


@dataclass(frozen=True)
class Query:
    """A query in the index's syntax, and the plain form to fall back to."""

    expression: str
    fallback: str | None = None


def parse_query(text: str) -> Query:
    """The query to run; Invalid when there is nothing to look for."""
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
    plain = _plain(text)
    if plain is None:
        raise Invalid("The query has no words to look for", "Give at least one word.")
    if _OWN_SYNTAX.search(text):
        return Query(_DOCUMENTED_COLUMN.sub("{added removed} :", text), plain)
    return Query(plain)


def _plain(text: str) -> str | None:
    wanted: list[list[str]] = []
    unwanted: list[str] = []
    join_next = False
    for minus, phrase, star, word in _PIECES.findall(text):
        if word == "OR" and wanted:
            join_next = True
            continue
        if word in ("AND", "OR"):
            continue
        if len(wanted) + len(unwanted) >= _MOST_TERMS:
            break
        term, negative = _term(phrase, star, minus) if not word else _word_term(word)
        if term is None:
            continue
        if negative:
            unwanted.append(term)
        elif join_next and wanted:
            wanted[-1].append(term)
        else:
            wanted.append([term])
        join_next = False
    if not wanted:
        return None
    expression = " AND ".join(f"({' OR '.join(terms[:_MOST_TERMS])})" for terms in wanted)
    return expression + "".join(f" NOT {term}" for term in unwanted)


def _word_term(word: str) -> tuple[str | None, bool]:
    negative = len(word) > 1 and word[0] == "-" and word[1].isalnum()
    star = "*" if word.endswith("*") else ""
    return _term(word, star, "-" if negative else "")


def _term(phrase: str, star: str, minus: str) -> tuple[str | None, bool]:
    if not any(character.isalnum() for character in phrase):
        return None, False
    # The index takes the text apart as it did with what it holds; only quotes must not get in.
    quoted = phrase.replace('"', " ")[:_LONGEST_TERM]
    return f'"{quoted}"{star}', bool(minus)
