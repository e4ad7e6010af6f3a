"""Which lines of a file an edit explains: equal lines in runs, reformatted ones, changed ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.sessions.index.fingerprints import BLANK, Prints
from clew.sessions.model import KeptEdit

EXACT, NORMALISED, FORMATTED, EDITED, BLOCK = (
    "exact", "normalised", "formatted", "edited", "block",
)  # fmt: skip
_MOST_PLACES = 64
_FEWEST_WORDS = 3
_LONGEST_JOIN = 40  # lines that a formatter makes of one, or the other way round
_SIMILAR = 0.6
_NEAR = 3
_FEWEST_SHARED, _MANY_SHARED = 3, 5  # lines of a file that got another name


@dataclass(frozen=True)
class Match:
    """One line explained by one line of an edit."""

    edit: int  # its place in the list of edits
    line: int  # of the edit
    kind: str
    certainty: float


@dataclass(frozen=True)
class _Run:
    """Equal lines: where in the edit, where in the file, how many, how many of them say enough."""

    there: int
    here: int
    size: int
    weight: int


def matches(edits: Sequence[KeptEdit], file: Prints) -> list[list[Match]]:
    """What explains each line of a file; most lines have one explanation or none."""
    found: list[list[Match]] = [[] for _ in file.normal]
    places = _places(file)
    used: list[set[int]] = []
    for number, edit in enumerate(edits):
        used.append(_equal(number, edit, file, places, found))
    for number, edit in enumerate(edits):
        _reformatted(number, edit, file, found, used[number])
    for number, edit in enumerate(edits):
        _changed(number, edit, file, found, used[number])
    return found


@dataclass(frozen=True)
class Written:
    """The lines that the edits of one path wrote, and those of the largest of them."""

    edits: tuple[KeptEdit, ...]
    all: frozenset[int]
    most: frozenset[int]

    @staticmethod
    def of(edits: Sequence[KeptEdit]) -> Written:
        """What some edits wrote, without what is too plain to tell."""
        made = [
            frozenset(
                line
                for line, is_new, says in zip(one.normal, one.added, one.weights, strict=True)
                if is_new and says
            )
            for one in edits
        ]
        most = max(made, key=len, default=frozenset())
        return Written(tuple(edits), frozenset[int]().union(*made), most)

    def is_about(self, file: Prints) -> bool:
        """Whether these edits of another path are about a file: half of it, or half of the largest.

        Files of one project share lines and even runs of lines, so a few say nothing.
        """
        here = {line for line, says in zip(file.normal, file.weights, strict=True) if says}
        shared = here & self.all
        return 2 * len(shared) >= max(len(here), 2 * _FEWEST_SHARED) or (
            2 * len(shared & self.most) >= max(len(self.most), 2 * _MANY_SHARED)
        )


def _places(file: Prints) -> dict[int, list[int]]:
    places: dict[int, list[int]] = defaultdict(list)
    for number, print_ in enumerate(file.normal):
        places[print_].append(number)
    return places


def _runs(edit: KeptEdit, file: Prints, places: dict[int, list[int]]) -> Iterable[_Run]:
    """Every longest run of equal lines that begins with one that says something."""
    here, there = file.normal, edit.normal
    ends: dict[int, int] = {}  # by diagonal: where the last run ended
    for first, is_heavy in enumerate(edit.weights):
        where = places.get(there[first], ()) if is_heavy else ()
        for at in where[:_MOST_PLACES]:
            diagonal = at - first
            if ends.get(diagonal, -1) > at:
                continue
            begin = 0
            while (
                first - begin > 0
                and at - begin > 0
                and there[first - begin - 1] == here[at - begin - 1]
            ):
                begin += 1
            end = 1
            while (
                first + end < len(there)
                and at + end < len(here)
                and there[first + end] == here[at + end]
            ):
                end += 1
            ends[diagonal] = at + end
            weight = sum(edit.weights[first - begin : first + end])
            yield _Run(first - begin, at - begin, begin + end, weight)


def _equal(
    number: int,
    edit: KeptEdit,
    file: Prints,
    places: dict[int, list[int]],
    found: list[list[Match]],
) -> set[int]:
    """Note equal lines; the lines of the edit that have a place."""
    runs = list(_runs(edit, file, places))
    best: dict[int, int] = defaultdict(int)
    for run in runs:
        for line in range(run.there, run.there + run.size):
            best[line] = max(best[line], run.size)
    used: set[int] = set()
    for run in runs:
        heavy = [n for n in range(run.size) if edit.weights[run.there + n]]
        is_unique = any(len(places[edit.normal[run.there + n]]) == 1 for n in heavy)
        filled = sum(line != BLANK for line in file.normal[run.here : run.here + run.size])
        if run.weight < 2 and filled < 2 and not is_unique:
            continue
        for offset in range(run.size):
            there, here = run.there + offset, run.here + offset
            used.add(there)
            if not edit.added[there] or best[there] > run.size:
                continue
            is_exact = edit.exact[there] == file.exact[here]
            certainty = 0.99 if run.weight > 1 or is_unique else 0.9
            kind = EXACT if is_exact else NORMALISED
            found[here].append(Match(number, there, kind, certainty - (0 if is_exact else 0.05)))
    return used


def _reformatted(
    number: int, edit: KeptEdit, file: Prints, found: list[list[Match]], used: set[int]
) -> None:
    """Note lines whose words are those of whole lines of the edit, put differently."""
    starts: dict[bytes, list[int]] = defaultdict(list)
    for line, words in enumerate(edit.words):
        if words and line not in used:
            starts[words[:2]].append(line)
    here = 0
    while here < len(file.words):
        size = 1
        if _is_free(found[here], number) and file.words[here]:
            for line in starts.get(file.words[here][:2], ()):
                joined = _joined(edit, line, file, here)
                size_here = joined[1] if joined else 0
                if joined and all(
                    _is_free(some, number) for some in found[here : here + size_here]
                ):
                    size = joined[1]
                    for offset in range(size):
                        found[here + offset].append(Match(number, line, FORMATTED, 0.85))
                    used.update(range(line, line + joined[0]))
                    break
        here += size


def _is_free(some: Sequence[Match], number: int) -> bool:
    """Whether nothing until then is the line itself; another one with these words may be there."""
    return all(one.edit > number or (one.edit < number and one.kind == FORMATTED) for one in some)


def _joined(edit: KeptEdit, line: int, file: Prints, here: int) -> tuple[int, int] | None:
    """How many lines of the edit have the same words as how many of the file, both whole."""
    there_words, here_words = edit.words[line], file.words[here]
    there_count = here_count = 1
    while there_words != here_words:
        if there_count + here_count > _LONGEST_JOIN:
            return None
        if len(there_words) < len(here_words) and here_words.startswith(there_words):
            if line + there_count >= len(edit.words):
                return None
            there_words += edit.words[line + there_count]
            there_count += 1
        elif len(here_words) < len(there_words) and there_words.startswith(here_words):
            if here + here_count >= len(file.words):
                return None
            here_words += file.words[here + here_count]
            here_count += 1
        else:
            return None
    lines = range(line, line + there_count)
    is_new = 2 * sum(edit.added[n] for n in lines) >= there_count
    is_enough = len(there_words) >= 2 * _FEWEST_WORDS and any(edit.weights[n] for n in lines)
    # A closing bracket has no words here; it belongs to what it closes.
    while (
        is_enough
        and here + here_count < len(file.words)
        and not file.words[here + here_count]
        and file.normal[here + here_count] != BLANK
        and here_count > there_count
    ):
        here_count += 1
    return (there_count, here_count) if is_new and is_enough else None


def _changed(
    number: int, edit: KeptEdit, file: Prints, found: list[list[Match]], used: set[int]
) -> None:
    """Note lines that are nearly one of the edit's, where the edit's own neighbours are around."""
    left = [
        line
        for line, is_new in enumerate(edit.added)
        if is_new and edit.weights[line] and line not in used
    ]
    if not left:
        return
    anchors: dict[int, set[int]] = defaultdict(set)  # by place in the file: lines of this edit
    for here, some in enumerate(found):
        for one in some:
            if one.edit == number and one.kind != EDITED:
                anchors[here].add(one.line)
    for here, some in enumerate(found):
        if some or not file.weights[here]:  # explained, or too plain to compare
            continue
        shifts = {
            around - line
            for around in range(here - _NEAR, here + _NEAR + 1)
            for line in anchors.get(around, ())
        }
        close = [line for line in left if any(abs(here - line - one) <= 1 for one in shifts)]
        rated = [(_similarity(edit.words[line], file.words[here]), line) for line in close]
        score, line = max(rated, default=(0.0, 0))
        if score >= _SIMILAR:
            some.append(Match(number, line, *_likeness(edit, line, file, here)))


def _likeness(edit: KeptEdit, line: int, file: Prints, here: int) -> tuple[str, float]:
    """What a line in its place is: the edit's own, which was too plain to be found alone, or changed."""
    if edit.exact[line] == file.exact[here]:
        return EXACT, 0.9
    if edit.normal[line] == file.normal[here]:
        return NORMALISED, 0.85
    return (FORMATTED, 0.8) if edit.words[line] == file.words[here] else (EDITED, 0.7)


def _similarity(one: bytes, other: bytes) -> float:
    """The share of words that two lines have in common."""
    first = Counter(one[at : at + 2] for at in range(0, len(one), 2))
    second = Counter(other[at : at + 2] for at in range(0, len(other), 2))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0
