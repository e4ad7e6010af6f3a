r"""The one reader of acceptance criteria: what counts as a box, and what never does.

A section starts at a heading of any level whose text is `Acceptance Criteria` and ends at the next
heading of the same or a higher level. In it every list item with a box counts, nested or not:

    - [ ] The importer keeps unknown fields
      check: `pytest -q tests/importer`
      evidence: tests/importer, 14 passed

`check:` names the command that proves a criterion, `evidence:` says what proved it. Fenced and
indented code, comments and quotes never count. Nothing after an `## Agent Output` heading counts
either, whatever it says: that text comes from whoever has to meet the criteria. Below `## Output`,
where clients without another way write them, one section counts if there is none above it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.kit.errors import Invalid, NotFound
from clew.kit.text.markdown import HEADING, ITEM, Block, Blocks, heading_words

_SECTION = "acceptance criteria"
_AGENT_OUTPUT = "agent output"
_OUTPUTS = frozenset({"output", _AGENT_OUTPUT})

_BOX = re.compile(r"\[([ xX])\](?:[ \t]+(.*))?$")
_RULE = re.compile(r" {0,3}(?:=+|-+)[ \t\r]*$")
_EVIDENCE = ("The evidence", "Say what shows that the criterion is met.")
_NOTE = re.compile(r"([Cc]heck|[Ee]vidence):[ \t]*(.*)$")
_TITLE = re.compile(r"^#[ \t]+([^\n]*)", re.MULTILINE)
_MAYBE_SECTION = re.compile(r"acceptance[ \t]+criteria", re.IGNORECASE)

# Most bodies are simple: nothing in them needs to know which list is open. Lines that do: a
# comment, a note below a criterion, indented code, an underlined heading, an indented fence.
_SUBTLE = re.compile(
    r"\n(?:[ \t]*(?:[Cc]heck|[Ee]vidence):"
    r"|(?: {4}| {0,3}\t)[ \t]*(?:[-*+`~]|\d)"
    r"|(?: {1,3})(?:#|```|~~~)"
    r"|(?: {0,3})(?:=+|--+)[ \t\r]*(?=\n|\Z)"
    r"|(?: {0,3})(?:[-*+]|\d{1,9}[.)])[ \t]+(?:```|~~~))"
)
_SIMPLE = re.compile(
    r"^(?:(#{1,6})(?:[ \t]+([^\n]*)|\r?$)"
    r"|(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)"
    r"|(( {0,3})(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\](?:[ \t]+([^\n]*)|[ \t\r]*$)))",
    re.MULTILINE,
)


class Criterion(NamedTuple):
    """One box: its number from 1, its words, and its position in the body."""

    number: int
    text: str
    checked: bool
    line: int
    indent: int
    source: str
    check: str | None = None
    evidence: str | None = None


class Criteria(NamedTuple):
    """All boxes of a body, and the lines of `Acceptance Criteria` headings that do not count."""

    items: tuple[Criterion, ...] = ()
    ignored: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """How many boxes there are."""
        return len(self.items)

    @property
    def checked(self) -> int:
        """How many boxes are checked."""
        return sum(item.checked for item in self.items)

    @property
    def unchecked(self) -> int:
        """How many boxes are not checked."""
        return self.total - self.checked

    @property
    def open_items(self) -> tuple[Criterion, ...]:
        """The boxes that are not checked."""
        return tuple(item for item in self.items if not item.checked)


NO_CRITERIA = Criteria()


def parse_criteria(body: str) -> Criteria:
    """The acceptance criteria of a body."""
    if not _MAYBE_SECTION.search(body):
        return NO_CRITERIA
    reader = _Reader(body)
    if "<!--" in body or _SUBTLE.search(f"\n{body}"):
        reader.read_blocks()
    else:
        reader.read_simple()
    return reader.criteria()


def title_of(body: str) -> str | None:
    """The first level-1 heading outside code and outside output."""
    quick = _TITLE.search(body)
    if quick and not any(mark in body[: quick.start()] for mark in ("```", "~~~", "<!--", "##")):
        return heading_words(quick[1]) or None
    for block in Blocks(body):
        if block.kind == HEADING and block.level == 1 and block.words:
            return block.words
        if is_output_heading(block.level, block.words) and block.kind == HEADING:
            break
    return None


def set_criterion(body: str, number: int, *, checked: bool, evidence: str | None = None) -> str:
    """The body with one box set; with `evidence` also the note below it. Nothing else changes."""
    reader = _Reader(body)
    reader.read_blocks()
    items = reader.criteria().items
    if not 1 <= number <= len(items):
        known = f"1 to {len(items)}" if items else "none: the spec has no acceptance criteria"
        raise NotFound(f"No acceptance criterion {number}", f"Known numbers: {known}.")
    item = items[number - 1]
    lines = body.split("\n")
    text = lines[item.line - 1]
    box = text.index("[") + 1
    lines[item.line - 1] = f"{text[:box]}{'x' if checked else ' '}{text[box + 1 :]}"
    if evidence is not None:
        note = f"{' ' * _content_column(text)}evidence: {_one_line(evidence, *_EVIDENCE)}"
        _write_note(lines, range(item.line, reader.last_lines[number - 1]), note)
    return "\n".join(lines)


def add_criterion(body: str, text: str, check: str | None = None) -> str:
    """The body with one more open box, and a command that checks it."""
    words = _one_line(text, "The criterion", "Say what must hold when the work is done.")
    command = None if check is None else _one_line(check, "The check", "Give a command.")
    lines = [f"- [ ] {words}", *([f"  check: `{command}`"] if command else ())]
    added = _with_lines(body, lines)
    new = [(item.text, item.check) for item in parse_criteria(added).items]
    for item in parse_criteria(body).items:
        if (item.text, item.check) in new:
            new.remove((item.text, item.check))
    if new != [(words, command)]:
        raise Invalid(f"This cannot be written as a criterion: {words}", "Edit the spec itself.")
    return added


def append_output(body: str, text: str) -> str:
    """The body with `text` below a new `## Output` heading."""
    return append_section(body, "Output", text)


def append_section(body: str, heading: str, text: str) -> str:
    """The body with `text` below a new heading of level 2 at its end.

    A fence or comment that the body leaves open is closed first; otherwise the heading would be
    part of it, and the text could end it and pass for the body.
    """
    start = body if not body or body.endswith("\n") else f"{body}\n"
    if "```" in body or "~~~" in body or "<!--" in body:
        blocks = Blocks(body)
        for _block in blocks:
            pass
        if blocks.left_open:
            start += f"{blocks.left_open}\n"
    return f"{start}\n## {heading}\n\n{text}\n"


def without_agent_output(body: str) -> str:
    """The body without the sections that hold what agents said."""
    kept, start, hidden = "", 0, False
    for block in Blocks(body):
        if block.kind == HEADING and (block.level == 2 or (hidden and block.level == 1)):
            is_agents = block.level == 2 and block.words.lower() == _AGENT_OUTPUT
            kept += "" if hidden else body[start : block.start]
            start, hidden = block.start, is_agents
    return kept + ("" if hidden else body[start:])


class _Reader:
    """Collects the boxes below `Acceptance Criteria` headings."""

    def __init__(self, body: str) -> None:
        self._body = body
        self._items: list[Criterion] = []
        self._ignored: list[int] = []
        self._line, self._position = 1, 0
        self._level = 0  # of the section that is being read; 0 outside
        self._output = self._agent_output = False
        self.last_lines: list[int] = []  # of each criterion's own text
        self.section_line = 0  # of the last heading whose boxes count
        self.output_start: int | None = None

    def criteria(self) -> Criteria:
        """What was read."""
        return Criteria(tuple(self._items), tuple(self._ignored))

    def read_simple(self) -> None:
        """Read a body in which no line depends on the lists around it."""
        fence = ""
        for match in _SIMPLE.finditer(self._body):
            hashes, words, mark, rest, item, indent, box, text = match.groups()
            if fence:
                if mark and mark.startswith(fence) and not rest.strip():
                    fence = ""
            elif mark:
                fence = mark
            elif hashes:
                self._heading(match.start(), len(hashes), heading_words(words or ""))
            elif self._level:
                self._add(match.start(), len(indent), box, text, item)

    def read_blocks(self) -> None:
        """Read any body, line by line."""
        last: Block | None = None  # the last line of the criterion that is being read
        for block in Blocks(self._body):
            if block.kind == HEADING:
                self._heading(block.start, block.level, block.words)
                last = None
            elif self._level and block.kind == ITEM:
                box = _BOX.match(block.words)
                last = block if box else None
                if box:
                    source = self._body[block.start : block.end]
                    self._add(block.start, block.level, box[1], box[2], source)
            elif last and block.start == last.end + 1:
                self._continue(block)
                last = block

    def _heading(self, start: int, level: int, words: str) -> None:
        if is_output_heading(level, words):
            self._level, self._output = 0, True
            self._agent_output = self._agent_output or words.lower() == _AGENT_OUTPUT
            self.output_start = start if self.output_start is None else self.output_start
        elif not _is_section(words):
            self._level = 0 if level <= self._level else self._level
        elif self._agent_output or (self._output and self.section_line):
            self._level = 0
            self._ignored.append(self._line_at(start))
        elif not self._level or level <= self._level:
            self._level, self.section_line = level, self._line_at(start)

    def _add(self, start: int, indent: int, box: str, text: str | None, source: str) -> None:
        line = self._line_at(start)
        words = (text or "").strip()
        checked = box != " "
        number = len(self._items) + 1
        self._items.append(Criterion(number, words, checked, line, indent, source.strip()))
        self.last_lines.append(line)

    def _continue(self, block: Block) -> None:
        self.last_lines[-1] = self._line_at(block.start)
        note = _NOTE.match(block.words)
        if note is None:
            return
        if note[1].lower() == "check":
            self._items[-1] = self._items[-1]._replace(check=_command(note[2]))
        else:
            self._items[-1] = self._items[-1]._replace(evidence=note[2] or None)

    def _line_at(self, position: int) -> int:
        self._line += self._body.count("\n", self._position, position)
        self._position = position
        return self._line


def is_output_heading(level: int, words: str) -> bool:
    """Whether this heading begins what an agent wrote."""
    return level == 2 and words.lower() in _OUTPUTS


def _is_section(words: str) -> bool:
    """`Acceptance Criteria`, also with something behind it that is not one more word."""
    if words[:10].lower() != "acceptance":
        return False
    folded = " ".join(words.lower().split())
    return folded.startswith(_SECTION) and not folded[len(_SECTION) :].lstrip()[:1].isalnum()


def _content_column(item: str) -> int:
    """Where the text of a list item begins, which is how far its notes are indented."""
    bullet = item.lstrip(" \t").split(maxsplit=1)[0]
    return len(item[: item.index(bullet)].expandtabs(4)) + len(bullet) + 1


def _write_note(lines: list[str], own: range, note: str) -> None:
    """Replace the note among an item's own lines (from 0), or add it behind the last of them."""
    for number in own:
        if lines[number].lstrip().lower().startswith("evidence:"):
            lines[number] = note + ("\r" if lines[number].endswith("\r") else "")
            return
    carriage_return = "\r" if any(line.endswith("\r") for line in lines) else ""
    if own.stop == len(lines):  # the body ends without a newline
        lines[-1] += carriage_return
        lines.append(note)
    else:
        lines.insert(own.stop, note + carriage_return)


