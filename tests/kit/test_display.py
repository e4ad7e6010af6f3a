"""Paths and refusals as people and JSON can read them."""

from __future__ import annotations

import os

import pytest

from clew.kit import jsontext
from clew.kit.files import write_atomic
from clew.kit.text.display import clipped, os_reason, shown_path, shown_text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/tmp/é", "/tmp/é"),
        (b"/tmp/\xff\xc3\xa9", r"/tmp/\xffé"),
        (os.fsdecode(b"a\xe9b"), r"a\xe9b"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_a_path_becomes_text_that_json_can_say(path, shown):
    assert shown_path(path) == shown
    assert jsontext.dumps(shown_path(path))


def test_text_that_utf8_can_say_stays():
    assert shown_text("a\\xff é 🧶\n") == "a\\xff é 🧶\n"


def test_very_long_text_loses_its_middle():
    assert clipped("x" * 200) == "x" * 200
    assert len(clipped("x" * 5000)) == 203


def test_a_refusal_names_the_reason_and_the_file(tmp_path):
    with pytest.raises(OSError) as caught:
        (tmp_path / "a").rename(tmp_path / os.fsdecode(b"\xff"))
    reason = os_reason(caught.value)
    assert reason == rf"No such file or directory: {tmp_path}/a and {tmp_path}/\xff"
    assert os_reason(OSError(28, "No space left on device")) == "No space left on device"
    assert os_reason(TimeoutError("too slow")) == "too slow"
    assert os_reason(TimeoutError()) == "TimeoutError"
    assert os_reason(OSError(9, "Bad file descriptor", 1)) == "Bad file descriptor"


def test_a_write_that_fails_names_the_file_and_not_its_temporary_twin(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as caught:
        write_atomic(tmp_path / "settings", "x")
    assert os_reason(caught.value) == f"No space left on device: {tmp_path}/settings"
