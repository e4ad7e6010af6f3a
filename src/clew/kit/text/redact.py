"""Secrets in patches and logs: recognised by their form, replaced before anything is stored."""

from __future__ import annotations

import re

from clew.kit.text.private_keys import KeyLines, without_keys

# Only forms that nothing else has: a false alarm would damage a patch.
_FORMS = (
    ("aws access key", rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("github token", rb"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    ("github token", rb"\bgithub_pat_[A-Za-z0-9_]{60,255}\b"),
    ("gitlab token", rb"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("slack token", rb"\bxox[abprs]-[A-Za-z0-9-]{20,}"),
    ("anthropic key", rb"\bsk-ant-[A-Za-z0-9_-]{32,}"),
    ("openai key", rb"\bsk-(?:proj-)?[A-Za-z0-9]{40,}\b"),
    ("google key", rb"\bAIza[A-Za-z0-9_-]{35}\b"),
    ("stripe key", rb"\b[sr]k_live_[A-Za-z0-9]{20,}\b"),
)
_ANY = re.compile(b"|".join(b"(?P<f%d>%s)" % (n, form) for n, (_, form) in enumerate(_FORMS)))
# Prefixes without which a line has none of these. Each begins with a fixed letter, which the
# search for one then skips to.
_HINTS = tuple(
    re.compile(hint).search
    for hint in (
        rb"A(?:KIA|SIA|Iza)",
        rb"g(?:h[pousr]_|ithub_pat_|lpat-)",
        rb"xox[abprs]-",
        rb"k(?:-[A-Za-z0-9_-]{32}|_live_)",
    )
)


def redact_patch(patch: bytes) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """The patch with secrets replaced, and what was replaced: kind and a harmless hint."""
    patch, keys = without_keys(patch)
    found = [("private key", "----…")] * keys
    lines = _hinted_lines(patch)
    if not lines:
        return patch, tuple(found)

    def replace(match: re.Match[bytes]) -> bytes:
        kind = _FORMS[int((match.lastgroup or "f0")[1:])][0]
        found.append((kind, match.group()[:4].decode("ascii", "replace") + "…"))
        return b"[redacted %s]" % kind.encode()

    shown: list[bytes] = []
    done = 0
    for start, end in lines:
        shown += [patch[done:start], _ANY.sub(replace, patch[start:end])]
        done = end
    return b"".join([*shown, patch[done:]]), tuple(found)


def _hinted_lines(patch: bytes) -> list[tuple[int, int]]:
    """Where the lines begin and end that have such a prefix: no secret is longer than its line."""
    lines: set[tuple[int, int]] = set()
    for search in _HINTS:
        end = 0
        while hint := search(patch, end):
            start = patch.rfind(b"\n", end, hint.start()) + 1 or end
            end = patch.find(b"\n", hint.end())
            end = len(patch) if end < 0 else end
            lines.add((start, end))
    return sorted(lines)


class SecretLines:
    """A text that comes line by line, without the secrets in it."""

    def __init__(self) -> None:
        self._keys = KeyLines()

    def clean(self, text: str) -> str:
        """The next lines as they may be kept."""
        raw = text.encode("utf-8", "surrogatepass")
        lines = b"\n".join([self._keys.clean(line) for line in raw.split(b"\n")])
        kept, _ = redact_patch(lines)
        return text if kept == raw else kept.decode("utf-8", "surrogatepass")
