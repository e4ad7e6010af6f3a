"""What is measured of each candidate, as numbers of about 0 to 1."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from clew.history.ranking.candidates import Candidates
from clew.history.ranking.question import forms, stem, words_of_stem
from clew.history.store.interface import MessageRecord
from clew.kit.text.tokens import lower_words, telling_words

FEATURES = (
    "score", "score_rank", "message_score", "message_rank", "meaning", "meaning_rank",
    "subject", "body", "message", "anywhere", "paths", "all_words", "all_in_message",
    "phrase", "phrase_in_message", "pairs", "focus", "size", "length", "revert",
    "name_in_message", "name_added", "name_first", "mention", "recent", "files",
)  # fmt: skip
_FLATNESS = 10.0
_PLACES = 200
# A message's score: how much a word in each part counts, how soon more of it counts no more, and
# how many words there are besides it, and usually.
_OF_SUBJECT, _OF_BODY, _SATURATION, _SHORTEST, _USUAL = 10.0, 4.0, 1.2, 60, 120
_YEAR = 365.25 * 86400
_REVERT = re.compile(r"(?:Revert|Reapply)\b")
_stem = lru_cache(maxsize=20_000)(stem)


class Measure:
    """The features of candidates for one question."""

    def __init__(
        self,
        candidates: Candidates,
        likeness: Mapping[int, float],
        shared: Mapping[int, float],
        now: float,
    ) -> None:
        self._candidates = candidates
        self._question = candidates.question
        self._likeness = likeness
        self._shared = shared
        self._now = now
        self._whole = sum(candidates.weights.values()) or 1.0
        self._stems = {word: _stem(word) for word in candidates.weights}
        self._asked = frozenset(self._stems.values())
        self._forms = {form: one for one in self._asked for form in words_of_stem(one)}
        in_order = [_stem(word) for word in telling_words(self._question.text, 48, shortest=2)]
        self._pairs = set(itertools.pairwise(in_order))
        self._paired = {form: one for one in in_order for form in words_of_stem(one)}
        self._counted = {form: word for word in candidates.weights for form in forms(word)}
        self._words = [
            (
                weight,
                self._stems[word],
                candidates.anywhere.get(word, frozenset()),
                candidates.in_paths.get(word, frozenset()),
            )
            for word, weight in candidates.weights.items()
        ]
        self._score = _Places(candidates.scores)
        self._meaning = _Places(likeness)

    def of(self, commits: Sequence[MessageRecord]) -> list[tuple[MessageRecord, list[float]]]:
        """The commits with their features, in the order of the features' names."""
        messages = [_Message(one) for one in commits]
        scores = [self._score_of_message(one) for one in messages]
        by_id = {one.id: score for one, score in zip(commits, scores, strict=True) if score}
        places = _Places(by_id)
        return [
            (one, self._features(one, message, places.of(one.id)))
            for one, message in zip(commits, messages, strict=True)
        ]

    def _score_of_message(self, message: _Message) -> float:
        """How well a message matches, as BM25 would have it."""
        often: dict[str, float] = {}
        for words, known, counts in message.parts:
            for form in self._counted.keys() & known:
                word = self._counted[form]
                often[word] = often.get(word, 0.0) + counts * words.count(form)
        if not often:
            return 0.0
        length = len(message.subject) + len(message.body) + _SHORTEST
        rest = _SATURATION * (0.25 + 0.75 * length / _USUAL)
        weights = self._candidates.message_weights
        return sum(weights[word] * many / (many + rest) for word, many in often.items())

    def _features(
        self, commit: MessageRecord, message: _Message, message_score: tuple[float, float]
    ) -> list[float]:
        found, number = self._candidates, commit.id
        text = f"{commit.subject}\n{commit.body or ''}"
        in_subject = set(map(_stem, message.subject))
        in_body = {self._forms[word] for word in self._forms.keys() & message.in_body}
        parts = self._shares(number, in_subject, in_body)
        names = found.named
        return [
            *self._score.of(number),
            *message_score,
            self._likeness.get(number, 0.0),
            self._meaning.of(number)[1],
            *parts,
            float(number in found.phrase),
            float(number in found.phrase and self._has_phrase(text)),
            self._neighbours(message) / len(self._pairs) if self._pairs else 0.0,
            len(in_subject & self._asked) / len(in_subject) if in_subject else 0.0,
            math.log1p(commit.size) / 12,
            math.log1p(len(message.body)) / 6,
            float(_REVERT.match(commit.subject) is not None),
            sum(name in text for name in names) / len(names) if names else 0.0,
            sum(number in ids for ids in names.values()) / len(names) if names else 0.0,
            1 / (1 + found.first[number]) if number in found.first else 0.0,
            float(number in found.mentions),
            1 / (1 + max(0.0, self._now - commit.date) / _YEAR),
            self._shared.get(number, 0.0),
        ]  # fmt: skip

    def _neighbours(self, message: _Message) -> int:
        """How many pairs of neighbours in the question are neighbours in the message."""
        found: set[tuple[str | None, str | None]] = set()
        for words, known, _ in message.parts:
            if len(self._paired.keys() & known) > 1:
                found |= self._pairs.intersection(itertools.pairwise(map(self._paired.get, words)))
        return len(found)

    def _has_phrase(self, text: str) -> bool:
        return self._question.phrase in " ".join(lower_words(text))

    def _shares(self, number: int, subject: set[str], body: set[str]) -> Sequence[float]:
        in_subject = in_body = in_message = anywhere = in_paths = 0.0
        missing = 0
        for weight, stemmed, having, named in self._words:
            here = stemmed in subject
            there = stemmed in body
            if here:
                in_subject += weight
            if there:
                in_body += weight
            if here or there:
                in_message += weight
            else:
                missing += 1
            if here or there or number in having:
                anywhere += weight
            if number in named:
                in_paths += weight
        shares = (in_subject, in_body, in_message, anywhere, in_paths)
        return [
            *(share / self._whole for share in shares),
            float(number in self._candidates.every),
            float(not missing),
        ]


class _Message:
    """The words of a message, in their order and each once."""

    def __init__(self, commit: MessageRecord) -> None:
        self.subject = lower_words(commit.subject)
        self.body = lower_words(commit.body or "")
        self.in_body = frozenset(self.body)
        self.parts = (
            (self.subject, frozenset(self.subject), _OF_SUBJECT),
            (self.body, self.in_body, _OF_BODY),
        )


class _Places:
    """Scores beside the best one, and places."""

    def __init__(self, scores: Mapping[int, float]) -> None:
        self._scores = scores
        self._best = max(scores.values(), default=0.0) or 1.0
        least = sorted(scores.values())[-_PLACES:][:1]
        high = ((score, number) for number, score in scores.items() if score >= least[0])
        best = sorted(high, reverse=True)[:_PLACES]
        self._places = {number: place for place, (_, number) in enumerate(best)}

    def of(self, number: int) -> tuple[float, float]:
        """The score as a share of the best, and how early it comes."""
        score = self._scores.get(number, 0.0) / self._best
        place = self._places.get(number)
        return score, 0.0 if place is None else _FLATNESS / (_FLATNESS + place)
