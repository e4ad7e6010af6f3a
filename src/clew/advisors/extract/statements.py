"""A text taken apart into statements, each with its line and the heading above it.

Foreign text is data: what would be Markdown or HTML in a document is made harmless here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from clew.advisors.documents.markdown import one_line, visible
from clew.kit.text.markdown import code_lines

LONGEST_STATEMENT = 600
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_LABEL = re.compile(
    r"(?:\*\*|__)?([^\W\d][^.:\uff1a!?。]{1,38})(?:\*\*|__)?\s*[:\uff1a](?:\*\*|__)?\s*$"
)
_LIST_MARK = re.compile(r"\s*(?:[-*+•・]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_QUOTE_MARK = re.compile(r"^\s{0,3}(?:>\s?)+")
_TABLE_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*$")
_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c\u2018(\[*_`<]*[^\W_a-zß-öø-ÿ])|(?<=[。\uff01\uff1f])\s*"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|ca|Dr|Mr|Mrs|Ms|St|No|Nr|bzw|usw|evtl|ggf|inkl)\.|z\. ?B\.|d\. ?h\.)$"
)
_ORDINAL = re.compile(r"\b\d{1,2}\.$")
_AFTER_ORDINAL = re.compile(r"(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Quartal)")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\(\s*<?([^\s()<>]+)>?[^()\n]*\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~|(?<![\w*])\*(?=\S))(\S(?:[^*~\n]*?\S)?)\1(?!\w)")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SPECIAL = re.compile(r"[\\`*\[\]<]|~~|(?<![^\W_])_|_(?![^\W_])")


class Statement(NamedTuple):
    """One sentence or list entry: its plain text, its line, the heading above, whether listed."""

    text: str
    line: int
    heading: str
    listed: bool


def inline(text: str) -> str:
    """Foreign text as inline Markdown that shows it and does nothing else."""
    line = one_line(text)
    pieces: list[str] = []
    position = 0
    for code in _CODE.finditer(line):
        pieces += [_escaped(line[position : code.start()]), code[0]]
        position = code.end()
    return "".join([*pieces, _escaped(line[position:])])


def plain(text: str) -> str:
    """The text that inline Markdown shows."""
    return re.sub(r"\\([\\`*\[\]<>_~|#])", r"\1", text).replace("&lt;", "<")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(
        lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", _unformatted(text)
    )


def _unformatted(text: str) -> str:
    linked = _LINK.sub(
        lambda found: f"{found[1]} ({found[2]})" if found[1].strip() else found[2], text
    )
    return _EMPHASIS.sub(r"\2", linked)


def statements(text: str, most: int = 100_000) -> list[Statement]:
    """The statements of a text, in order; reading stops soon after `most` of them."""
    reader = _Reader()
    lines = [_QUOTE_MARK.sub("", raw, count=1) for raw in visible(text).split("\n")]
    for number, outside in enumerate(code_lines("\n".join(lines)).outside):
        if len(reader.found) > most:
            break
        if outside and not _is_table_head(lines, number):
            reader.take(number + 1, lines[number])
        else:
            reader.flush()
    reader.flush()
    found = [
        one._replace(text=shortened(one_line(one.text), LONGEST_STATEMENT)) for one in reader.found
    ]
    return [one for one in found if any(c.isalnum() for c in one.text)]


class _Reader:
    """Reads line by line, and remembers what a line needs to know of those above it."""

    def __init__(self) -> None:
        self.found: list[Statement] = []
        self._paragraph: list[tuple[int, str]] = []
        self._heading = ""
        self._listed_under = ""

    def flush(self) -> None:
        """End the paragraph; what follows a list no longer belongs to its heading."""
        heading = "" if self._listed_under == self._heading else self._heading
        self.found.extend(_sentences(self._paragraph, heading))
        self._paragraph.clear()

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if not line.strip():
            self.flush()
        elif title := _HEADING.match(line) or self._label(line):
            self.flush()
            self._heading, self._listed_under = one_line(title[1]).strip("*_ "), ""
        elif _LIST_MARK.match(line) or line.lstrip().startswith("|"):
            self.flush()
            self._listed_under = self._heading
            self.found.extend(_entry(line, number, self._heading))
        elif self._goes_on_below(line):
            last = self.found.pop()
            self.found.append(last._replace(text=f"{last.text} {line.strip()}"))
        else:
            self._prose(number, line)

    def _label(self, line: str) -> re.Match[str] | None:
        """A label on a line of its own; the last words of a sentence are none."""
        return None if self._paragraph else _LABEL.fullmatch(line.strip())

    def _goes_on_below(self, line: str) -> bool:
        listed = bool(self.found) and not self._paragraph and self.found[-1].listed
        return listed and line.startswith(("  ", "\t"))

    def _prose(self, number: int, line: str) -> None:
        if line.lstrip().startswith("<"):
            self.flush()
        self._paragraph.append((number, line.strip()))
        if line.rstrip().endswith("-->"):
            self.flush()


def _is_table_head(lines: list[str], position: int) -> bool:
    line = lines[position]
    below = lines[position + 1] if position + 1 < len(lines) else ""
    ruled = "|" in below and bool(_TABLE_RULE.fullmatch(below))
    return bool(_TABLE_RULE.fullmatch(line)) or (line.lstrip().startswith("|") and ruled)


def _entry(line: str, number: int, heading: str) -> list[Statement]:
    marked = _LIST_MARK.match(line)
    if marked:
        return [Statement(line[marked.end() :].strip(), number, heading, listed=True)]
    cells = [part.strip() for part in line.strip().strip("|").split("|")]
    text = ": ".join(part for part in cells if part)
    return [Statement(text, number, heading, listed=True)] if text else []


def _sentences(paragraph: list[tuple[int, str]], heading: str) -> list[Statement]:
    """The sentences of lines that belong together, each with the line it begins on."""
    text, starts = "", list[tuple[int, int]]()
    for number, line in paragraph:
        wide = text and ord(text[-1]) > 0x2E80 and ord(line[0]) > 0x2E80
        text += line if not text or wide else f" {line}"
        starts.append((len(text) - len(line), number))
    found: list[Statement] = []
    begin = 0
    ends = [*(one.end() for one in _SENTENCE_END.finditer(text)), len(text)]
    for end in ends:
        sentence = text[begin:end].strip()
        if not sentence or _goes_on(sentence, text, end):
            continue
        where = starts[bisect_right(starts, begin, key=lambda start: start[0]) - 1][1]
        found.append(Statement(sentence, where, heading, listed=False))
        begin = end
    return found


def _goes_on(sentence: str, text: str, end: int) -> bool:
    """Whether the full stop belongs to an abbreviation or to a date."""
    if end >= len(text):
        return False
    ordinal = _ORDINAL.search(sentence[-4:]) and _AFTER_ORDINAL.match(text, end)
    return bool(ordinal or _ABBREVIATION.search(sentence[-8:]))


def shortened(text: str, most: int) -> str:
    """The text, or its beginning where it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
