"""The query language as a tree: phrases, AND, OR, NOT, and columns.

It is the language of SQLite's text index, which queries are written in: `"two words"`, `word*`,
`{subject body} : (...)`. Words beside each other are all wanted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.history.search.query import folded
from clew.history.store.interface import QueryNotUnderstood
from clew.kit.text.tokens import WORD

COLUMNS = frozenset({"subject", "body", "added", "removed", "context", "paths"})
_TOKENS = re.compile(r'\s*("(?:[^"]|"")*"|[(){}:*^+,-]|(?:[0-9A-Za-z_]|[^\x00-\x7f])+|\S)')
_BARE = re.compile(r"(?:[0-9A-Za-z_]|[^\x00-\x7f])+")
_DEEPEST = 100


@dataclass(frozen=True)
class Phrase:
    """Words in a row, the last of which may be only begun, in some columns."""

    words: tuple[str, ...]
    is_beginning: bool
    columns: frozenset[str]


@dataclass(frozen=True)
class Joined:
    """Two expressions with AND, OR or NOT (the first, not the second) between them."""

    how: str
    left: Expression
    right: Expression


Expression = Phrase | Joined


def parse(text: str) -> Expression:
    """The tree of an expression; QueryNotUnderstood if it is none."""
    reader = _Reader(_TOKENS.findall(text))
    tree = reader.either(COLUMNS, 0)
    if reader.next is not None:
        reader.refuse()
    return tree


class _Reader:
    """A recursive reader: NOT binds tightest, then AND, then OR."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def refuse(self) -> None:
        near = "" if self.next is None else f' near "{self.next}"'
        raise QueryNotUnderstood(
            f"The query is not understood: syntax error{near}", "Put its words in quotes."
        )

    def _take(self, token: str) -> bool:
        found = self.next == token
        self._at += found
        return found

    def either(self, columns: frozenset[str], depth: int) -> Expression:
        if depth > _DEEPEST:
            self.refuse()
        found = self._every(columns, depth)
        while self._take("OR"):
            found = Joined("OR", found, self._every(columns, depth))
        return found

    def _every(self, columns: frozenset[str], depth: int) -> Expression:
        found = self._without(columns, depth)
        while self._take("AND"):
            found = Joined("AND", found, self._without(columns, depth))
        return found

    def _without(self, columns: frozenset[str], depth: int) -> Expression:
        found = self._beside(columns, depth)
        while self._take("NOT"):
            found = Joined("NOT", found, self._beside(columns, depth))
        return found

    def _beside(self, columns: frozenset[str], depth: int) -> Expression:
        found = self._one(columns, depth)
        while self.next not in (None, "AND", "OR", "NOT", ")"):
            found = Joined("AND", found, self._one(columns, depth))
        return found

    def _one(self, columns: frozenset[str], depth: int) -> Expression:
        narrowed = self._columns(columns)
        if self._take("("):
            found = self.either(narrowed, depth + 1)
            if not self._take(")"):
                self.refuse()
            return found
        if self.next == "NEAR" and self._tokens[self._at + 1 : self._at + 2] == ["("]:
            return self._near(narrowed)
        return self._phrase(narrowed)

    def _columns(self, columns: frozenset[str]) -> frozenset[str]:
        """The columns that stand before a colon, out of those that count already."""
        start = self._at
        is_left_out = self._take("-")
        named: list[str] = []
        if self._take("{"):
            while self.next is not None and self.next != "}":
                named.append(self._word())
            if not self._take("}"):
                self.refuse()
        elif self.next is not None and self._tokens[self._at + 1 : self._at + 2] == [":"]:
            named = [self._word()]
        if not named or not self._take(":"):
            if is_left_out or self._at != start:
                self.refuse()
            return columns
        unknown = set(named) - COLUMNS
        if unknown:
            raise QueryNotUnderstood(
                f"The query is not understood: no such column: {min(unknown)}",
                "Put its words in quotes.",
            )
        return columns - set(named) if is_left_out else columns & set(named)

    def _word(self) -> str:
        word = self.next or ""
        if not (_BARE.fullmatch(word) or word.startswith('"')):
            self.refuse()
        self._at += 1
        return word.strip('"')

    def _near(self, columns: frozenset[str]) -> Expression:
        """Words near each other; how near, the index does not know: they are all wanted."""
        self._at += 2
        found = self._phrase(columns)
        while self.next not in (None, ")", ","):
            found = Joined("AND", found, self._phrase(columns))
        if self._take(","):
            self._word()
        if not self._take(")"):
            self.refuse()
        return found

    def _phrase(self, columns: frozenset[str]) -> Expression:
        self._take("^")
        words = self._string()
        while self._take("+"):
            words += self._string()
        return Phrase(words, self._take("*"), columns)

    def _string(self) -> tuple[str, ...]:
        token = self.next
        if token is None or token in ("AND", "OR", "NOT"):
            self.refuse()
        assert token is not None
        if token.startswith('"') and len(token) > 1:
            self._at += 1
            return tuple(WORD.findall(folded(token[1:-1].replace('""', '"'))))
        if not _BARE.fullmatch(token):
            self.refuse()
        self._at += 1
        return tuple(WORD.findall(folded(token)))
