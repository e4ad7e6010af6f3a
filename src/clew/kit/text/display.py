"""Paths and refusals of the system as people and JSON can read them."""

from __future__ import annotations

import os

_LONGEST = 200


def shown_text(text: str) -> str:
    r"""The text without what UTF-8 cannot say: a byte that is not text becomes `\xff`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a surrogate pair, which no file's name holds
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


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
