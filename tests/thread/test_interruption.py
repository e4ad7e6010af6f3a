"""Ctrl-C while a question waits for git."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests.support.repos import Repository
from tests.support.waiting import wait_until

SLOW = """#!/bin/sh
for word in "$@"; do
    case "$word" in
        {waits}) echo waiting > '{marker}'; exec sleep 600 ;;
    esac
done
exec '{git}' "$@"
"""


@pytest.mark.parametrize(
    ("words", "waits"),
    [
        (["why", "a.txt:1", "--no-index"], "blame"),
        (["why", "a.txt:1", "--no-index"], "cat-file"),
        (["brief", "add the price", "--no-index"], "log"),
        (["recall", "price", "--no-index"], "log"),
        (["why", "a.txt:1"], "log"),
    ],
)
def test_an_interrupted_question_ends_with_130_and_no_traceback(tmp_path, words, waits):
    repository = Repository(tmp_path / "shop")
    repository.commit("Add the price", {"a.txt": "price\n"})
    marker, programs = tmp_path / "marker", tmp_path / "bin"
    programs.mkdir()
    slow = programs / "git"
    slow.write_text(SLOW.format(waits=waits, marker=marker, git=shutil.which("git")))
    slow.chmod(0o755)
    asked = subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        cwd=repository.path,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal tells the whole group
    )
    try:
        wait_until(lambda: marker.exists() or asked.poll() is not None)
        assert asked.poll() is None, asked.communicate()
        os.killpg(asked.pid, signal.SIGINT)
        out, errors = asked.communicate(timeout=60)
    finally:
        if asked.poll() is None:
            os.killpg(asked.pid, signal.SIGKILL)
            asked.communicate()
    assert asked.returncode == 130, (out, errors)
    assert "Traceback" not in out + errors
    assert errors.rstrip().endswith("Stopped.")
