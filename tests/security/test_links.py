"""A link that a clone brings leads nowhere: every file and directory, every command, tool and page."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from clew.kit.errors import Invalid
from clew.kit.files import write_atomic
from clew.kit.project import followed
from clew.program import all_tools
from tests.history.index import new_index
from tests.security.surfaces import ENDLESS, TEAM, call, command_lines, furnish, page_paths, visited
from tests.security.test_programs import arguments
from tests.security.watch import sitecustomize as watch
from tests.specs.tools.project import boxes, write_spec
from tests.support.client import CLEW, StdioServer
from tests.support.proof import amount
from tests.support.repos import Repository

SPEC, DONE = "2026-01-01-001-abc", "2026-01-01-002-def"
CONFIG = """---
project:
  name: house
defaults:
  provider: command
  command: ['true']
---
"""
MADE = {
    ".chant/agents.md": "---\nagents: []\n---\n",
    ".chant/prompts/standard.md": "---\nextends: standard\n---\n{{> parent}} Words\n",
    f".chant/logs/{SPEC}.events.jsonl": "{}\n",
    ".chant/archive/2026-01-01/2026-01-01-009-old.md": "---\ntype: code\nstatus: completed\n---\n# Old\n",
    ".chant/processes/split-x.json": "{}\n",
    ".agent/climpt/registry.json": '{"tools": {"commands": []}}\n',
    ".agent/climpt/mcp/config.json": '{"registries": {}}\n',
    ".agent/climpt/config/git-app.yml": "working_dir: .agent/climpt\n",
    "docs/vision.md": "# Vision\n\n- **BO-1** Objective\n",
    "docs/architecture.md": "# Architecture\n",
    "docs/adr/README.md": "# Records\n",
    ".adr-dir": "docs/adr\n",
    "AGENTS.md": "# Agents\n",
    "CLAUDE.md": "# Agents\n",
    ".mcp.json": '{"mcpServers": {}}\n',
    ".cursor/mcp.json": '{"mcpServers": {}}\n',
    ".vscode/mcp.json": '{"servers": {}}\n',
    ".gitattributes": "*.x -text\n",
    ".worktreeinclude": "*.local\n",
    "pyproject.toml": "[project]\nname = 'house'\n",
    "package.json": "{}\n",
    "README.md": "# House\n",
    "Dockerfile": "FROM x\n",
    "schema.json": "{}\n",
    ".aider.chat.history.md": "# aider chat started at 2026-01-01 00:00:00\n\n#### words\n",
    ".aider.input.history": "# 2026-01-01 00:00:00.000000\n+words\n",
    ".chant-status.json": "{}\n",
}  # fmt: skip
UNSEEN = {
    ".chant/.store/audit.jsonl": "", ".chant/.store/index.json": "{}\n", ".chant/.store/last_id": "",
    ".chant/.store/runs.sqlite3": "", ".chant/watch.pid": "1\n",
}  # fmt: skip
DIRECTORIES = (
    ".chant", ".chant/specs", ".chant/archive", ".chant/prompts", ".chant/templates", ".chant/logs",
    ".chant/processes", ".agent", ".agent/climpt", ".agent/climpt/prompts",
    ".agent/climpt/prompts/git/create/issue", ".agent/climpt/config", "docs", "docs/adr", ".cursor",
    "src",
)  # fmt: skip


class Place:
    """A project with everything that Clew reads; beside it, what is not the project's."""

    def __init__(self, base, home):
        self.base, self.home = base, home
        self.secret = f"canary-{secrets.token_hex(8)}"
        self.repository = Repository(base / "project")
        self.root = self.repository.path
        (self.root / ".chant" / "specs").mkdir(parents=True)
        body = boxes(False, False)
        more = {
            "context": "README.md",
            "target_files": ["src/a.py"],
            "output_schema": "schema.json",
        }
        write_spec(self.root, SPEC, "First", body=body, branch=f"chant/{SPEC}", **more)
        write_spec(self.root, DONE, "Second", status="completed", body="- [x] Done")
        (self.root / ".chant" / "config.md").write_text(CONFIG)
        self.furnished = furnish(self.root, home, "words")
        for name, text in (MADE | UNSEEN).items():
            self.repository.write(name, text)
        self.repository.commit(f"chant({DONE}): first words (#1)", {"src/a.py": "one\n"})
        self.repository.commit("told words", {"told.py": "def told():\n    return 1\n"})
        self.repository.commit("second words", {"src/a.py": "one\ntwo\n"})
        self.database = base / "db"
        new_index(self.database, self.repository).close()
        self.outside = base / "outside"
        self.told = base / "looked"
        sha = self.repository.head()
        self.usual = {
            "id": SPEC, "spec_id": SPEC, "ids": SPEC, "repo": "r", "name": "r", "text": "two",
            "texts": ["two"], "sha": sha, "path": "src/a.py", "path_glob": "*.py", "query": "words",
            "issue": "1", "description": "A thing", "prompt": "standard", "number": 1, "start": 1,
            "agent": "climpt", "c1": "git", "c2": "create", "c3": "issue", "words": "git",
            "project_description": "A shop.", "project_name": "Shop", "task": "sell bicycles",
            "requirements": "It sells bicycles.", "operation_name": "wait", "duration_seconds": 0,
            "target": "src/a.py:1", "question": "words", "shell": "bash", "symbol": "told",
            "record": "1", "status": "accepted", "conversation_id": "told", "host": "cursor",
            "shas": [sha], "database": str(self.database), **self.furnished,
        }  # fmt: skip

    def link(self, name):
        """Put a link in the place of a file or a directory of the project."""
        place, target = self.root / name, self.outside / name
        target.parent.mkdir(parents=True, exist_ok=True)
        place.rename(target)
        place.symlink_to(target)
        for file in [target, *target.rglob("*")]:
            if file.is_file():
                file.write_text(f"{file.read_text()}\n{self.secret}\n")

    def picture(self):
        """Everything outside."""
        return {path: path.is_file() and path.read_bytes() for path in self.outside.rglob("*")}

    def looks(self):
        """Who looked outside since the last time."""
        found = self.told.read_text().splitlines() if self.told.exists() else []
        self.told.unlink(missing_ok=True)
        return found


