"""Transcripts that nobody would write: damaged, foreign, endless, growing while they are read."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.sessions.model import Filter
from clew.sessions.readers.interface import Progress, Source
from clew.sessions.readers.table import READERS
from tests.sessions.recorded import recordings
from tests.support.proof import amount

LINES = {
    make.name: [line for file in recordings(make.name) for line in file.read_bytes().splitlines(keepends=True)]
    for make in READERS
    if make.name not in ("opencode", "cursor")
}  # fmt: skip


def _read(make, path):
    reader = make()
    found = path.stat()
    source = Source(make.name, str(path), "", found.st_size, found.st_mtime_ns)
    reader.header(source)
    return list(reader.read(source, Progress()))


def _damage(draw, line):
    kind = draw(st.integers(0, 4))
    at = draw(st.integers(0, len(line)))
    if kind == 0:
        return line[:at] + draw(st.binary(max_size=8)) + line[at:]
    if kind == 1:
        return line[:at]
    if kind == 2:
        return line.replace(b'"', draw(st.sampled_from([b"[", b"null", b"0", b"{"])), 3)
    if kind == 3:
        return line.replace(draw(st.sampled_from([b"{", b"}", b"text", b"id", b"true"])), b"[]", 2)
    return draw(st.binary(max_size=60)) + b"\n"


@pytest.mark.parametrize(
    "make", [one for one in READERS if one.name in LINES], ids=lambda one: one.name
)
@settings(
    max_examples=amount(40, 2000), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(data=st.data())
def test_a_damaged_transcript_is_read_as_far_as_it_makes_sense(make, data, tmp_path):
    lines = list(LINES[make.name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = _damage(data.draw, lines[at])
    path = tmp_path / "transcript"
    path.write_bytes(b"".join(lines))
    assert isinstance(_read(make, path), list)


def test_one_bad_file_does_not_spoil_the_others(user):
    base = user.home / ".claude/projects/-shop"
    base.mkdir(parents=True)
    (base / "bad.jsonl").write_bytes(b"\x00\xff" * 5000)
    (base / "deep.jsonl").write_bytes(b"[" * 100_000 + b"\n")
    (base / "link.jsonl").symlink_to("/etc/passwd")
    good = {"type": "user", "sessionId": "s", "cwd": str(user.root), "uuid": "u",
            "timestamp": "2026-01-01T00:00:00Z", "message": {"content": "Hello"}}  # fmt: skip
    (base / "good.jsonl").write_text(json.dumps(good) + "\n")
    with user.index() as index:
        assert [one.uid for one in index.sessions(Filter(), 5)] == ["s"]


def test_a_transcript_that_grows_while_it_is_read(user):
    base = user.home / ".claude/projects/-shop"
    base.mkdir(parents=True)
    path = base / "one.jsonl"
    count = 300

    def write():
        with path.open("ab", buffering=0) as stream:
            for n in range(count):
                line = json.dumps({
                    "type": "user", "sessionId": "s", "cwd": str(user.root), "uuid": f"u{n}",
                    "timestamp": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z",
                    "message": {"content": f"Request {n}"},
                }).encode() + b"\n"  # fmt: skip
                stream.write(line[:17])
                stream.write(line[17:])

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        with user.index():
            assert user.report.unreadable == []
    writer.join()
    with user.index() as index:
        (session,) = index.sessions(Filter(), 5)
        found = [turn.request for turn in index.turns(session.id)]
    assert found == [f"Request {n}" for n in range(count)]


def test_a_very_long_transcript_needs_no_more_memory_than_a_short_one(user, tmp_path):
    """2 GB with PROOF=full: tool results that nobody keeps between a few requests."""
    base = user.home / ".claude/projects/-shop"
    base.mkdir(parents=True)
    size = amount(48, 2048) * 1024 * 1024
    common = {"sessionId": "s", "cwd": str(user.root), "timestamp": "2026-01-01T00:00:00Z"}
    block = {"type": "tool_result", "tool_use_id": "none", "content": "x" * 1_000_000}
    filler = (
        json.dumps({**common, "type": "user", "message": {"content": [block]}}).encode() + b"\n"
    )
    with (base / "one.jsonl").open("wb") as stream:
        number = 0
        while stream.tell() < size:
            asked = {
                **common,
                "type": "user",
                "uuid": f"u{number}",
                "message": {"content": f"Do {number}"},
            }
            stream.write(json.dumps(asked).encode() + b"\n" + filler)
            number += 1
    script = f"""
        import resource
        from pathlib import Path
        from clew.sessions.index.sqlite import opened_index
        from clew.sessions.index.update import Updater
        with opened_index() as index:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            report = Updater(index, {{}}, Path({str(user.home)!r})).update(Path({str(user.root)!r}))
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(report.bytes, after - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    read, grown = map(int, done.stdout.split())
    assert read >= size
    assert grown < 48 * 1024, f"{grown} KiB more for {size} bytes"
