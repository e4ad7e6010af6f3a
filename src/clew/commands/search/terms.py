"""A query as terms: each is one idea with all the words that may express it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise

from clew.commands.search.tokens import (
    STOP_WORDS,
    bigrams,
    compounds,
    is_grammar,
    is_run,
    parts_of,
    pieces,
    stem,
)
from clew.commands.search.vocabulary import Expression, Spelling, synonyms, translations

LONGEST_QUERY = 2000
MOST_TERMS = 48

SYNONYM, TRANSLATION, SPELLING = "synonym", "translation", "spelling"
BEGINNING, PARTS, INITIALS = "beginning", "parts", "initials"
_SYNONYM_WORTH = 0.7
_BEGINNING_WORTH = 0.8
_PARTS_WORTH = 0.95
_SECOND_TRANSLATION_WORTH = 0.9
_BIGRAM_SHARE = 0.5
_MOST_BEGINNINGS = 12
_LONGEST_GUESSED = 40
_INITIALS_WORTH = 0.9
_SHORTEST_INITIALS, _LONGEST_INITIALS = 3, 5
# They say who or what does it, not what is done: an SEO expert, a skill for tests.
_DOER_SHARE = 0.3
_DOERS = frozenset(
    map(stem, ["expert", "specialist", "professional", "assistant", "helper", "engineer", "skill"])
)


class Term:
    """One idea of a query; `ways` has how well each expression matches it, and why.

    A search adds the commands that have it, how well each does, and what it weighs.
    """

    __slots__ = ("documents", "meant", "place", "share", "ways", "weight", "word")

    def __init__(self, word: str, share: float = 1.0) -> None:
        self.word = word
        self.meant = word  # the right spelling, where that was guessed
        self.share = share
        self.place: str | None = None
        self.ways: dict[Expression, tuple[float, str]] = {}
        self.documents: dict[int, float] = {}
        self.weight = 0.0

    def allow(self, expression: Expression, worth: float, how: str = "") -> None:
        """Accept an expression in place of the word; the best reason is kept."""
        if worth > self.ways.get(expression, (0.0, ""))[0]:
            self.ways[expression] = (worth, how)


class Reader:
    """Reads queries against the words that an index knows."""

    def __init__(
        self, stems: Mapping[str, object], words: Iterable[str], names: Container[str] = ()
    ) -> None:
        self._stems = stems
        self._names = names
        self._words = words

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling({*self._words, *synonyms().words})

    def terms(self, text: str, wanted: str | None = None) -> list[Term]:
        """The terms of a text in order; `wanted` is the field that they are about."""
        found: dict[str, Term] = {}
        for term in self._read(text[:LONGEST_QUERY]):
            if len(found) >= MOST_TERMS:
                break
            term.place = wanted
            found.setdefault(term.word, term)
        return list(found.values())

    def _read(self, text: str) -> Iterator[Term]:
        words: list[str] = []
        for piece in pieces(text):
            if is_run(piece):
                yield from self._english(words)
                words = []
                yield from self._japanese(piece)
            else:
                words += self._spelt(piece)
        yield from self._english(words)

    def _spelt(self, piece: str) -> list[str]:
        """The words of a compound; GtiHub is one word, since nobody knows a Gti."""
        words = parts_of(piece)
        if len(words) > 1 and piece.isalpha() and any(stem(w) not in self._stems for w in words):
            whole = piece.lower()
            if self._spelling.nearest(whole):
                return [whole]
        return words

    def _english(self, words: list[str]) -> Iterator[Term]:
        stems = [stem(word) for word in words]
        content = [word not in STOP_WORDS for word in words]
        if not any(content):
            yield from map(_exactly, stems)
            return
        at = 0
        while at < len(words):
            length = synonyms().phrase_at(stems, at)
            if length > 1 and any(content[at : at + length]):
                yield self._phrase(words[at : at + length], stems[at : at + length])
            elif length == 1 and content[at]:
                yield self._word(words, stems, at)
            at += length

    def _phrase(self, words: list[str], stems: list[str]) -> Term:
        term = Term(" ".join(words))
        self._allow_with_synonyms(term, tuple(stems), 1.0, "")
        term.allow((stem("".join(words)),), 1.0)
        return term

    def _word(self, words: list[str], stems: list[str], at: int) -> Term:
        term = Term(words[at])
        self._allow_with_synonyms(term, (stems[at],), 1.0, "")
        for first in (at - 1, at):
            if 0 <= first < len(words) - 1:
                joined = stem(words[first] + words[first + 1])
                if joined in self._stems:
                    term.allow((joined,), 1.0, PARTS)
        if stems[at] not in self._stems:
            self._guess(term, words[at], known=len(term.ways) > 1)
        for initials in _initials(words, at):
            if initials in self._names:
                term.allow((stem(initials),), _INITIALS_WORTH, INITIALS)
        if len(words) > 1 and stem(term.meant) in _DOERS:
            term.share = _DOER_SHARE
        return term

    def _guess(self, term: Term, word: str, *, known: bool) -> None:
        """Ways for a word that no command has: a prefix, two words in one, or a typing error."""
        if not word.isascii() or len(word) > _LONGEST_GUESSED:
            return
        for cut in range(3, len(word) - 2):
            halves = (stem(word[:cut]), stem(word[cut:]))
            if halves[0] in self._stems and halves[1] in self._stems:
                term.allow(halves, _PARTS_WORTH, PARTS)
        if known or any(how == PARTS for _, how in term.ways.values()):
            return
        if len(word) > 2:
            longer = [stem(other) for other in self._spelling.beginning_with(word)]
            known_longer = [other for other in longer if other in self._stems]
            for other in known_longer if len(known_longer) <= _MOST_BEGINNINGS else ():
                term.allow((other,), _BEGINNING_WORTH, BEGINNING)
        for other, alike in self._spelling.nearest(word):
            term.meant = other if term.meant == word else term.meant
            self._allow_with_synonyms(term, (stem(other),), alike, SPELLING)

    def _japanese(self, run: str) -> Iterator[Term]:
        for word, english in translations().segments(run):
            if not english:
                yield from self._unknown_run(word)
                continue
            term = Term(word)
            term.allow((word,), 1.0)
            for number, expression in enumerate(english):
                worth = _SECOND_TRANSLATION_WORTH if number else 1.0
                self._allow_with_synonyms(term, expression, worth, TRANSLATION)
                term.allow(("".join(expression),), worth, TRANSLATION)
            yield term

    def _unknown_run(self, run: str) -> Iterator[Term]:
        if is_grammar(run):
            return
        for pair in bigrams(run):
            yield _exactly(pair, _BIGRAM_SHARE)

    def _allow_with_synonyms(
        self, term: Term, expression: Expression, worth: float, how: str
    ) -> None:
        term.allow(expression, worth, how)
        for other in synonyms().of(expression):
            term.allow(other, worth * _SYNONYM_WORTH, how or SYNONYM)


def _initials(words: list[str], at: int) -> Iterator[str]:
    """The first letters of every few words in a row that the word is one of."""
    for length in range(_SHORTEST_INITIALS, _LONGEST_INITIALS + 1):
        for first in range(max(0, at - length + 1), min(at, len(words) - length) + 1):
            yield "".join(word[0] for word in words[first : first + length])


def _exactly(token: str, share: float = 1.0) -> Term:
    term = Term(token, share)
    term.allow((token,), 1.0)
    return term


class Tokens:
    """The tokens under which texts are found; each word is split only once."""

    def __init__(self, *, skip: frozenset[str] = frozenset()) -> None:
        self._known: dict[str, tuple[str, ...]] = dict.fromkeys(skip, ())

    def of(self, text: str) -> list[str]:
        """The tokens of a text, as often as they occur."""
        found: list[str] = []
        known = self._known
        for piece in compounds(text) if text.isascii() else pieces(text):
            tokens = known.get(piece)
            if tokens is None:
                tokens = known[piece] = self._take_apart(piece)
            found += tokens
        return found

    def words(self) -> Iterator[str]:
        """Every word of the texts."""
        for piece in self._known:
            yield from parts_of(piece)
            if piece.isalpha():
                yield piece.lower()

    def _take_apart(self, piece: str) -> tuple[str, ...]:
        if is_run(piece):
            return _run_tokens(piece)
        if piece.lower() in self._known:
            return self._known[piece.lower()]
        words = parts_of(piece)
        if len(words) == 1:
            return (stem(words[0]),)
        joined = [one + other for one, other in pairwise(words)]
        return tuple([stem(word) for word in [*words, *joined]])


def _run_tokens(run: str) -> tuple[str, ...]:
    tokens = bigrams(run)
    for word, english in translations().segments(run):
        if english:
            tokens += [word, *(word for expression in english for word in expression)]
    return tuple(dict.fromkeys(tokens))
