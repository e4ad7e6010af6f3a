"""Exported prompts, read by the programs that they are for; the model behind them is scripted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agents.install import OLDEST_NODE, PINS, cache
from tests.agents.setups import set_up
from tests.support.models.script import Answer
from tests.support.models.service import model_service

BODY = "Write it {uv-tone} for {uv-reader}: {input_text}"
_SECONDS = 600
_CACHE = cache()  # before a test gets a home of its own


@pytest.fixture(scope="module")
def service():
    with model_service() as running:
        yield running


@pytest.fixture
def exported(project):
    project.template(
        "docs/write/page", BODY, title="Page", description="Write a page",
        uv=[{"tone": "How it sounds"}, {"reader": "For whom"}], options={"stdin": True},
    )  # fmt: skip
    return project


def node_directory():
    """Where a Node.js is that is new enough; None without one."""
    pinned = _CACHE / f"node-{PINS['node']['version']}" / "node_modules" / "node" / "bin"
    if (pinned / "node").exists():
        return str(pinned)
    found = shutil.which("node")
    said = (
        subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
        if found
        else ""
    )
    return (
        str(Path(found).parent)
        if said and int(said.lstrip("v").split(".")[0]) >= OLDEST_NODE
        else None
    )


class RealProgram:
    """An installed program with a home of its own, pointed at the scripted model."""

    def __init__(self, name, service, home, root):
        place = _CACHE / f"{name}-{PINS[name]['version']}" / "node_modules" / ".bin" / name
        node = node_directory()
        if not place.exists() or node is None:
            pytest.skip(
                f"{name} {PINS[name]['version']} is not installed (make agents installs it)"
            )
        self._program, self._root = place, root
        self.case = service.case(f"{name}-{root.parent.name}")
        self.case.script = lambda _: Answer("Done.")
        home.mkdir()
        environment = set_up(name, home, service.url(self.case.name))
        path = os.pathsep.join((node, os.defpath))
        self._environment = {
            "HOME": str(home),
            "PATH": path,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            **environment,
        }

    def run(self, *words):
        done = subprocess.run(
            [self._program, *words],
            cwd=self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def asked(self):
        """Everything that the model was asked, as text."""
        return "\n".join(json.dumps(said.body) for said in self.case.asked)


@pytest.fixture
def claude(service, exported, tmp_path):
    return RealProgram("claude", service, tmp_path / "claude-home", exported.root)


@pytest.fixture
def gemini(service, exported, tmp_path):
    return RealProgram("gemini", service, tmp_path / "gemini-home", exported.root)


def test_claude_code_lists_commands_and_skills_and_fills_in_arguments(exported, claude):
    exported.ok("export", "docs", "--to", "claude")
    exported.ok("export", "docs", "--to", "skill")
    lines = claude.run(
        "-p",
        '/docs:write-page dry "my boss" tomorrow',
        "--output-format",
        "stream-json",
        "--verbose",
    ).splitlines()
    start = next(one for line in lines if (one := json.loads(line)).get("subtype") == "init")
    assert "docs:write-page" in start["slash_commands"]
    assert "docs-write-page" in start["skills"]
    assert "Write it dry for my boss: dry " in claude.asked


def test_claude_code_accepts_the_plugin(exported, claude, tmp_path):
    exported.ok("export", "skills", "--out", str(tmp_path / "plugin"))
    assert "passed" in claude.run("plugin", "validate", str(tmp_path / "plugin"))


def test_gemini_fills_in_a_command(exported, gemini):
    exported.ok("export", "docs", "--to", "gemini")
    gemini.run("-p", "/docs:write-page about tomatoes")
    assert "Write it {{tone}} for {{reader}}: about tomatoes" in gemini.asked
