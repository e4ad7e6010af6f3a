"""Which tools a server offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from clew.catalog.faces import FACES
from clew.catalog.options import SERVE_OPTIONS, read_serve_options
from clew.catalog.selection import select_tools
from clew.kit.errors import UsageError
from clew.program import all_tools, offered_tools

TOOLS = all_tools()


def names(face="clew", **options):
    return list(select_tools(FACES[face], options, TOOLS))


def test_the_whole_program_offers_a_small_core():
    assert "clew_guide" in names()
    assert "chant_split" not in names()
    assert "climpt_search" in names()
    assert "search" not in names()


def test_toolsets_replace_the_core():
    assert names(toolsets="advisors") == [
        "vision_agent",
        "architecture_agent",
        "long_running_operation",
        "refine_agent",
        "review_agent",
        "deployment_agent",
        "advisor_conversations",
    ]
    assert len(names(toolsets="all")) == len(TOOLS)
    both = names(toolsets="history, commands")
    assert both[0] == "commitmux_search"
    assert both[-1] == "climpt_reload"


def test_single_tools_join_toolsets():
    assert names(tools="chant_add") == ["chant_add"]
    chosen = names(tools="chant_add", toolsets="advisors")
    assert chosen[0] == "chant_add"
    assert len(chosen) == 8


def test_read_only_always_wins():
    offered = select_tools(
        FACES["clew"], {"tools": "chant_add,chant_ready", "read_only": "1"}, TOOLS
    )
    assert list(offered) == ["chant_ready"]
    everything = select_tools(FACES["chant"], {"read_only": "1"}, TOOLS)
    assert all(tool.read_only for tool in everything.values())
    assert "chant_log" in everything


def test_exclusions_come_last():
    assert "clew_doctor" not in names(exclude_tools="clew_doctor")
    assert names(tools="chant_add", exclude_tools="chant_add") == []


def test_extended_faces_add_their_rooms_other_tools():
    assert names("climpt", extended="1") == [
        "clew_guide",
        "clew_doctor",
        "search",
        "match",
        "describe",
        "execute",
        "reload",
    ]


@pytest.mark.parametrize(
    "options", [{"toolsets": "nope"}, {"tools": "nope"}, {"exclude_tools": "search"}]
)
def test_unknown_names_are_usage_errors(options):
    with pytest.raises(UsageError) as error:
        select_tools(FACES["clew"], options, TOOLS)
    assert error.value.hint


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--read-only"], {"read_only": "1"}),
        (["--toolsets", "a,b"], {"toolsets": "a,b"}),
        (["--toolsets=a"], {"toolsets": "a"}),
        (["--db", "x", "--project=/p"], {"db": "x", "project": "/p"}),
        (["--help"], None),
        (["--toolsets"], None),
        (["--toolsets", "--read-only"], None),
        (["--read-only=1"], None),
        (["stray"], None),
        (["--port", "1"], None),
        (["--http", "--port", "1"], {"http": "1", "port": "1"}),
    ],
)
def test_options_are_read_or_left_to_the_command_line(words, options, monkeypatch):
    for option in SERVE_OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)
    assert read_serve_options(words) == options


def test_the_environment_completes_options_and_never_overrides_them(monkeypatch):
    monkeypatch.setenv("CLEW_TOOLSETS", "specs")
    monkeypatch.setenv("CLEW_READ_ONLY", "false")
    monkeypatch.setenv("COMMITMUX_DB", "/tmp/x")
    assert read_serve_options(["--toolsets=work"]) == {"toolsets": "work", "db": "/tmp/x"}
    monkeypatch.setenv("CLEW_READ_ONLY", "1")
    assert read_serve_options([])["read_only"] == "1"


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "options",
    [{}, {"extended": "1"}, {"toolsets": "work"}, {"tools": "clew_why"}, {"read_only": "1"}],
    ids=str,
)
def test_what_is_offered_does_not_depend_on_what_is_loaded(face, options):
    every = select_tools(FACES[face], options, TOOLS)
    assert list(offered_tools(FACES[face], options)) == list(every)


LOADED = """
import sys
from clew.catalog.faces import FACES
from clew.program import offered_tools
offered_tools(FACES[sys.argv[1]], {})
print(*(name.split(".")[1] for name in sys.modules if name.endswith(".tools")))
"""


@pytest.mark.parametrize(("face", "rooms"), [("commitmux", {"history"}), ("climpt", {"commands"})])
def test_a_face_loads_the_tools_of_its_own_rooms_only(face, rooms):
    command = [sys.executable, "-c", LOADED, face]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()) == rooms
