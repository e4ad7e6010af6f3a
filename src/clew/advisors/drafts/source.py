"""The source: everything that was said, as words on numbered lines; quotes are found in it.

Two texts are the same when their words are: case, blanks, quotation marks and Markdown do not
count, but no word may be left out or exchanged.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from clew.advisors.documents.markdown import visible
from clew.advisors.extract.measures import COURTESY
from clew.kit.text.markdown import code_lines
from clew.kit.text.tokens import GERMAN_STOP_WORDS, REQUEST_WORDS, STOP_WORDS

_WIDE: Final = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"\d+(?:[.,]\d+)+|[{_WIDE}]|[^\W_{_WIDE}]+|[%€$£¥]")
_SENTENCE_END = re.compile(r"[.!?…]['\"\u201d\u2019)\]*_]*\s|[。\uff01\uff1f]|\s\s")
_NEW_UNIT = re.compile(r"\s*(?:[-*+•・]|\d{1,3}[.)]|\||>)\s*|\s{0,3}#{1,6}\s")
_NUMBER_MARK = re.compile(r"\s*\d{1,3}[.)]\s")
_LISTED = re.compile(r"\s*(?:[-*+•・]|\d{1,3}[.)]|\|)\s")
_HEADING = re.compile(
    r"\s{0,3}#{1,6}\s|\s*(?:={3,}|-{3,}|\*{3,})\s*$|\s{0,3}(\*\*|__)[^*_]{1,80}\1:?\s*$"
)
_MARKED = re.compile(r"\s{0,3}(?:(#{1,6})\s|(?:\*\*|__)[^*_]{1,80}(?:\*\*|__):?\s*$)")
_FURNITURE = re.compile(
    r"\s*(?:\[?!\[.*|<[^>]*>\s*$|</?[a-z][^>]*>.*</?[a-z][^>]*>\s*|\[[^\]]+\]:\s.*|\|?[\s:|-]+\|?)$"
)
_TARGET = re.compile(r"(?<=\])(?:\([^\s()]*\)|\[[^\[\]]*\])")
_ADDRESS = re.compile(
    r"\b(?:https?://|www\.)[^\s)>\]]+|(?<!\S)[^\s@]{1,64}@[^\s@]{1,255}\.[^\s@]{2,63}|"
    + _TARGET.pattern
)
_ENTITY = re.compile(r"&(?:nbsp|amp|lt|gt|quot|#\d{1,5});")
_CUT = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")
_SILENT = STOP_WORDS | GERMAN_STOP_WORDS | REQUEST_WORDS
# Wide letters and digits as the usual ones; quotation marks within words as one.
_NARROW: Final = {wide: wide - 0xFEE0 for wide in range(0xFF10, 0xFF5B)} | {0x2019: 0x27}
_NEAR: Final = 4
_MOST_PLACES: Final = 200
_FAR: Final = 120  # how many words may be left out where a quote says `...`
TELLING: Final = 3


class Word(NamedTuple):
    """A word of the source: as it is compared, its line, its place there, its sentence."""

    text: str
    line: int
    start: int
    end: int
    unit: int
    counts: bool
    linked: bool
    listed: bool
    kind: str

    @property
    def tells(self) -> bool:
        """Whether it says something by itself."""
        return self.counts and says(self.text)


class Gap(NamedTuple):
    """Words that no statement cites: their line and their text."""

    line: int
    text: str


class Coverage(NamedTuple):
    """How much of the source is cited, and what is not."""

    percent: int
    gaps: tuple[Gap, ...]
    words: int


class Span(NamedTuple):
    """Where a quote stands: from which word to which, the last one excluded."""

    start: int
    end: int


def says(word: str) -> bool:
    """Whether a word says something by itself."""
    return word not in _SILENT and (len(word) > 1 or word.isdigit() or ord(word[0]) > 0x2E80)


def _pieces(quote: str) -> list[list[str]]:
    return [words for part in _CUT.split(quote) if (words := words_of(part))]


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared."""
    plain = _ENTITY.sub(" ", text).translate(_NARROW).casefold()
    return _WORD.findall(re.sub(r"(?<=[^\W\d_])'(?=[^\W\d_])", "", plain))


