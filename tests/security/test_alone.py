"""Whoever only looks speaks to nobody, and what is kept is for its owner alone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from clew.program import all_tools
from tests.security.surfaces import ENDLESS, TEAM, call, command_lines, page_paths, visited
from tests.security.test_links import Place
from tests.security.test_programs import arguments
from tests.security.watch import sitecustomize as watch
from tests.support.client import CLEW, StdioServer
from tests.support.proof import amount


@pytest.fixture
def place(tmp_path, private_home, monkeypatch):
    """A project with everything that Clew reads, and a watch over the network."""
    before = os.umask(0)
    made = Place(tmp_path, private_home)
    monkeypatch.setenv("COMMITMUX_DB", str(made.database))
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("PYTHONPATH", str(Path(watch.__file__).parent))
    monkeypatch.setenv(watch.TOLD, str(made.told))
    monkeypatch.setenv(watch.NETWORK, "1")
    monkeypatch.delenv("CLEW_HOME", raising=False)
    monkeypatch.chdir(made.root)
    yield made
    os.umask(before)


def test_the_watch_hears_a_call(place):
    """Without this, the tests below could not fail."""
    with socket.socket() as one, pytest.raises(OSError):
        one.connect(("127.0.0.1", 9))
    assert place.looks()


def test_looking_keeps_files_private_and_connects_to_nothing(place, private_home, monkeypatch):
    monkeypatch.setenv("COMMITMUX_DB", str(place.base / "new"))
    lines = [one for one in command_lines(place.usual, ENDLESS | TEAM) if not one.works]
    for name, words in lines[:: amount(2, 1)]:
        call(words)
        assert place.looks() == [], name
    home = private_home / ".clew"
    assert len([path for path in home.rglob("*") if path.is_file()]) > 2
    for path in (home, place.base / "new"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_tools_and_pages_connect_to_nothing(place):
    with StdioServer((*CLEW, "--toolsets", "all"), cwd=place.root) as server:
        for tool in all_tools():
            asked = {"name": tool.prefixed_name, "arguments": arguments(tool, place.usual)}
            server.ask("tools/call", asked)
    assert place.looks() == []
    answered = [path for path, _, _ in visited(place.root, place.database, page_paths(place.usual))]
    assert answered
    assert [one for one in place.looks() if "127.0.0.1" not in one] == []