def _with_lines(body: str, new: list[str]) -> str:
    """The body with these lines after its last criterion, or in a section made for them."""
    reader = _Reader(body)
    reader.read_blocks()
    lines = body.split("\n")
    items = reader.criteria().items
    if items:
        indent, place = items[0].indent, _item_end(lines, items[-1], reader.last_lines[-1])
        new = [f"{' ' * indent}{line}" for line in new]
    elif reader.section_line:
        place = reader.section_line + bool(
            _RULE.match(next(iter(lines[reader.section_line :]), ""))
        )
        new = ["", *new]
    elif reader.output_start is None:
        return append_section(body, "Acceptance Criteria", "\n".join(new))
    else:
        before, rest = body[: reader.output_start], body[reader.output_start :]
        head = append_section(before.rstrip("\n"), "Acceptance Criteria", "\n".join(new))
        return f"{head}\n{rest}"
    carriage_return = "\r" if "\r\n" in body else ""
    lines[place:place] = [f"{line}{carriage_return}" for line in new]
    return "\n".join(lines)


def _item_end(lines: list[str], item: Criterion, last: int) -> int:
    """The number of lines up to the end of an item, with all that is indented below it."""
    end = place = last
    for line in lines[last:]:
        place += 1
        column = len(line) - len(line.lstrip(" \t"))
        if line.strip() and column <= item.indent:
            break
        end = place if line.strip() else end
    return end


def _command(text: str) -> str | None:
    """A command as it is meant: without the marks of code around it."""
    words = text.strip()
    while len(words) > 1 and words[0] == words[-1] == "`":
        words = words[1:-1].strip()
    return words.strip() or None


def _one_line(text: str, what: str, hint: str) -> str:
    words = " ".join(text.split())
    if not words:
        raise Invalid(f"{what} is empty", hint)
    return words
