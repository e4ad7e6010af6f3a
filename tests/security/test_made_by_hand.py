"""Commits and patches that git itself would never write, in a repository that somebody gives away."""

from __future__ import annotations

import json

import pytest

from clew.program import all_tools
from tests.history.index import new_index
from tests.security.test_tool_arguments import USUAL
from tests.support.client import CLEW, StdioServer

NOW = b"1700000000 +0000"
HEADERS = {
    "no date": [b"author A <a@x>", b"committer A <a@x>"],
    "words for a date": [b"author A <a@x> yesterday +0000", b"committer A <a@x> x"],
    "nobody": [],
    "a huge date": [b"author A <a@x> %s +9999" % (b"9" * 26), b"committer A <a@x> -5 +0000"],
    "separators": [b"author A\x1f9\x1e\x01\x1b[31m <\x1f> " + NOW, b"committer \x1e\x1f <> " + NOW],
    "no UTF-8": [b"author \xff <\xff> " + NOW, b"committer \xff <> " + NOW, b"encoding x"],
}
MESSAGE = b"fix \x1f\x1e words\x01\n\nbody \x1f\x1e \xff\n\nChant-Spec: 2026-01-01-001-abc\n"


@pytest.mark.parametrize("is_indexed", [True, False], ids=["indexed", "by git"])
def test_commits_made_by_hand(ground, is_indexed):
    """Each tool that reads gives an answer, though a commit of the history has no sense."""
    for number, header in enumerate(HEADERS.values()):
        ground.repository.write("src/a.py", f"one\n{number}\ntwo\n")
        ground.repository.git("add", "src/a.py")
        tree = ground.repository.text("write-tree")
        ground.repository.git("reset", "-q")
        sha = ground.repository.raw_commit(header, MESSAGE, tree=tree)
    database = ground.base / ("db-new" if is_indexed else "db-none")
    if is_indexed:
        new_index(database, ground.repository).close()
    known = {
        **USUAL,
        "sha": sha,
        "shas": [sha],
        "target": "src/a.py:2",
        "task": "fix words",
        "start": 2,
    }
    env = {"COMMITMUX_DB": str(database)}
    with StdioServer((*CLEW, "--toolsets", "all"), cwd=ground.root, env=env) as server:
        for tool in all_tools():
            if not tool.read_only or tool.toolset not in {"history", "thread", "specs"}:
                continue
            given = {name: known[name] for name in tool.input_schema.get("required", [])}
            for more in ({}, {"target": sha} if "target" in given else {}):
                call = {"name": tool.prefixed_name, "arguments": given | more}
                said = json.dumps(server.ask("tools/call", call))
                assert "Internal error" not in said, (tool.name, given | more)
    assert b"Traceback" not in server.stderr, server.stderr.decode()[-3000:]
