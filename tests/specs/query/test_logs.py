"""Logs: from the end, onwards from an offset, and while somebody writes."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid, NotFound
from clew.specs.query import logs
from clew.specs.query.logs import read_log


@pytest.fixture
def log(tmp_path):
    return tmp_path / "s.log"


def numbered(first, last):
    return "".join(f"line {number}\n" for number in range(first, last + 1))


def test_without_an_offset_the_end_is_read(log):
    log.write_text(numbered(1, 250))
    page = read_log(log, "s")
    assert page.content == numbered(151, 250)
    assert (page.line_count, page.has_more, page.byte_offset) == (100, False, log.stat().st_size)
    assert read_log(log, "s", lines=1000).content == numbered(1, 250)
    assert read_log(log, "s", lines=2).content == numbered(249, 250)


def test_with_an_offset_the_next_lines_are_read(log):
    log.write_text(numbered(1, 250))
    page = read_log(log, "s", offset=0)
    assert (page.content, page.line_count, page.has_more) == (numbered(1, 100), 100, True)
    page = read_log(log, "s", offset=page.byte_offset, lines=1000)
    assert (page.content, page.has_more) == (numbered(101, 250), False)
    page = read_log(log, "s", offset=page.byte_offset)
    assert (page.content, page.line_count, page.has_more) == ("", 0, False)


def test_the_answer_has_the_documented_fields(log):
    log.write_text("Log line 1\nLog line 2\n")
    assert read_log(log, "s")._asdict() == {
        "content": "Log line 1\nLog line 2\n",
        "byte_offset": 22,
        "line_count": 2,
        "has_more": False,
    }


def test_no_lines_means_from_now_on(log):
    log.write_text(numbered(1, 5))
    page = read_log(log, "s", lines=0)
    assert (page.content, page.byte_offset) == ("", log.stat().st_size)
    assert read_log(log, "s", lines=0, offset=7).byte_offset == 7


def test_an_offset_behind_the_end_reads_nothing(log):
    log.write_text("abc\n")
    page = read_log(log, "s", offset=15234)
    assert (page.content, page.byte_offset, page.has_more) == ("", 4, False)


def test_a_line_that_is_being_written_is_read_once(log):
    log.write_text("one\ntw")
    first = read_log(log, "s")
    assert (first.content, first.line_count) == ("one\ntw", 2)
    with log.open("a") as stream:
        stream.write("o\nthree\n")
    assert read_log(log, "s", offset=first.byte_offset).content == "o\nthree\n"


def test_a_character_that_is_being_written_waits(log):
    raw = "ä€😀\n".encode()
    for cut in range(len(raw)):
        log.write_bytes(raw[:cut])
        first = read_log(log, "s", offset=0)
        assert not first.has_more
        assert "\ufffd" not in first.content
        log.write_bytes(raw)
        second = read_log(log, "s", offset=first.byte_offset)
        assert first.content + second.content == raw.decode()


def test_bytes_that_are_no_text_are_replaced(log):
    log.write_bytes(b"a\xffb\n\xe2\x82\nc\n")
    assert read_log(log, "s", offset=0).content == "a\ufffdb\n\ufffd\nc\n"
    log.write_bytes("€\n".encode())
    assert read_log(log, "s", offset=1).content.endswith("\n")


def test_one_answer_is_bounded(log, monkeypatch):
    monkeypatch.setattr(logs, "ANSWER_BYTES", 1000)
    log.write_text("€" * 5000 + "\n" + "short\n", encoding="utf-8")
    tail = read_log(log, "s")
    assert tail.content == "short\n"
    log.write_text("€" * 5000, encoding="utf-8")
    tail = read_log(log, "s")
    assert set(tail.content) == {"€"}
    assert tail.byte_offset == log.stat().st_size
    pieces, offset, more = [], 0, True
    while more:
        page = read_log(log, "s", offset=offset)
        pieces.append(page.content)
        offset, more = page.byte_offset, page.has_more
    assert "".join(pieces) == "€" * 5000


def test_a_big_log_is_read_from_its_end(log):
    with log.open("wb") as stream:
        stream.truncate(3 << 30)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nlast line\n")
    assert read_log(log, "s", lines=1).content == "last line\n"


@given(
    st.lists(st.sampled_from(["a", "é", "€", "😀", "\n", "\r\n", "word "]), max_size=60),
    st.lists(st.integers(1, 7), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_following_gets_every_byte_once(tmp_path_factory, parts, cuts, lines):
    raw = "".join(parts).encode()
    path = tmp_path_factory.mktemp("log") / "s.log"
    path.write_bytes(b"")
    seen, offset, written, turn = "", 0, 0, 0
    while True:
        page = read_log(path, "s", offset=offset, lines=lines)
        seen, offset = seen + page.content, page.byte_offset
        if page.has_more:
            continue
        if written == len(raw):
            break
        step = cuts[turn % len(cuts)]
        with path.open("ab") as stream:
            stream.write(raw[written : written + step])
        written, turn = min(len(raw), written + step), turn + 1
    assert seen == raw.decode()


@given(
    st.lists(st.sampled_from(["a", "€", "\n", "bc"]), max_size=40).map("".join), st.integers(1, 9)
)
def test_the_end_is_what_splitting_gives(tmp_path_factory, text, lines):
    path = tmp_path_factory.mktemp("log") / "s.log"
    path.write_text(text, encoding="utf-8", newline="")
    expected = text.splitlines(keepends=True)[-lines:]
    page = read_log(path, "s", lines=lines)
    assert (page.content, page.line_count) == ("".join(expected), len(expected))


WRITER = """
import random, sys, time
random.seed(7)
with open(sys.argv[1], "ab", buffering=0) as stream:
    raw = "".join(f"{n} é€😀 {'x' * random.randrange(200)}\\n" for n in range(20_000)).encode()
    at = 0
    while at < len(raw):
        step = random.randrange(1, 5000)
        stream.write(raw[at:at + step])
        at += step
