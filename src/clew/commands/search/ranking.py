"""Searching commands: how well each answers a query, from 0 to 1.

A query is a list of terms, and a term is one idea with the words that may stand for it. How well a
command's name and description answer is the part of the query that they cover: rare terms count
for more than common ones, a word in the name for more than one in the description, a synonym or a
misspelt word for less than the word itself. The template's text and, where the embedding is
installed, the meaning are further witnesses; each takes away a part of what is still open, so that
none of them can lower a score. So 1 means that the name has every word. The weights were chosen on
two registries that others made, and judged on three more (`benchmarks/commands`).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from operator import itemgetter

from clew.commands.model import Command
from clew.commands.search.cosine import PLAIN_ALGORITHMS, PlainIndex
from clew.commands.search.meaning import Meaning, meaning_of
from clew.commands.search.terms import Reader, Term, Tokens
from clew.commands.search.tokens import (
    LONGEST_TEXT,
    STOP_WORDS,
    has_only_stop_words,
    parts_of,
    pieces,
    stem,
)
from clew.commands.search.vocabulary import Expression

RANKED = "ranked"
ALGORITHMS = (RANKED, *PLAIN_ALGORITHMS)

DEFAULT_LIMIT = 3

_NAME_WEIGHT = 3.0
_WEIGHTS = {
    "c1": 1.2,
    "c2": _NAME_WEIGHT,
    "c3": _NAME_WEIGHT,
    "title": 1.5,
    "tags": 2.0,
    "description": 1.0,
    "variables": 0.5,
    "usage": 0.4,
}
_NAMES = ("c1", "c2", "c3")
_PLACES = ("c2", "c3")
_COMMON_LENGTH = 10
_LENGTH_MATTERS = 0.4
_SATURATION = 1.2
_FULL = _NAME_WEIGHT / (_NAME_WEIGHT + _SATURATION)

_UNKNOWN_WORTH = 0.5
_ELSEWHERE_WORTH = 0.75
_NAME_SHARE = 0.2
_CANDIDATES = 48
# What a witness takes away of the open part when it is fully sure.
_BODY_SHARE = 0.8
_MEANING_SHARE = 0.8
_BODY_MEANING_SHARE = 0.4
# Without any word in the name or the description, no witness makes a moderate match.
_TRUST = 0.35
_BODY_LENGTH = 600
_LONGEST_BODY = 8000
_NONE: dict[int, float] = {}


@dataclass(frozen=True)
class Hit:
    """A command that was found; `why` has a line per term when it was asked for."""

    command: Command
    score: float
    why: tuple[str, ...] = ()


class CommandIndex:
    """Commands indexed for searching; of several with one address the first counts."""

    def __init__(self, commands: Sequence[Command], skip: frozenset[str] = STOP_WORDS) -> None:
        first: dict[tuple[str, str, str], Command] = {}
        for command in commands:
            first.setdefault(command.address, command)
        self._commands = list(first.values())
        self._skip = skip
        self._name_tokens = Tokens()
        self._text_tokens = Tokens(skip=skip)
        self._postings: dict[str, dict[int, float]] = {}
        for number, command in enumerate(self._commands):
            self._add(number, command)

    def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        algorithm: str = RANKED,
        c1: str | None = None,
        action: str | None = None,
        target: str | None = None,
        explain: bool = False,
    ) -> list[Hit]:
        """The best commands, best first; none when nothing is close enough."""
        if algorithm != RANKED:
            text = " ".join(part for part in (query, action, target) if part)
            return self._plain_hits(self._plain.scores(text, algorithm), limit, c1)
        if self._skip and has_only_stop_words(f"{query} {action or ''} {target or ''}"):
            return self._with_stop_words.search(
                query, limit=limit, c1=c1, action=action, target=target, explain=explain
            )
        read = self._reader.terms
        terms = [*read(query), *read(action or "", "c2"), *read(target or "", "c3")]
        count = max(_CANDIDATES, 2 * limit)
        asked = " ".join(part for part in (query, action, target) if part)
        if any(term.meant != term.word for term in terms):
            asked = " ".join(term.meant for term in terms)
        near = self._near(asked, count)
        scores = self._scores(terms, near, c1, count)
        return [
            Hit(self._commands[number], score, self._why(number, terms, near) if explain else ())
            for number, score in _in_order(scores, limit)
        ]

    def _plain_hits(self, scores: dict[int, float], limit: int, c1: str | None) -> list[Hit]:
        if c1 is not None:
            scores = {n: score for n, score in scores.items() if self._commands[n].c1 == c1}
        return [Hit(self._commands[n], score) for n, score in _best(scores, limit)]

    def _add(self, number: int, command: Command) -> None:
        strengths: dict[str, float] = {}
        for field, text in _fields(command).items():
            tokens = self._tokens(field, text)
            too_long = max(0.0, len(tokens) / _COMMON_LENGTH - 1)
            share = _WEIGHTS[field] / (1 + _LENGTH_MATTERS * too_long)
            for token in tokens:
                strengths[token] = strengths.get(token, 0.0) + share
        for token, strength in strengths.items():
            match = min(1.0, strength / (strength + _SATURATION) / _FULL)
            postings = self._postings.get(token)
            if postings is None:
                self._postings[token] = {number: match}
            else:
                postings[number] = match

    def _tokens(self, field: str, text: str) -> list[str]:
        tokens = self._name_tokens if field in _NAMES else self._text_tokens
        return tokens.of(text[:LONGEST_TEXT])

    @cached_property
    def _reader(self) -> Reader:
        known = {**self._bodies, **self._postings}
        words = [*self._name_tokens.words(), *self._text_tokens.words()]
        return Reader(known, words, {word for c in self._commands for word in _name_words(c)})

    @cached_property
    def _bodies(self) -> dict[str, dict[int, float]]:
        """How much the templates' texts have of each token; a long text needs it more often."""
        postings: dict[str, dict[int, float]] = {}
        for number, command in enumerate(self._commands):
            tokens = self._text_tokens.of(command.body[:_LONGEST_BODY])
            damping = _SATURATION * (0.25 + 0.75 * len(tokens) / _BODY_LENGTH)
            for token, times in Counter(tokens).items():
                postings.setdefault(token, {})[number] = times / (times + damping)
        return postings

    @cached_property
    def _meaning(self) -> Meaning | None:
        return meaning_of(self._commands)

    def _near(self, query: str, count: int) -> dict[int, tuple[float, float]]:
        # Small words alone mean nothing.
        return self._meaning.near(query, count) if self._skip and self._meaning else {}

    @cached_property
    def _placed(self) -> dict[str, dict[int, float]]:
        """Tokens of actions and targets, marked by where they are."""
        placed: dict[str, dict[int, float]] = {}
        for number, command in enumerate(self._commands):
            for place in _PLACES:
                for token in self._tokens(place, getattr(command, place)):
                    placed.setdefault(f"{place}:{token}", {})[number] = 1.0
        return placed

    @cached_property
    def _with_stop_words(self) -> CommandIndex:
        """The same commands for queries that have only stop words."""
        return CommandIndex(self._commands, skip=frozenset())

    @cached_property
    def _plain(self) -> PlainIndex:
        return PlainIndex(self._commands)

    def _documents(self, term: Term, *, body: bool = False) -> dict[int, float]:
        """How well each command has the term, by the best of its ways."""
        best: dict[int, float] = {}
        so_far = best.get
        for expression, (worth, _) in term.ways.items():
            for matches, share in (
                [(_having_all(self._bodies, expression), 1.0)]
                if body
                else self._matches(expression, term.place)
            ):
                most = worth * share
                for number, match in matches.items():
                    value = most * match
                    if value > so_far(number, 0.0):
                        best[number] = value
        return best

    def _matches(
        self, expression: Expression, place: str | None
    ) -> list[tuple[dict[int, float], float]]:
        """Who has an expression; when it should be in one place, it counts less elsewhere."""
        anywhere = _having_all(self._postings, expression)
        if place is None:
            return [(anywhere, 1.0)]
        there = _having_all(self._placed, tuple(f"{place}:{token}" for token in expression))
        return [(there, 1.0), (anywhere, _ELSEWHERE_WORTH)]

    def _weigh(self, terms: list[Term]) -> None:
        """Weights that add up to 1; a word that no command has lowers a score little."""
        for term in terms:
            term.weight = term.share * self._rarity(len(term.documents))
        known = [term.weight for term in terms if term.documents]
        for term in terms:
            if known and not term.documents:
                term.weight = term.share * sum(known) / len(known) * _UNKNOWN_WORTH
        total = sum(term.weight for term in terms) or 1.0
        for term in terms:
            term.weight /= total

    def _rarity(self, having: int) -> float:
        return log(1 + (len(self._commands) - having + 0.5) / (having + 0.5))

    def _scores(
        self, terms: list[Term], near: dict[int, tuple[float, float]], c1: str | None, count: int
    ) -> dict[int, tuple[float, float]]:
        """What orders the commands that some witness speaks for, and the score of each."""
        texts = self._covered(terms, body=True)
        covered = self._covered(terms)
        numbers = {*_most(covered, count), *_most(texts, count), *near}
        if c1 is not None:
            numbers = {n for n in (*covered, *texts, *near) if self._commands[n].c1 == c1}
        said = _said(terms)
        # Words that no command has change the order little, but say that nothing fits.
        fits = 1 / (1 + sum(term.weight for term in terms if not term.documents))
        scores: dict[int, tuple[float, float]] = {}
        for number in numbers:
            named = self._named(number, said)
            part = covered.get(number, 0.0) * (1 - _NAME_SHARE + _NAME_SHARE * named)
            part = min(1.0, part)
            like, body_like = near.get(number, (0.0, 0.0))
            doubt = (
                (1 - _BODY_SHARE * texts.get(number, 0.0))
                * (1 - _MEANING_SHARE * like)
                * (1 - _BODY_MEANING_SHARE * body_like)
            )
            order = 1 - (1 - part) * doubt
            part *= fits
            trust = min(1.0, _TRUST + part)
            scores[number] = (order, round(part + (1 - part) * (1 - doubt) * trust, 6))
        return scores

    def _covered(self, terms: list[Term], *, body: bool = False) -> dict[int, float]:
        """The part of the query that each command's words, or its template's, cover."""
        for term in terms:
            term.documents = self._documents(term, body=body)
        self._weigh(terms)
        covered: dict[int, float] = {}
        so_far = covered.get
        for term in terms:
            weight = term.weight
            for number, match in term.documents.items():
                covered[number] = so_far(number, 0.0) + weight * match
        return covered

    def _named(self, number: int, said: dict[str, float]) -> float:
        """How much of the command's action and target the query names."""
        command = self._commands[number]
        named = total = 0.0
        for token in dict.fromkeys(map(stem, _name_words(command))):
            rarity = self._rarity(len(self._postings.get(token, _NONE)))
            named += rarity * said.get(token, 0.0)
            total += rarity
        return named / total if total else 0.0

    def _why(
        self, number: int, terms: list[Term], near: dict[int, tuple[float, float]]
    ) -> tuple[str, ...]:
        texts = _fields(self._commands[number])
        fields = {field: set(self._tokens(field, text)) for field, text in texts.items()}
        words = [word for text in texts.values() for p in pieces(text) for word in parts_of(p)]
        spelt = {stem(word): word for word in reversed(words)}
        fields["body"] = {token for token, having in self._bodies.items() if number in having}
        reasons = [_reason(term, fields, spelt) for term in terms]
        if number in near:
            reasons.append(f"meaning: {near[number][0]:.2f}")
        return tuple(reasons)


