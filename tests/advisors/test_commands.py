"""The advisors on the command line, as a person types it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.advisors.conftest import DESCRIPTION, PLAN_DRAFT, REQUIREMENTS, VISION_DRAFT
from tests.support.client import BIN

SCRIPT = Path(__file__).parents[2] / "scripts" / "register_mcp.sh"


class Shell:
    """Commands in one directory."""

    def __init__(self, place):
        self.place = place

    def run(self, *words, data=None):
        return subprocess.run(
            [str(BIN / words[0]), *words[1:]],
            cwd=self.place,
            input=data,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def ok(self, *words, data=None):
        done = self.run(*words, data=data)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *words):
        done = self.run(*words, "--json")
        return json.loads(done.stdout)


@pytest.fixture
def shell(project):
    return Shell(project)


def test_the_whole_way(shell, project):
    (project / "vision.json").write_text(json.dumps(VISION_DRAFT), encoding="utf-8")
    (project / "plan.json").write_text(json.dumps({"draft": PLAN_DRAFT}), encoding="utf-8")
    vision = shell.json("clew", "advise", "vision", DESCRIPTION)["data"]
    conversation = vision["conversation_id"]
    assert vision["checks"]["read"] is False
    read = shell.ok(
        "clew", "advise", "vision", "--conversation", conversation, "--draft", "vision.json"
    )
    assert "Coverage: 100 %" in read
    assert "Checks: ready" in read
    shell.ok("clariad", "architecture", "Tably", REQUIREMENTS, "--conversation", conversation,
             "--draft", "plan.json")  # fmt: skip
    shell.ok("chant", "init")
    assert "created" in shell.ok("clew", "advise", "refine")
    assert "unchanged" in shell.ok("clariad", "refine")
    trace = shell.json("clew", "advise", "trace")["data"]["rows"]
    assert all(row["specs"] for row in trace if row["feature"])
    report = shell.json("clew", "advise", "check")
    assert {one["kind"] for one in report["data"]["documents"]} == {"vision", "architecture", "adr"}
    accepted = shell.ok("clew", "advise", "decide", "1", "accepted")
    assert accepted.startswith("ADR-0001 ")
    assert shell.json("clariad", "decide", "2", "rejected")["data"]["status"] == "rejected"
    listed = shell.ok("clariad", "conversations", "list")
    assert conversation in listed
    shown = shell.ok("clew", "advise", "conversations", "show", conversation)
    assert "architecture_agent" in shown
    text = shell.ok("clew", "advise", "conversations", "show", conversation, "--document", "vision",
                    "--version", "1")  # fmt: skip
    assert "Notes, unread" in text
    exported = json.loads(shell.ok("clew", "advise", "conversations", "export", conversation))
    assert exported["version"] == 3
    shell.ok("clew", "advise", "conversations", "delete", conversation)
    assert (project / "docs" / "vision.md").exists()


def test_text_comes_from_files_and_standard_input(shell, project):
    (project / "idea.md").write_text("# Pond\n\nAnglers can log a catch.\n", encoding="utf-8")
    said = shell.ok("clew", "advise", "vision", "--file", "idea.md", "--no-save")
    assert said.startswith("# Vision & Scope: Pond")
    assert not (project / "docs").exists()
    said = shell.ok("clew", "advise", "vision", "--file", "-", "--no-save", data="A zoo.")
    assert "zoo" in said


def test_check_is_for_ci(shell, project):
    shell.ok("clew", "advise", "vision", DESCRIPTION)
    path = project / "docs" / "vision.md"
    path.write_text(path.read_text("utf-8").replace("**BO-1**", "**BO-1** TBD\n- **BO-1**"),
                    encoding="utf-8")  # fmt: skip

    done = shell.run("clew", "advise", "check", "docs/vision.md")
    report = shell.json("clew", "advise", "check")

    assert done.returncode == 1
    assert "S6" in done.stdout
    assert report["exit_code"] == 1
    assert not report["ok"]
    assert report["data"]["error"] >= 1


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("vision",), 2, "What is the project?"),
        (("vision", "x", "--answer", "nonsense"), 2, "--answer takes NAME=VALUE"),
        (("vision", "x", "--answer", "Q-99=a"), 1, "There is no question Q-99"),
        (("vision", "x", "--file", "nowhere.md"), 1, "Cannot read the text"),
        (("vision", "x", "--draft", "file.txt"), 1, "is not JSON"),
        (("check",), 1, "nothing to check"),
        (("check", "file.txt"), 1, "what kind of document"),
        (("check", "nowhere-vision.md"), 1, "No such file"),
        (("refine",), 1, "clew spec init"),
        (("decide", "1", "accepted"), 1, "No such record: 1"),
        (("conversations", "show", "nobody"), 1, "No conversation 'nobody'"),
        (("vision", "x", "--project", "nowhere"), 1, "No such project directory"),
    ],
)
def test_mistakes_are_told_with_the_next_step(shell, words, code, told):
    done = shell.run("clew", "advise", *words)

    assert done.returncode == code
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_script_registers_verifies_and_removes(tmp_path, private_home):
    environment = {**os.environ, "PATH": f"{BIN}:/usr/bin:/bin"}

    def run(*words):
        done = subprocess.run(
            [str(SCRIPT), *words], cwd=tmp_path, env=environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "clariad is registered" in run()
    files = list(private_home.rglob("claude_desktop_config.json"))
    entry = json.loads(files[0].read_text("utf-8"))["mcpServers"]["clariad"]
    assert Path(entry["command"]).is_absolute()
    assert "clariad is registered" in run("claude-desktop", "--check")
    assert "clariad is removed" in run("--remove")