"""


def test_a_reader_beside_a_fast_writer_gets_every_byte_once(log):
    log.write_bytes(b"# Agent Log: s\n")
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(log)])
    first = read_log(log, "s", offset=0)
    seen, offset = [first.content], first.byte_offset
    ended = False
    while True:
        page = read_log(log, "s", offset=offset, lines=500)
        seen.append(page.content)
        offset = page.byte_offset
        if page.has_more:
            continue
        if ended:
            break
        ended = writer.poll() is not None
    assert writer.returncode == 0
    assert "".join(seen) == log.read_text(encoding="utf-8")


TIMED = """# Agent Log: s
# Started: 2026-02-02T09:00:00Z

before
2026-02-02T09:59:59Z old
still old
2026-02-02T10:00:00Z at the limit
[2026-02-02 10:00:01] new
and its second line
2026-02-02T12:30:00+02:00 newer
"""


def test_since_leaves_out_what_is_older(log):
    log.write_text(TIMED)
    page = read_log(log, "s", since="2026-02-02T10:00:00Z")
    assert page.content == "".join(TIMED.splitlines(keepends=True)[-3:])
    assert page.line_count == 3
    assert page.byte_offset == log.stat().st_size
    assert read_log(log, "s", since="2026-02-02T11:00:00Z").content == ""
    assert read_log(log, "s", since="2026-02-01").content == TIMED


def test_since_with_a_log_without_times_asks_the_file(log):
    log.write_text("no times\n")
    os.utime(log, (1_770_000_000, 1_770_000_000))
    assert read_log(log, "s", since="2026-02-02T02:39:00Z").content == "no times\n"
    assert read_log(log, "s", since="2026-02-02T02:40:00Z").content == ""


def test_what_cannot_be_read_says_why(log, tmp_path):
    with pytest.raises(NotFound) as caught:
        read_log(log, "2026-01-22-001-x7m")
    assert caught.value.message == (
        "No log file found for spec '2026-01-22-001-x7m'. "
        "Logs are created when a spec is executed with `chant work`."
    )
    log.write_text("x")
    with pytest.raises(Invalid, match="lines must not be negative"):
        read_log(log, "s", lines=-1)
    with pytest.raises(Invalid, match="offset must not be negative"):
        read_log(log, "s", offset=-1)
    with pytest.raises(Invalid, match="Not an ISO timestamp"):
        read_log(log, "s", since="yesterday")
    link = tmp_path / "link.log"
    link.symlink_to("/etc/hostname")
    with pytest.raises(Invalid, match="cannot be read"):
        read_log(link, "s")
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    with pytest.raises(Invalid, match="Not a regular file"):
        read_log(pipe, "s")