@dataclass(frozen=True)
class Source:
    """Texts under one count of lines, each with the kind of document it was said for."""

    texts: tuple[tuple[str, str], ...] = ()

    def adding(self, kind: str, text: str) -> Source:
        """The source with another text, unless every line of it is known."""
        known = {" ".join(line.split()) for line in self.lines}
        new = any(" ".join(line.split()) not in known for line in text.split("\n") if line.strip())
        return Source((*self.texts, (kind, visible(text).strip("\n")))) if new else self

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines, the first one has number 1."""
        return tuple(line for _, text in self.texts for line in text.split("\n"))

    def numbered(self, *, without: Collection[str] = (), only: Collection[int] = ()) -> list[str]:
        """The lines that are not blank, each behind its number, but for those of some kinds."""
        lines = ((kind, line) for kind, text in self.texts for line in text.split("\n"))
        return [
            f"{number}| {line.rstrip()}"
            for number, (kind, line) in enumerate(lines, 1)
            if line.strip() and kind not in without and (not only or number in only)
        ]

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """All words in order."""
        return tuple(_words(self.texts))

    @cached_property
    def _said(self) -> list[str]:
        return [word.text for word in self.words]

    @cached_property
    def _lines(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for word in self.words:
            found.setdefault(word.line, []).append(word.text)
        return found

    def words_on(self, lines: Iterable[int]) -> list[str]:
        """The words of these lines."""
        return [word for line in lines for word in self._lines.get(line, ())]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, word in enumerate(self.words):
            found.setdefault(word.text, []).append(number)
        return found

    def find(self, quote: str, near: Sequence[int] = ()) -> list[Span]:
        """Where a quote stands, nearest to these lines; `...` may leave out words of a passage."""
        return self._found(_pieces(quote), self._exact, near) or self._found(
            _pieces(_TARGET.sub("", quote)), self._joined, near
        )

    def _found(
        self, pieces: list[list[str]], look: Callable[[list[str]], list[Span]], near: Sequence[int]
    ) -> list[Span]:
        if not pieces:
            return []

        def distance(span: Span) -> int:
            return min((abs(self.words[span.start].line - line) for line in near), default=0)

        first = sorted(look(pieces[0]), key=distance)
        for span in first:
            spans = [span]
            for piece in pieces[1:]:
                after = spans[-1].end
                below = [one for one in look(piece) if after <= one.start <= after + _FAR]
                if not below:
                    break
                spans.append(below[0])
            if len(spans) == len(pieces):
                return spans
        return []

    def _exact(self, piece: list[str]) -> list[Span]:
        """Where words stand in a row: looked for at the rarest of them."""
        places = [self._places.get(word, []) for word in piece]
        rarest = min(range(len(piece)), key=lambda n: len(places[n]))
        starts = (at - rarest for at in places[rarest])
        found = [at for at in starts if at >= 0 and self._said[at : at + len(piece)] == piece]
        return [Span(at, at + len(piece)) for at in found]

    def _joined(self, piece: list[str]) -> list[Span]:
        """Where words stand however they are divided (`e-mail`, `email`), without link targets."""
        text, starts, numbers = self._letters
        wanted, found, at = "".join(piece), list[Span](), -1
        while (at := text.find(wanted, at + 1)) >= 0 and len(found) < _MOST_PLACES:
            first, last = bisect_left(starts, at), bisect_left(starts, at + len(wanted))
            ends = starts[last] if last < len(starts) else len(text)
            if starts[first : first + 1] == [at] and ends == at + len(wanted):
                found.append(Span(numbers[first], numbers[last - 1] + 1))
        return found

    @cached_property
    def _letters(self) -> tuple[str, list[int], list[int]]:
        """The letters in a row, where in them each word begins, and its number."""
        parts, starts, numbers, size = list[str](), list[int](), list[int](), 0
        for number, word in enumerate(self.words):
            if not word.linked:
                parts.append(word.text)
                starts.append(size)
                numbers.append(number)
                size += len(word.text)
        return "".join(parts), starts, numbers

    def lines_of(self, spans: Iterable[Span]) -> str:
        """The lines of a quote: `3` or `3-4`."""
        numbers = [word.line for span in spans for word in self.words[span.start : span.end]]
        first, last = min(numbers), max(numbers)
        return str(first) if first == last else f"{first}-{last}"

    def quoted(self, spans: Sequence[Span]) -> list[str]:
        """The words from the first to the last of a quote, those that it leaves out too."""
        return self._said[spans[0].start : spans[-1].end]

    def sentences_of(self, spans: Sequence[Span]) -> list[str]:
        """The words of the sentences that a quote stands in."""
        first, last = spans[0].start, spans[-1].end
        units = {word.unit for word in self.words[first:last]}
        around = self.words[max(first - 200, 0) : last + 200]
        return [word.text for word in around if word.unit in units]

    def said_around(self, spans: Sequence[Span], lines: Iterable[int]) -> list[str]:
        """The words that a statement with a quote and lines may rest on."""
        return [*self.sentences_of(spans), *self.words_on(lines), *self.list_lead(spans[0])]

    def before(self, span: Span) -> list[str]:
        """The last words before a quote, in the same sentence."""
        unit = self.words[span.start].unit
        near = self.words[max(span.start - _NEAR, 0) : span.start]
        return [word.text for word in near if word.unit == unit]

    def sentences_before(self, span: Span, most: int) -> list[str]:
        """The words of the sentences before the one that a quote stands in."""
        unit = self.words[span.start].unit
        before = self.words[max(span.start - 200, 0) : span.start]
        units = list(dict.fromkeys(word.unit for word in before if word.unit != unit))[-most:]
        return [word.text for word in before if word.unit in units]

    def headings_over(self, span: Span) -> list[str]:
        """The words of the headings that a quote stands under, of each level the nearest."""
        found, level = list[str](), 7
        for line in range(self.words[span.start].line - 1, 0, -1):
            marked = _MARKED.match(self.lines[line - 1])
            depth = len(marked[1] or "######") if marked else level
            if depth < level:
                level = depth
                found += self.words_on([line])
        return found

    def nearest(self, forms: Collection[str], span: Span) -> int:
        """The line nearest to a quote that has one of these words; 0 where there is none."""
        at = self.words[span.start].line
        lines = (self.words[place].line for one in forms for place in self._places.get(one, ()))
        return min(lines, key=lambda line: abs(line - at), default=0)

    def list_lead(self, span: Span) -> list[str]:
        """The words of the line that a list begins with (`It does not:`), for one of its entries."""
        if not self.words[span.start].listed:
            return []
        before = reversed(self.words[max(span.start - 300, 0) : span.start])
        last = next((word for word in before if not word.listed), None)
        if last is None or not self.lines[last.line - 1].rstrip().endswith((":", "\uff1a")):
            return []
        near = self.words[max(span.start - 500, 0) : span.start]
        return [word.text for word in near if word.unit == last.unit]

    def coverage(self, kind: str, spans: Iterable[Span]) -> Coverage:
        """How much of what was said for a kind of document is cited; the rest by runs.

        What is left of a sentence counts from three telling words or one number on, a whole
        sentence from two, an entry of a list from one; courtesies do not count.
        """
        cited = bytearray(len(self.words))
        for span in spans:
            cited[span.start : span.end] = b"\1" * (span.end - span.start)
        told = sum(
            word.tells and cited[n] for n, word in enumerate(self.words) if word.kind == kind
        )
        missing, gaps = 0, list[Gap]()
        for first, last in self._runs(cited, kind):
            found = [word for word in self.words[first : last + 1] if word.tells]
            text = self._slice(first, last)
            numbered = any(word.text[0].isdigit() for word in found)
            if (len(found) >= self._needed(first, last) or numbered) and not COURTESY.search(text):
                missing += len(found)
                gaps.append(Gap(self.words[first].line, text))
        nothing = 100 if self.words else 0  # all was said for another document
        percent = 100 * told // (told + missing) if told + missing else nothing
        return Coverage(percent, tuple(gaps), told + missing)

    def _needed(self, first: int, last: int) -> int:
        """How many telling words make a run worth a mention."""
        unit, words = self.words[first].unit, self.words
        ends = last + 1 == len(words) or words[last + 1].unit != unit
        whole = ends and (first == 0 or words[first - 1].unit != unit)
        return TELLING if not whole else 1 if words[first].listed else TELLING - 1

    def _runs(self, cited: bytearray, kind: str) -> Iterator[tuple[int, int]]:
        start = None
        for number, word in enumerate(self.words):
            if not word.counts and start is not None and self.words[start].unit == word.unit:
                continue  # an address does not end what is said around it
            if cited[number] or not word.counts or word.kind != kind:
                if start is not None:
                    yield start, number - 1
                start = None
            elif start is not None and self.words[start].unit != word.unit:
                yield start, number - 1
                start = number
            elif start is None:
                start = number
        if start is not None:
            yield start, len(self.words) - 1

    def _slice(self, first: int, last: int) -> str:
        start, end = self.words[first], self.words[last]
        if start.line == end.line:
            return self.lines[start.line - 1][start.start : end.end]
        middle = self.lines[start.line : end.line - 1]
        parts = [self.lines[start.line - 1][start.start :], *middle]
        return " ".join(" ".join([*parts, self.lines[end.line - 1][: end.end]]).split())


@lru_cache(maxsize=8)
def source_of(texts: tuple[tuple[str, str], ...]) -> Source:
    """The source of these texts, taken apart once."""
    return Source(texts)


def _words(texts: Iterable[tuple[str, str]]) -> Iterator[Word]:
    number = unit = 0
    for kind, text in texts:
        unit += 1
        listed = False
        outside = code_lines(text).outside
        for line, is_text in zip(text.split("\n"), outside, strict=True):
            number += 1
            if not line.strip() or _NEW_UNIT.match(line) or _HEADING.match(line):
                unit += 1
            counts = is_text and not _HEADING.match(line) and not _FURNITURE.match(line)
            if not line.strip() or _NEW_UNIT.match(line) or not line.startswith((" ", "\t")):
                listed = bool(_LISTED.match(line))
            for word in _line_words(line, number, unit, counts=counts):
                unit = word.unit
                yield word._replace(listed=listed, kind=kind)
            if _SENTENCE_END.search(f"{line[-3:]} ") or _HEADING.match(line):
                unit += 1


def _line_words(line: str, number: int, unit: int, *, counts: bool) -> Iterator[Word]:
    addresses = [found.span() for found in _ADDRESS.finditer(line)]
    mark = _NUMBER_MARK.match(line)
    addresses += [mark.span()] if mark else []
    line = _ENTITY.sub(lambda found: " " * len(found[0]), line)
    plain = re.sub(r"(?<=[^\W\d_])['\u2019](?=[^\W\d_])", "", line)
    moved = _moved(line) if len(plain) != len(line) else None
    last = 0
    for found in _WORD.finditer(plain):
        start, end = found.span()
        between = plain[last:start]
        if last and _SENTENCE_END.search(between) and not found[0][0].islower():
            unit += 1
        at = moved[start] if moved else start
        linked = any(begin <= at < stop for begin, stop in addresses)
        until = moved[end - 1] + 1 if moved else end
        text = found[0].translate(_NARROW).casefold()
        yield Word(text, number, at, until, unit, counts and not linked, linked, False, "")
        last = end


def _moved(line: str) -> list[int]:
    """For each character that stays when apostrophes within words go, where it was."""
    gone = {found.start() for found in re.finditer(r"(?<=[^\W\d_])['\u2019](?=[^\W\d_])", line)}
    return [at for at in range(len(line)) if at not in gone]
