"""Paths and refusals of the system as people and JSON can read them."""

from __future__ import annotations

import os

_LONGEST = 200
# What could command a terminal: all controls but line ends and tabs, and those that turn the
# direction of writing. Within a JSON text, what is written for them still is JSON.
_CONTROLS = {number: f"\\x{number:02x}" for number in range(0x20) if chr(number) not in "\n\t"}
_CONTROLS |= {
    number: f"\\u{number:04x}"
    for first, last in ((0x7F, 0x9F), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069))
    for number in range(first, last + 1)
}
_CONTROLS[0x061C] = "\\u061c"


def shown_text(text: str) -> str:
    r"""The text without what UTF-8 cannot say: a byte that is not text becomes `\xff`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a surrogate pair, which no file's name holds
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def terminal_text(text: str) -> str:
    r"""Text of others as a terminal may get it: what could command it becomes `\x1b`."""
    lines = shown_text(text).split("\r\n")  # the one carriage return that does no harm
    return "\r\n".join([line.translate(_CONTROLS) for line in lines])


def shown_path(path: str | bytes | os.PathLike[str]) -> str:
    r"""The path as text; bytes that are not UTF-8 become `\xff`."""
    return shown_text(os.fsdecode(path))


def clipped(text: str, longest: int = _LONGEST) -> str:
    """The text, with the middle left out when it is very long."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]}"


def os_reason(error: OSError) -> str:
    """Why the system refused, in plain words, and the file that it is about."""
    reason = error.strerror or str(error) or error.__class__.__name__
    named = [name for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    files = " and ".join(clipped(shown_path(name)) for name in named)
    return f"{reason}: {files}" if files else reason


def excerpt(line: str, at: int, most: int) -> str:
    """The line, or of a long one the part around a place."""
    if len(line) <= most:
        return line
    begin = max(0, min(at - most // 3, len(line) - most))
    end = begin + most
    return f"{'…' if begin else ''}{line[begin:end].strip()}{'…' if end < len(line) else ''}"