FILES = [*MADE, ".chant/config.md", f".chant/specs/{SPEC}.md", ".chant/templates/kept.md",
         f".chant/logs/{SPEC}.log", ".agent/climpt/prompts/git/create/issue/f_default.md",
         "docs/adr/0001-keep-it.md", "src/a.py", *UNSEEN]  # fmt: skip
# Together where none of them keeps the others from being reached.
HEAPS = [
    [one for one in FILES if not one.startswith(".chant/") or "logs" in one or "templates" in one],
    [".chant/agents.md", ".chant/prompts/standard.md", f".chant/specs/{SPEC}.md", *UNSEEN],
    [".chant/config.md"],
    [f".chant/specs/{DONE}.md", ".agent/climpt/prompts", "docs"],
    *([one] for one in DIRECTORIES),
]


@pytest.fixture(params=amount(HEAPS[:4], HEAPS), ids=lambda names: names[0].replace("/", "_"))
def place(request, tmp_path, private_home, monkeypatch):
    """The project with links in it, and a watch over what they lead to."""
    made = Place(tmp_path, private_home)
    for name in request.param:
        made.link(name)
    made.before = made.picture()
    monkeypatch.setenv("COMMITMUX_DB", str(made.database))
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("PYTHONPATH", str(Path(watch.__file__).parent))
    monkeypatch.setenv(watch.TOLD, str(made.told))
    monkeypatch.setenv(watch.PLACE, str(made.outside))
    monkeypatch.chdir(made.root)
    return made


