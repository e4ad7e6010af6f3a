"""Known words that look like a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

_CANDIDATES = 24
_LEAST_ALIKE = 0.3


class Spelling:
    """Finds neighbours by the three-letter pieces that words share, and by swapped letters."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted({word for word in words if len(word) > 2})
        self._holders: dict[str, list[int]] = {}
        self._anagrams: dict[str, list[int]] = {}
        for number, word in enumerate(self._words):
            self._anagrams.setdefault("".join(sorted(word)), []).append(number)
            for piece in _trigrams(word):
                self._holders.setdefault(piece, []).append(number)

    def nearest(self, word: str) -> list[tuple[str, float]]:
        """The known words that are fewest slips away, each with how alike it is (0 to 1)."""
        allowed = _slips_allowed(word)
        if not allowed:
            return []
        alike: dict[int, list[str]] = {}
        for number in self._candidates(word):
            known = self._words[number]
            slips = distance(word, known, allowed)
            if slips <= allowed and _believable(word, known, slips):
                alike.setdefault(slips, []).append(known)
        if not alike:
            return []
        fewest = min(alike)
        return [(known, 1 - fewest / (len(word) + 1)) for known in sorted(alike[fewest])]

    def beginning_with(self, start: str) -> list[str]:
        """Known words that the given letters begin."""
        holders = self._holders.get(f"^{start[:2]}", ())
        return [self._words[n] for n in holders if self._words[n].startswith(start)]

    def _candidates(self, word: str) -> list[int]:
        pieces = _trigrams(word)
        shared: dict[int, int] = {}
        for piece in pieces:
            for number in self._holders.get(piece, ()):
                shared[number] = shared.get(number, 0) + 1
        rated = [
            (-2 * count / (len(pieces) + len(self._words[number]) + 1), number)
            for number, count in shared.items()
            if abs(len(self._words[number]) - len(word)) <= 3
        ]
        rated.sort()
        best = [number for alike, number in rated[:_CANDIDATES] if -alike >= _LEAST_ALIKE]
        swapped = self._anagrams.get("".join(sorted(word)), [])
        return list(dict.fromkeys([*swapped, *best]))


def _trigrams(word: str) -> set[str]:
    framed = f"^^{word}$"
    return {framed[at : at + 3] for at in range(len(framed) - 2)}


def _slips_allowed(word: str) -> int:
    if len(word) < 3 or not word.isalpha():
        return 0
    return 1 if len(word) <= 5 else 2


def _believable(word: str, known: str, slips: int) -> bool:
    """Short words have many neighbours, so only swapped and missing letters are believed there."""
    if sorted(known) == sorted(word):
        return True
    if len(word) <= 4:
        return known[0] == word[0] and len(known) > len(word)
    return slips == 1 or known[0] == word[0]


def distance(one: str, other: str, most: int) -> int:
    """How many letters were added, left out, changed or swapped; most + 1 when there are more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    two_above: list[int] = []
    above = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        row = [at]
        for place, known in enumerate(other, 1):
            cost = min(above[place] + 1, row[-1] + 1, above[place - 1] + (letter != known))
            if at > 1 and place > 1 and letter == other[place - 2] and known == one[at - 2]:
                cost = min(cost, two_above[place - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        two_above, above = above, row
    return min(above[-1], most + 1)
