"""A project whose specs have finished branches, as if agents had made them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from clew.specs.store.store import SpecStore
from clew.work.merging.queue import Merger
from clew.work.model import WorktreeSettings
from clew.work.workspace import Workspace
from clew.work.worktrees.worktrees import prepare
from tests.specs.tools.project import boxes, write_spec
from tests.support.repos import Repository


class Shop:
    """A project under test; `main` is checked out in it, as it is for most people."""

    opened: ClassVar[list[Workspace]] = []  # for whoever closes all that a test made

    def __init__(self, path, *, on="main"):
        self.repo = Repository(path)
        self.repo.commit("first", {"a.txt": "a\n", "b.txt": "b\n", ".gitignore": "ignored/\n"})
        self.root = self.repo.path
        self.work = Workspace(self.root)
        self.opened.append(self.work)
        self.paths = self.work.paths
        (self.root / ".chant" / "specs").mkdir(parents=True)
        (self.root / ".git" / "info" / "exclude").write_text(".chant/\n")
        if on != "main":
            self.repo.git("checkout", "-q", "-b", on)

    @property
    def store(self):
        """The specs as they are now."""
        return SpecStore(self.root)

    def configure(self, *lines):
        """Write the configuration."""
        text = "\n".join(["---", *lines, "---", ""])
        (self.root / ".chant" / "config.md").write_text(text, encoding="utf-8")

    def spec(self, spec_id, *states, status="completed", body="", **fields):
        """A spec whose boxes are as given, by default one that is checked."""
        text = f"{body}\n\n{boxes(*(states or (True,)))}"
        write_spec(self.root, spec_id, f"Spec {spec_id}", status=status, body=text, **fields)
        return spec_id

    def branch(self, spec_id, files, *, base="main", message=None):
        """The spec's worktree with one commit in it."""
        tree = prepare(self.root, spec_id, WorktreeSettings(base_ref=base))
        work = Repository(tree.path)
        for name, content in files.items():
            if content is None:
                work.git("rm", "-q", "--", name)
            else:
                work.write(name, content)
        work.git("add", "-f", "--", *(name for name, text in files.items() if text is not None))
        work.git("commit", "-q", "-m", message or f"chant({spec_id}): work")
        return work

    def finished(self, spec_id, files, **fields):
        """A completed spec with its branch."""
        self.spec(spec_id, **fields)
        return self.branch(spec_id, files)

    def merger(self, **settings):
        """Whoever merges here."""
        return Merger(self.work, self.work.config(), **settings)

    def merge(self, *ids, **options):
        """Merge these specs; one result if there is one spec."""
        results = self.merger().merge(ids, **options)
        return results[0] if len(ids) == 1 else results

    def entry(self, spec_id):
        """The newest entry of a spec in the queue."""
        return self.work.journal.latest_merge(spec_id)

    def main(self):
        """Where the main branch is."""
        return self.repo.text("rev-parse", "refs/heads/main")

    def shown(self, name, ref="main"):
        """A file as a branch has it."""
        return self.repo.git("show", f"{ref}:{name}").decode()

    def picture(self):
        """Everything of the user's checkout: files, index and what git says about both."""
        files = {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {".git", ".store", "logs"} & set(path.parts)
        }
        index = (self.root / ".git" / "index").read_bytes()
        return files, index, self.repo.git("status", "--porcelain=v2", "--branch")


def status_of(shop, spec_id):
    """A spec's stored status."""
    return shop.store.load(spec_id).status


def run_python(code, *arguments, check=True, timeout=120):
    """Run Python code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=check,
        cwd=Path(__file__).parents[3],
    )