def assert_nothing_got_out(place, asked, said):
    """No look at what is outside, and no word of it."""
    assert place.looks() == [], asked
    assert place.secret not in said, asked


def test_the_watch_sees_a_look(place):
    """Without this, the tests below could not fail."""
    (link,) = [one for one in place.root.rglob("*") if one.is_symlink()][:1]
    file = link if link.is_file() else next(one for one in link.rglob("*") if one.is_file())
    assert place.secret in file.read_text()
    assert place.looks()


def test_no_command_follows_one(place, capfd, record_property):
    lines = [one for one in command_lines(place.usual, ENDLESS | TEAM) if not one.works]
    for name, words in lines:
        call(words)
        said = capfd.readouterr()
        assert_nothing_got_out(place, name, said.out + said.err)
        assert "a bug in Clew" not in said.err, (name, said.err)
    assert place.picture() == place.before
    record_property("links x surfaces", len(lines))


def test_no_tool_follows_one(place, record_property):
    tools = all_tools()
    with StdioServer((*CLEW, "--toolsets", "all"), cwd=place.root) as server:
        for tool in tools:
            asked = {"name": tool.prefixed_name, "arguments": arguments(tool, place.usual)}
            answer = str(server.ask("tools/call", asked))
            assert "Internal error" not in answer
            assert_nothing_got_out(place, tool.name, answer)
    assert place.picture() == place.before
    record_property("links x surfaces", len(tools))


def test_no_page_follows_one(place, record_property):
    pages = page_paths(place.usual)
    for path, status, said in visited(place.root, place.database, pages):
        assert status < 500, path
        assert_nothing_got_out(place, path, said)
    assert place.picture() == place.before
    record_property("links x surfaces", len(pages))


@pytest.fixture
def project(tmp_path):
    """A directory with a project's mark, and a file beside it."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "real").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    return root


def test_links_that_stay_in_the_project_are_followed(project, tmp_path):
    (project / "a").mkdir()
    (project / "a" / "up").symlink_to("../real")
    (project / "b").symlink_to("a")
    assert followed(project / "b" / "up") == str(project / "real")
    (tmp_path / "other name").symlink_to(project)
    assert followed(tmp_path / "other name" / "b" / "up") == str(project / "real")
    write_atomic(project / "b" / "up", "new")
    assert (project / "real").read_text() == "new"
    assert (project / "a" / "up").is_symlink()


@pytest.mark.parametrize(
    "target", ["../secret", "{base}/secret", "real/../../secret", "hop", "/proc/self/environ"]
)
def test_links_that_lead_out_are_not(project, tmp_path, target):
    (project / "hop").symlink_to("../secret")
    (project / "link").symlink_to(target.format(base=tmp_path))
    with pytest.raises(Invalid, match="leads out of the project"):
        followed(project / "link")
    with pytest.raises(Invalid, match="leads out of the project"):
        write_atomic(project / "link", "new")
    assert (tmp_path / "secret").read_text() == "outside"


def test_a_link_in_the_users_home_is_the_users(private_home, tmp_path):
    """People keep their dot-files elsewhere, also where the home itself is a repository."""
    (private_home / ".git").mkdir()
    (tmp_path / "kept").write_text("mine")
    (private_home / ".dot").symlink_to(tmp_path / "kept")
    write_atomic(private_home / ".dot", "new")
    assert (tmp_path / "kept").read_text() == "new"


@pytest.mark.parametrize("name", [f"{SPEC}.log", f"{SPEC}.events.jsonl", "watch.log"])
def test_no_log_goes_through_one(tmp_path, private_home, monkeypatch, name):
    place = Place(tmp_path, private_home)
    log = place.root / ".chant" / "logs" / name
    log.write_text("")
    place.link(f".chant/logs/{name}")
    before = place.picture()
    monkeypatch.chdir(place.root)
    call(("clew", "work", SPEC, "--no-watch"))
    call(("clew", "watch", "--once"))
    assert place.picture() == before