def _name_words(command: Command) -> list[str]:
    return [
        word for place in _PLACES for p in pieces(getattr(command, place)) for word in parts_of(p)
    ]


def _fields(command: Command) -> dict[str, str]:
    fields = {
        **command.parts,
        "description": command.description,
        "title": command.title,
        "tags": " ".join(command.tags),
        "variables": " ".join(variable.name for variable in command.variables),
        "usage": command.usage,
    }
    return {field: text for field, text in fields.items() if text}


def _having_all(postings: dict[str, dict[int, float]], expression: Expression) -> dict[int, float]:
    """The commands with all words of an expression; the weakest word counts."""
    if len(expression) == 1:
        return postings.get(expression[0], _NONE)
    found, *others = sorted((postings.get(token, _NONE) for token in expression), key=len)
    for other in others:
        found = {n: min(match, other[n]) for n, match in found.items() if n in other}
    return found


def _said(terms: list[Term]) -> dict[str, float]:
    """Every token that the query names in some way, and how well."""
    said: dict[str, float] = {}
    for term in terms:
        for expression, (worth, _) in term.ways.items():
            for token in expression:
                said[token] = max(said.get(token, 0.0), worth)
    return said


def _most(parts: dict[int, float], count: int) -> list[int]:
    return [number for number, _ in heapq.nlargest(count, parts.items(), key=itemgetter(1))]


def _in_order(scores: dict[int, tuple[float, float]], limit: int) -> list[tuple[int, float]]:
    """The best commands, each with its score, which is never above that of a better one."""
    best, least = [], 1.0
    for number, _ in _best({n: order for n, (order, _) in scores.items()}, limit):
        least = min(least, scores[number][1])
        best.append((number, least))
    return best


def _best(scores: dict[int, float], limit: int) -> list[tuple[int, float]]:
    """The highest scores; commands that score alike stay in their order."""
    rated = sorted((-score, number) for number, score in scores.items() if score > 0)
    return [(n, -score) for score, n in rated[: max(limit, 0)]]


def _reason(term: Term, fields: dict[str, set[str]], spelt: dict[str, str]) -> str:
    """A line such as `comit -> commit (spelling): c2, description`."""
    for expression, (_, how) in sorted(term.ways.items(), key=lambda way: -way[1][0]):
        places = [{name for name, has in fields.items() if token in has} for token in expression]
        if all(places):
            meant = " ".join(spelt.get(token, token) for token in expression)
            where = ", ".join(name for name in fields if any(name in place for place in places))
            return f"{term.word} -> {meant} ({how}): {where}" if how else f"{term.word}: {where}"
    return f"{term.word}: nowhere"
