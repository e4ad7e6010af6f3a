"""Options of a server that take a list: given again they add up, whoever reads them."""

from __future__ import annotations

import pytest

from clew import serving
from clew.catalog.options import SERVE_OPTIONS, read_serve_options
from clew.cli.faces import run_face

CASES = [
    (["--tools", "a", "--tools=b,c"], {"tools": "a,b,c"}),
    (["--toolsets=x", "--tools", "a", "--toolsets", "y"], {"toolsets": "x,y", "tools": "a"}),
    (["--exclude-tools", "a", "--exclude-tools", "b"], {"exclude_tools": "a,b"}),
    (["--project", "a", "--project", "b"], {"project": "b"}),
    (["--tools="], {"tools": ""}),
]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for option in SERVE_OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)


@pytest.mark.parametrize(("words", "options"), CASES)
def test_the_quick_reader_joins_lists(words, options):
    assert read_serve_options(words) == options


@pytest.mark.parametrize(("words", "options"), CASES)
def test_the_command_line_joins_lists(words, options, monkeypatch):
    seen = []
    monkeypatch.setattr(serving, "serve_stdio", lambda face, given: seen.append(given) or 0)
    assert run_face("clew", ["serve", *words]) == 0
    assert seen == [options]


def test_what_the_command_line_names_replaces_the_environment(monkeypatch):
    monkeypatch.setenv("CLEW_TOOLS", "z")
    assert read_serve_options(["--tools=a", "--tools=b"]) == {"tools": "a,b"}
