"""Private keys: the lines between the BEGIN and the END line.

A key is recognised line by line, so that it is also found in a text that is still being written, in a
patch that removes it, and where its end is missing.
"""

from __future__ import annotations

import re

_HINT = b"PRIVATE KEY"
_EDGE = re.compile(rb"-----(BEGIN|END) (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_QUOTE = re.compile(rb"[+\- ]?[^A-Za-z/=+]{0,16}")  # what quotes or numbers a line
_PART = re.compile(rb"(?:[A-Za-z0-9+/=]|\\[nr])+")  # base64, maybe with line ends written out
_AFTER = re.compile(rb"[^A-Za-z0-9]{0,8}")
_WORD = re.compile(rb"[A-Za-z]?[a-z]{0,18}")
_HEADER = re.compile(rb"[^A-Za-z]{0,16}(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset): ")
_SHORTEST = 20  # only a key's last line is shorter
_MOST_LINES = 500
_MOST_OTHERS = 5  # other lines that may come in between
_MARK = b"[redacted]"
_FIRST_MARK = b"[redacted private key]"


class KeyLines:
    """Lines in their order, each shown without what it has of a key."""

    def __init__(self) -> None:
        self.found = 0
        self._left = 0
        self._others = 0
        self._is_body = False

    def clean(self, line: bytes) -> bytes:
        """The line as it may be shown."""
        if not self._left and _HINT not in line:
            return line
        shown = []
        start = 0
        for edge in _EDGE.finditer(line):
            before = line[start : edge.start()]
            shown += [self._whole(before) if start else self._line(before), edge.group()]
            start = edge.end()
            self._left = _MOST_LINES if edge[1] == b"BEGIN" else 0
            self._others, self._is_body = 0, False
        rest = line[start:]
        shown.append(self._beginning(rest) if start else self._line(rest))
        return b"".join(shown)

    def _whole(self, text: bytes) -> bytes:
        """Between two edges in one line."""
        return self._marked() if self._left and len(text) >= _SHORTEST else text

    def _beginning(self, text: bytes) -> bytes:
        """After an edge, up to the line's end."""
        part = _PART.match(text) if self._left else None
        if part is None or len(part.group()) < _SHORTEST:
            return text
        return self._marked() + text[part.end() :]

    def _line(self, line: bytes) -> bytes:
        if not self._left or not line.strip(b" \t\r+-") or _HEADER.match(line):
            return line
        self._left -= 1
        quote = _QUOTE.match(line)
        start = quote.end() if quote else 0
        part = _PART.match(line, start)
        body = part.group() if part else b""
        after = line[start + len(body) :]
        is_last = self._is_body and body and not _WORD.fullmatch(body)
        if (is_last or len(body) >= _SHORTEST) and _AFTER.fullmatch(after):
            self._others = 0
            return line[:start] + self._marked() + after
        self._is_body = False
        self._others += 1
        if self._others == _MOST_OTHERS:
            self._left = 0
        return line

    def _marked(self) -> bytes:
        mark = _MARK if self._is_body else _FIRST_MARK
        self.found += not self._is_body
        self._is_body = True
        return mark


def without_keys(text: bytes) -> tuple[bytes, int]:
    """A whole text without the keys in it, and how many those were."""
    if _HINT not in text:
        return text, 0
    keys = KeyLines()
    return b"\n".join([keys.clean(line) for line in text.split(b"\n")]), keys.found
