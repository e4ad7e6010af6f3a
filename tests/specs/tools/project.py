"""A project with specs, and a server for it."""

from __future__ import annotations

import json
import subprocess

from tests.support.client import CHANT, StdioServer, face

SPEC = "2026-01-22-001-x7m"
OTHER = "2026-01-22-002-k2p"
EXTENDED = face("chant", "mcp", "--extended")


def git(project, *words):
    """Run git in the project and give what it printed."""
    done = subprocess.run(["git", *words], cwd=project, capture_output=True, check=True)
    return done.stdout.decode()


def make_project(directory, *, commit=True):
    """A git repository with an empty spec store."""
    project = directory / "shop"
    (project / ".chant" / "specs").mkdir(parents=True)
    git(project, "init", "--quiet")
    if commit:
        (project / "README.md").write_text("# Shop\n", encoding="utf-8")
        git(project, "add", "README.md")
        git(project, "commit", "--quiet", "-m", "Begin")
    return project


def write_spec(project, spec_id, title, *, status="pending", body="", **fields):
    """Write a spec file by hand, as a person would."""
    lines = [f"type: {fields.pop('type', 'code')}", f"status: {status}"]
    for name, value in fields.items():
        if isinstance(value, list):
            lines += [f"{name}:", *(f"  - {item}" for item in value)]
        else:
            lines.append(f"{name}: {value}")
    text = "\n".join(["---", *lines, "---", "", f"# {title}", "", body])
    path = project / ".chant" / "specs" / f"{spec_id}.md"
    path.write_text(text, encoding="utf-8")
    return path


def boxes(*states):
    """A section of acceptance criteria."""
    lines = [f"- [{'x' if state else ' '}] Criterion {n}" for n, state in enumerate(states, 1)]
    return "\n".join(["## Acceptance Criteria", "", *lines, ""])


class Chant:
    """A running `chant mcp`."""

    def __init__(self, project, command=CHANT):
        self.server = StdioServer(command, cwd=project)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()

    def result(self, name, **arguments):
        """The result of a call."""
        return self.server.result("tools/call", {"name": name, "arguments": arguments})

    def text(self, name, **arguments):
        """The text of a call that must succeed."""
        found = self.result(name, **arguments)
        assert not found.get("isError"), found
        return found["content"][0]["text"]

    def json(self, name, **arguments):
        """The JSON in the text of a call that must succeed."""
        return json.loads(self.text(name, **arguments))

    def error(self, name, **arguments):
        """The text of a call that must fail."""
        found = self.result(name, **arguments)
        assert found.get("isError") is True, found
        return found["content"][0]["text"]
