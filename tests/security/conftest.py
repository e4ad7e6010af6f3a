"""A project beside things that are none of its business, and a watch over those."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

import pytest

from tests.history.index import new_index
from tests.specs.tools.project import boxes, write_spec
from tests.support.proof import counted
from tests.support.repos import Repository

CONFIG = "---\nproject:\n  name: house\ndefaults:\n  provider: command\n  command: ['true']\n---\n"
TEMPLATE = "---\ntitle: Do it\n---\nDo {uv-name} with {input_text}.\n"


class Ground:
    """A project with specs, commands and an indexed history; beside it, the canary."""

    def __init__(self, base):
        self.base = Path(base)
        self.root = self.base / "project"
        self.outside = self.base / "outside"
        self.secret = f"canary-{secrets.token_hex(8)}"
        for name in ("canary.txt", "canary.md", "specs/canary.md", "f_default.md", ".git/config"):
            path = self.outside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"---\ntype: code\n---\n# {self.secret}\n\n{self.secret}\n")
        self.repository = Repository(self.root)
        self._fill()
        self.database = self.base / "db"
        new_index(self.database, self.repository).close()
        self._before = self.picture()

    def _fill(self):
        (self.root / ".chant" / "specs").mkdir(parents=True)
        write_spec(self.root, "2026-01-01-001-abc", "First", status="pending", body=boxes(False))
        write_spec(self.root, "2026-01-01-002-def", "Second", status="completed", body="- [x] Done")
        (self.root / ".chant" / "config.md").write_text(CONFIG)
        template = self.root / ".agent/climpt/prompts/git/create/issue/f_default.md"
        template.parent.mkdir(parents=True)
        template.write_text(TEMPLATE)
        (self.root / "link").symlink_to(self.outside)
        (self.root / "link.txt").symlink_to(self.outside / "canary.txt")
        self.repository.commit("first words", {"src/a.py": "one\n", "README.md": "hello\n"})
        self.repository.commit("second words", {"src/a.py": "one\ntwo\n"})

    def picture(self):
        """Everything that is outside of the project and of the index."""
        found = {}
        for path in sorted(self.base.rglob("*")):
            if path.is_relative_to(self.root) or path.name.startswith(("db", "home")):
                continue
            if path.is_relative_to(self.base / "home"):
                continue
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (path.is_symlink(), hashlib.sha256(data).hexdigest())
        return found

    def assert_kept(self):
        """Nothing that was outside is different or gone."""
        assert self.picture().items() >= self._before.items()

    def assert_untouched(self):
        """Nothing outside was changed, made or removed."""
        assert self.picture() == self._before


COUNTED = (
    "vectors", "vectors x surfaces", "links x surfaces", "escapes fed", "connections held", "hostile calls",
    "damaged files",
)  # fmt: skip


def pytest_terminal_summary(terminalreporter):
    """How much was tried of each kind."""
    sums = {name: sum(counted(terminalreporter, name).values()) for name in COUNTED}
    if any(sums.values()):
        terminalreporter.section("tried, and nothing gave way")
        for name, count in sums.items():
            terminalreporter.write_line(f"{count:8,}  {name}")


@pytest.fixture
def ground(tmp_path, monkeypatch):
    """The place of these tests."""
    made = Ground(tmp_path / "ground")
    monkeypatch.setenv("COMMITMUX_DB", str(made.database))
    monkeypatch.setenv("CLEW_HOME", str(made.base / "home"))
    return made
