"""What servers tell people to type: the one door's words, or a face's own on its own server."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from clew.catalog.command_table import COMMANDS, summaries
from tests.support.client import CHANT, CLEW, COMMITMUX, StdioServer, modern

FOREIGN = [
    re.compile(rf"\b{face} (?:{'|'.join(summaries(table))})\b")
    for face, table in COMMANDS.items()
    if face != "clew"
]


@pytest.fixture
def project(tmp_path):
    """A repository with a spec that nobody has worked on, and no index."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    subprocess.run(
        ["git", "commit", "--quiet", "--allow-empty", "-m", "Begin"], cwd=tmp_path, check=True
    )
    specs = tmp_path / ".chant" / "specs"
    specs.mkdir(parents=True)
    (tmp_path / ".chant" / "config.md").write_text("---\nproject:\n  name: x\n---\n", "utf-8")
    (specs / "001.md").write_text("---\ntype: code\nstatus: pending\n---\n\n# Do it\n", "utf-8")
    (specs / "002.md").write_text("---\ntype: code\nstatus: in_progress\n---\n\n# It\n", "utf-8")
    return tmp_path


def told(command, root, *calls):
    """What a server answers to calls of tools, as one text."""
    with StdioServer(command, cwd=root) as server:
        params = [modern(name=name, arguments=given) for name, given in calls]
        return json.dumps([server.result("tools/call", one) for one in params], ensure_ascii=False)


CHANT_CALLS = (
    ("chant_log", {"id": "001"}),
    ("chant_finalize", {"id": "001"}),
    ("chant_archive", {"id": "001"}),
    ("chant_diagnose", {"id": "002"}),
)


def test_the_one_server_names_commands_of_the_one_door(project, tmp_path_factory):
    asked = (
        *CHANT_CALLS,
        ("clew_why", {"target": "001"}),
        ("clew_brief", {"task": "Do it"}),
        ("clew_recall", {"query": "do it"}),
        ("clew_doctor", {}),
    )
    here = told((*CLEW, "--toolsets", "all"), project, *asked)
    empty = tmp_path_factory.mktemp("empty")
    elsewhere = told(
        (*CLEW, "--toolsets", "all"),
        empty,
        ("chant_status", {}),
        ("clew_brief", {"task": "Do it"}),
        ("commitmux_search", {"query": "x"}),
    )

    assert "`clew work`" in here
    assert "`clew spec init`" in elsewhere
    assert [found for one in FOREIGN for found in one.findall(here + elsewhere)] == []


def test_a_server_of_a_face_keeps_its_own_name(project, tmp_path_factory):
    here = told((*CHANT, "--extended"), project, *CHANT_CALLS)
    empty = tmp_path_factory.mktemp("empty")

    assert "`chant work`" in here
    assert "`clew " not in here
    assert "`chant init`" in told(CHANT, empty, ("chant_status", {}))
    assert "commitmux init" in told(COMMITMUX, empty, ("commitmux_search", {"query": "x"}))
