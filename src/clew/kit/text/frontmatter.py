"""Front matter: where it begins and ends in a file, and what it says.

It is between two lines that are nothing but `---`; blank lines and a byte order mark may come
before, lines may end with CRLF. A text that only begins with a rule (no closing line or no key
below it) has none. The strict reader refuses what looks damaged; the lenient one reports it.

Nothing here may import what a cold start cannot afford, such as `re` and `typing`.
"""

from __future__ import annotations

from clew.kit.text.yaml_text import YamlError, key_end, read_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST_BYTES = 4 * 1024 * 1024
MOST_FRONTMATTER = 128 * 1024
_MARK = "---"
_BLANK = " \t\r"
_KEY_MARKS = (": ", ":\t", ":,", ":}")
_CONFLICT_MARKS = ("<<<<<<<", "=======", ">>>>>>>")


class FrontmatterError(Exception):
    """A file whose frontmatter cannot be read; `line` counts from 1."""

    def __init__(self, line: int | None, cause: str) -> None:
        super().__init__(cause)
        self.line = line
        self.cause = cause


class Document:
    """A file's text, its fields, and where its parts begin and end.

    `order` are the names of the known fields, in the order in which they are written.
    """

    __slots__ = ("body_start", "fields", "order", "text", "yaml_end", "yaml_start")

    def __init__(self, text: str, yaml_start: int, yaml_end: int, body_start: int) -> None:
        self.text = text
        self.order: Sequence[str] = ()
        self.yaml_start = yaml_start
        self.yaml_end = yaml_end
        self.body_start = body_start
        self.fields: dict[str, Any] = {}

    @property
    def has_frontmatter(self) -> bool:
        """Whether there is any, be it empty."""
        return self.yaml_start < self.body_start

    @property
    def yaml(self) -> str:
        """The lines between the marks, with plain line ends."""
        return self.text[self.yaml_start : self.yaml_end].replace("\r\n", "\n")

    @property
    def body(self) -> str:
        """Everything after the closing mark."""
        return self.text[self.body_start :]

    @property
    def line_end(self) -> str:
        """How this file ends its lines."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    def line_at(self, offset: int) -> int:
        """The number of the line at this offset, from 1."""
        return self.text.count("\n", 0, offset) + 1


def read_document(raw: bytes, order: Sequence[str] = ()) -> Document:
    """The file taken apart, with its fields; what looks like damaged front matter is an error.

    Text without front matter that has one of the known fields where that would be is damaged.
    """
    document = split_document(_decode(raw))
    document.order = order
    _refuse_damage(document)
    if document.has_frontmatter:
        first_line = document.line_at(document.yaml_start)
        if len(document.yaml) > MOST_FRONTMATTER:
            raise FrontmatterError(first_line, "the frontmatter is longer than 128 KiB")
        try:
            document.fields = read_fields(document.yaml)
        except YamlError as error:
            cause = f"the frontmatter is not valid: {error.cause}"
            raise FrontmatterError(first_line + error.line, cause) from None
    return document


def read_leniently(text: str) -> tuple[dict[str, Any] | None, str, str]:
    """The fields (None where there is no front matter), the body, and what is wrong with the block.

    Only a block that opens the file and holds a mapping is front matter; rules further down, and
    prose between two rules, belong to the body.
    """
    document = split_document(text)
    if not document.has_frontmatter or not text.startswith(_MARK):
        return None, text, ""
    try:
        return read_fields(document.yaml), document.body, ""
    except YamlError as error:
        lines = document.yaml.split("\n")
        if key_end(next((line.strip() for line in lines if line.strip()), "")) < 0:
            return None, text, ""
        return {}, document.body, f"The frontmatter is not readable YAML: {error.cause}"


def _decode(raw: bytes) -> str:
    if len(raw) > MOST_BYTES:
        raise FrontmatterError(None, "the file is larger than 4 MiB")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FrontmatterError(line, "the file is not UTF-8 text") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FrontmatterError(line, "the file holds NUL characters")
    if not text.strip("\ufeff \t\r\n"):
        raise FrontmatterError(1, "the file is empty")
    return text


def split_document(text: str) -> Document:
    """Where the parts of the file are; the fields are not read."""
    start, end = _first_line(text)
    if text[start:end].rstrip(_BLANK) != _MARK:
        return _bare(text)
    yaml_start = min(end + 1, len(text))
    closing = _closing_line(text, yaml_start)
    if closing is None:
        return _bare(text)
    document = Document(text, yaml_start, *closing)
    block = text[yaml_start : closing[0]]
    return document if not block.strip() or _has_key(block) else _bare(text)


def _bare(text: str) -> Document:
    start = 1 if text.startswith("\ufeff") else 0
    return Document(text, start, start, start)


def _first_line(text: str) -> tuple[int, int]:
    """Where the first line that is not blank begins and ends."""
    start = 1 if text.startswith("\ufeff") else 0
    while True:
        end = text.find("\n", start)
        if end < 0:
            return start, len(text)
        if text[start:end].strip(_BLANK):
            return start, end
        start = end + 1


def _closing_line(text: str, start: int) -> tuple[int, int] | None:
    """Where the next line that is nothing but the mark begins, and where the one after it does."""
    while text.startswith(_MARK, start) or (start := text.find("\n---", start) + 1):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if not text[start + len(_MARK) : end].strip(_BLANK):
            return start, min(end + 1, len(text))
        start = end
    return None


def _has_key(block: str) -> bool:
    """Whether a line could be a key with its value."""
    for line in block.split("\n"):
        content = line.strip()
        after_first = content[1:] + " "
        if content and content[0] != "#" and any(mark in after_first for mark in _KEY_MARKS):
            return True
    return False


def _refuse_damage(document: Document) -> None:
    text, opens, closing = document.text, True, None
    start, end = document.yaml_start, document.yaml_end
    if not document.has_frontmatter:
        start, end = _first_line(text)
        opens = text[start:end].rstrip(_BLANK) == _MARK
        if opens:
            closing = _closing_line(text, end + 1)
            end = closing[0] if closing else len(text)
    _refuse_conflict(document, start, end)
    if document.has_frontmatter or closing:
        return
    if any(_is_known(line, document.order) for line in text[start:end].split("\n")):
        missing = "closing" if opens else "opening"
        raise FrontmatterError(
            document.line_at(start), f"the frontmatter has no {missing} `---` line"
        )


def _refuse_conflict(document: Document, start: int, end: int) -> None:
    if all(document.text.find(mark, start, end) < 0 for mark in _CONFLICT_MARKS):
        return
    for line in document.text[start:end].split("\n"):
        if line.startswith(_CONFLICT_MARKS) and line[7:8] in {"", " ", "\r"}:
            raise FrontmatterError(document.line_at(start), "a merge conflict is not resolved here")
        start += len(line) + 1


def _is_known(line: str, order: Sequence[str]) -> bool:
    key, colon, value = line.partition(":")
    return bool(colon) and key.rstrip(" \t") in order and not value[:1].strip()
