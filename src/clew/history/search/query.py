"""What somebody typed, as a text-index query: plain words just work.

Words are all wanted; `"two words"` is a phrase, `word*` a beginning, `-word` must not occur,
`a OR b` either. A word with signs in it (`src/main.rs`, `foo-bar`, `#482`) is looked for as it
reads. `added:`, `removed:`, `path:`, `message:` and the like say where. Text that uses the
index's own syntax is passed on as it is when the index understands it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from clew.kit.errors import Invalid
from clew.kit.text.tokens import WORD

# What may stand before a colon, and the columns of the text index that it means.
FIELDS = {
    "subject": "subject",
    "body": "body",
    "message": "subject body",
    "added": "added",
    "removed": "removed",
    "context": "context",
    "diff": "added removed context",
    "path": "paths",
    "paths": "paths",
    "patch_preview": "added removed",
}
PLACES = {"all": "", "message": FIELDS["message"], "diff": FIELDS["diff"]}
_NAMES = "|".join(sorted(FIELDS, key=len, reverse=True))
_PIECES = re.compile(r'(-?)(?:(\w+):)?"([^"]*)"(\*?)|(\S+)')
_FIELD_WORD = re.compile(rf"(-?)({_NAMES}):(.*[^\W_].*)", re.DOTALL)
_OWN_SYNTAX = re.compile(rf"\b(?:AND|OR|NOT|NEAR)\b|[(){{}}^]|\b(?:{_NAMES})(?:\s+:|:\s)")
_QUOTED_OR_FIELD = re.compile(rf'"[^"]*"|(?<!\w)({_NAMES})\s*:')
_SHORT_BEGINNING = re.compile(r'(?<![^\W_])[^\W_]"?\s*\*')
_ACCENTS = re.compile("[\u0300-\u036f]+")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_GLOB_SIGNS = re.compile(r"[*?]+")
_MOST_TERMS = 64
_LONGEST_TERM = 1000


@dataclass(frozen=True)
class Term:
    """Words that must stand in a row, and the columns where they count; none means all."""

    words: tuple[str, ...]
    is_beginning: bool = False
    columns: str = ""


@dataclass(frozen=True)
class Query:
    """A query in the index's syntax, the plain form to fall back to, and what it looks for."""

    expression: str
    fallback: str | None = None
    terms: tuple[Term, ...] = ()
    is_plain: bool = False  # words alone: nothing says where, what not, or in which order


def parse_query(text: str) -> Query:
    """The query to run; Invalid when there is nothing to look for."""
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
    plain = _Plain()
    for minus, field, phrase, star, word in _PIECES.findall(text):
        plain.read_word(word) if word else plain.read_phrase(minus, field, phrase, star)
    if not plain.wanted:
        raise Invalid("The query has no words to look for", "Give at least one word.")
    is_own = _OWN_SYNTAX.search(text) is not None
    if plain.has_short_beginning() or (is_own and _SHORT_BEGINNING.search(text)):
        # Nearly every commit has such a word, and the index would read through all of them.
        raise Invalid("One letter before * is not enough", "Give more of the word.")
    if is_own:
        own = _QUOTED_OR_FIELD.sub(_own_field, text)
        return Query(own, plain.expression(), plain.terms())
    return Query(plain.expression(), None, plain.terms(), plain.is_plain and '"' not in text)


def within(expression: str, place: str) -> str:
    """The same query, only in messages or only in diffs."""
    return f"{{{PLACES[place]}}} : ({expression})" if PLACES[place] else expression


def folded(text: str) -> str:
    """Text as the index compares it: without case and without signs on letters."""
    if text.isascii():
        return text.lower()
    return _FOREIGN.sub(_without_accents, text.lower())


def _without_accents(match: re.Match[str]) -> str:
    return _bare(match[0])


@lru_cache(maxsize=20_000)
def _bare(text: str) -> str:
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def _own_field(match: re.Match[str]) -> str:
    return f"{{{FIELDS[match[1]]}}} :" if match[1] else match[0]


class _Plain:
    """The plain reading of a query: groups of alternatives, and what must not occur."""

    def __init__(self) -> None:
        self.wanted: list[list[tuple[str, Term]]] = []
        self.unwanted: list[str] = []
        self._join_next = False

    def read_word(self, word: str) -> None:
        """Take one word as it was typed."""
        if word == "OR" and self.wanted:
            self._join_next = True
        elif word in ("AND", "OR"):
            pass
        elif named := _FIELD_WORD.fullmatch(word):
            self._read_field(*named.groups())
        else:
            negative = len(word) > 1 and word[0] == "-" and word[1].isalnum()
            self._take(word, is_beginning=word.endswith("*"), negative=negative)

    def read_phrase(self, minus: str, field: str, phrase: str, star: str) -> None:
        """Take a text in quotes."""
        columns = FIELDS.get(field, "")
        text = phrase if columns or not field else f"{field} {phrase}"
        self._take(text, is_beginning=bool(star), negative=bool(minus), columns=columns)

    def _read_field(self, minus: str, field: str, text: str) -> None:
        # What stands between the signs of a glob need not be neighbours.
        parts = _GLOB_SIGNS.split(text) if field.startswith("path") else [text]
        for part in parts:
            self._take(
                part,
                is_beginning=text.endswith(f"{part}*") or part.endswith("*"),
                negative=bool(minus),
                columns=FIELDS[field],
            )

    def _take(self, text: str, *, is_beginning: bool, negative: bool, columns: str = "") -> None:
        begin = WORD.search(text)
        text = text[begin.start() :][:_LONGEST_TERM] if begin else ""
        words = tuple(WORD.findall(folded(text)))
        if not words or len(self.wanted) + len(self.unwanted) >= _MOST_TERMS:
            return
        # The index takes the text apart as it did with what it holds; only quotes must not get in.
        quoted = text.replace('"', " ")
        where = f"{{{columns}}} : " if columns else ""
        written = f'{where}"{quoted}"{"*" if is_beginning else ""}'
        if negative:
            self.unwanted.append(written)
        elif self._join_next and self.wanted:
            self.wanted[-1].append((written, Term(words, is_beginning, columns)))
        else:
            self.wanted.append([(written, Term(words, is_beginning, columns))])
        self._join_next = False

    def expression(self) -> str:
        """The whole in the index's syntax."""
        groups = (
            " OR ".join(written for written, _ in group[:_MOST_TERMS]) for group in self.wanted
        )
        every = " AND ".join(f"({group})" for group in groups)
        return every + "".join(f" NOT {written}" for written in self.unwanted)

    def has_short_beginning(self) -> bool:
        """Whether a word is given by its first letter alone."""
        return any(term.is_beginning and len(term.words[-1]) == 1 for term in self.terms())

    @property
    def is_plain(self) -> bool:
        """Whether the query is words and nothing else."""
        return not self.unwanted and not any(
            term.columns or term.is_beginning for term in self.terms()
        )

    def terms(self) -> tuple[Term, ...]:
        """What a hit may show, each once."""
        return tuple(dict.fromkeys(term for group in self.wanted for _, term in group))[
            :_MOST_TERMS
        ]
