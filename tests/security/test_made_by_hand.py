"""Commits and patches that git itself would never write, in a repository that somebody gives away."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from clew.program import all_tools
from tests.history.index import new_index
from tests.security.surfaces import call
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


ODD = (b"--output=pwned.py", b"-c/words.py", b"a\nb.py", b"words\xff.py", b"\x1b[31m.py", b" .py")


def test_names_of_files_deny_nobody_an_answer(ground, capfd, monkeypatch):
    """One file with a name that no question can take does not keep the others from being found."""
    for name in ODD:
        path = Path(os.fsdecode(os.fsencode(ground.root) + b"/" + name))
        path.parent.mkdir(exist_ok=True)
        path.write_text("def words():\n    return 1\n")
    for name in ("README.md", ".mailmap", ".git-blame-ignore-revs", "docs"):
        (ground.root / name).unlink(missing_ok=True)
        (ground.root / name).symlink_to("/dev/zero")
    ground.repository.git("add", "-A")
    ground.repository.git("update-ref", "refs/heads/--output=pwned", "HEAD")
    ground.repository.git("update-ref", "refs/tags/--output=pwned", "HEAD")
    ground.repository.commit("more words")
    monkeypatch.chdir(ground.root)
    for words in (
        ("why", "src/a.py:1"), ("why", "words"), ("why", ground.repository.head()), ("brief", "words"),
        ("recall", "words"), ("search", "words"), ("log", "src/a.py"), ("blame", "src/a.py"),
        ("owners",), ("co-change", "src/a.py"), ("history", "hotspots"), ("trace",),
        ("show", ground.repository.head(), "-p"), ("history", "verify"),
    ):  # fmt: skip
        assert call(("clew", *words)) == 0, (words, capfd.readouterr())
    ground.assert_untouched()
