"""What git and agents print, and what is stored of it: each reader with what must hold."""

from __future__ import annotations

import os
import re
from types import SimpleNamespace

import zstandard

from clew.advisors.actions.review_diff import _changes
from clew.history.git.stream import _commit, _parse_log
from clew.history.questions import blame
from clew.history.sync.diffs import index_commit
from clew.kit.text.diff import file_diffs
from clew.kit.text.redact import SecretLines, redact_patch
from clew.thread.why.blame import _entries
from clew.web.views.diffs import read_diff
from clew.work.agents.output import _READERS, StreamReader
from tests.fuzz.corpus import as_text

_KEY = re.compile(r"\bAKIA[A-Z0-9]{16}\b", re.ASCII)
_BODY = "MIIEpAIBAAKCAQEA7bqfuzzfuzzfuzz"


def read_git(data):
    """A commit and a patch with any text in them: both can be indexed and shown."""
    fields = [b"a" * 40, b"b" * 40, b"", data[:50], data[50:90], data[90:120], b"", b"", b"x", data]
    meta = _commit([field.replace(b"\0", b"") for field in fields])
    head, _, patch = data.partition(b"\n\n")
    lines = [line for line in head.split(b"\n") if line.count(b"\t") and line.count(b" ") >= 4]
    raw = [b":100644 100644 1111111 2222222 M\t" + line.split(b"\t")[1] for line in lines]
    diff = b"\n".join(raw) + b"\n\n" + patch if raw else patch.lstrip(b":")
    found = index_commit(meta, diff, ("ignored/",), zstandard.ZstdCompressor(level=1))
    assert found.meta.sha == "a" * 40
    if found.patch_blob is not None:
        shown = zstandard.ZstdDecompressor().decompress(found.patch_blob).decode("utf-8", "replace")
        assert not _KEY.search(shown)


def read_patch(data):
    """A patch that somebody stored: files and lines, whatever it says."""
    text = as_text(data)
    list(file_diffs(text))
    read_diff(text)
    _changes(text)


def read_git_log(data):
    """A stream of commits, however git cuts it: as many as were written, each with its texts."""
    text = data.replace(b"\0", b"\x1f")
    fields = [b"a" * 40, b"b" * 40, b"", text, text[::-1], b"1 +0000", b"", b"", text[:9], text]
    record = b"\0".join(fields) + b"\0\n"
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    sent = os.write(writing, record * 2)
    os.close(writing)
    with open(reading, "rb") as stream:
        found = list(_parse_log(SimpleNamespace(stdout=stream)))
    assert len(found) == sent // len(record) or sent < 2 * len(record)
    assert all(commit.sha == "a" * 40 for commit in found)


def read_blame(data):
    """What git says of lines: entries, in both rooms that ask."""
    listed = list(blame.porcelain(data))
    assert len(blame._merged(map(blame._entry, listed))) <= len(listed)
    assert len(_entries(data)) <= len(listed)


def read_stream(data):
    """Any line of any agent is at most some events."""
    for form in _READERS:
        reader = StreamReader(form)
        for line in as_text(data).splitlines():
            list(reader.read(line))
        list(reader.rest())


def hide_secrets(data):
    """Line by line or at once: the same is left, and of a key's lines nothing is."""
    text = as_text(data).replace("\n-----END", "\n----END")
    kept, _ = redact_patch(text.encode())
    lines = SecretLines()
    assert "\n".join(lines.clean(line) for line in text.split("\n")).encode() == kept
    assert redact_patch(kept)[0] == kept
    assert kept.count(b"\n") == text.count("\n")
    key = (
        f"{text}\n-----BEGIN PRIVATE KEY-----\n{_BODY}\n{_BODY}\n-----END PRIVATE KEY-----\n{text}"
    )
    assert _BODY in text or _BODY not in redact_patch(key.encode())[0].decode()
