"""Secrets in patches: recognised by their form, replaced before anything is stored."""

from __future__ import annotations

import re

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
    (
        "private key",
        rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[^-]{40,}?-----END (?:[A-Z]+ )?PRIVATE KEY-----",
    ),
)
_ANY = re.compile(b"|".join(b"(?P<f%d>%s)" % (n, form) for n, (_, form) in enumerate(_FORMS)))
# Beginnings by which most patches are told to hold none of these. Each begins with a fixed
# letter, which the search for one then skips to.
_HINTS = tuple(
    re.compile(hint).search
    for hint in (
        rb"A(?:KIA|SIA|Iza)",
        rb"g(?:h[pousr]_|ithub_pat_|lpat-)",
        rb"xox[abprs]-",
        rb"k(?:-[A-Za-z0-9_-]{32}|_live_)",
        rb"PRIVATE KEY-----",
    )
)


def redact_patch(patch: bytes) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """The patch with secrets replaced, and what was replaced: kind and a harmless hint."""
    if not any(has_hint(patch) for has_hint in _HINTS):
        return patch, ()
    found: list[tuple[str, str]] = []

    def replace(match: re.Match[bytes]) -> bytes:
        kind = _FORMS[int((match.lastgroup or "f0")[1:])][0]
        secret = match.group()
        found.append((kind, secret[:4].decode("ascii", "replace") + "…"))
        return b"[redacted %s]" % kind.encode() if b"\n" not in secret else _masked(secret, kind)

    return _ANY.sub(replace, patch), tuple(found)


def _masked(secret: bytes, kind: str) -> bytes:
    """A secret of several lines keeps its lines, so that the diff stays a diff."""
    lines = secret.split(b"\n")
    marks = [b"[redacted %s]" % kind.encode()]
    marks += [line[:1] + b"[redacted]" if line[:1] in b"+- " else line for line in lines[1:]]
    return b"\n".join(marks)
