"""A project with a little of everything that the board shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.specs.store.store import SpecStore
from clew.work.workspace import Workspace
from tests.support.client import BIN
from tests.support.http import HttpServer, http_server
from tests.support.repos import Repository

AGENT = Path(__file__).with_name("agent.py")
CONFIG = """---
project:
  name: shop
defaults:
  provider: command
  command: {command}
---
"""
VISION = """---
status: draft
---

# Vision & Scope: Corner Shop

A small shop that never loses an order.

## Business requirements

### Objectives

- **BO-1** Raise completed orders by 20% until 2027-03-31
- **BO-2** Cut the time for refunds to one day until 2027-06-30

## Scope and limitations

### Features by release

| Id | Feature | Release | Objective |
| --- | --- | --- | --- |
| FE-1 | A cart that survives a closed browser | 1 | BO-1 |
| FE-2 | Groundwork for orders | 1 | BO-1 |
| FE-3 | Gift wrapping | 2 | BO-1 |
"""
RECORD = """# 1. Keep orders in SQLite

Date: 2026-03-01

## Status

Accepted

## Context

One machine, few orders; FE-2 needs no more.

## Decision

We will keep orders in one SQLite file.

## Consequences

Backups are copies of a file.
"""
HOSTILE = """# <script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">

<script>window.hacked = 1</script>
<img src="x" onerror="window.hacked = 1">
[click](javascript:window.hacked=1) ![out](http://example.invalid/a.png)
<a href="javascript:alert(1)" onclick="window.hacked = 1">x</a>

## Acceptance Criteria

- [ ] <b onmouseover="window.hacked = 1">bold</b> {{ 7 * 7 }}
"""


class Shop:
    """A project under test, with a history index of its own."""

    def __init__(self, path):
        self.repo = Repository(path)
        self.root = self.repo.path
        self.work = Workspace(self.root)
        self.paths = self.work.paths
        self.database = Path(path).parent / "history.sqlite3"
        (self.root / ".chant" / "specs").mkdir(parents=True)
        command = json.dumps([sys.executable, str(AGENT)])
        self.repo.write(".chant/config.md", CONFIG.format(command=command))
        self.repo.write(".gitignore", ".chant/.store/\n.chant/logs/\n")
        self.repo.commit("Start the shop", {"README.md": "# Shop\n", "src/cart.py": "items = []\n"})
        self.store = SpecStore(self.root)

    def spec(self, spec_id, title="A spec", *, text="", criteria=(), **fields):
        """Write a spec's file."""
        given = {"type": "code", "status": "pending", **fields}
        lines = [
            f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
            for name, value in given.items()
        ]
        boxes = [f"- [{'x' if done else ' '}] {words}" for words, done in criteria]
        body = [f"# {title}", "", text, ""]
        body += ["## Acceptance Criteria", "", *boxes, ""] if boxes else []
        path = self.root / ".chant" / "specs" / f"{spec_id}.md"
        path.write_text("\n".join(["---", *lines, "---", "", *body]), "utf-8")
        return spec_id

    def file(self, spec_id):
        """A spec's file."""
        return self.root / ".chant" / "specs" / f"{spec_id}.md"

    def filled(self):
        """The shop with specs of every kind, a branch, documents, and an index."""
        self.specs()
        self.documents()
        self.history()
        return self

    def specs(self):
        """Specs in every column."""
        self.spec(
            "2026-03-02-001-abc", "Keep the cart when the browser closes",
            text="Customers lose their cart. Keep it in `localStorage`, and **merge** it at sign-in.\n\n"
            "| Case | What happens |\n|---|---|\n| signed out | kept here |\n| signed in | merged |\n",
            criteria=(("A closed tab keeps the cart", False), ("Signing in merges both carts", False)),
            labels=["cart", "frontend"], target_files=["src/cart.py"], origin=["docs/vision.md#FE-1"],
        )  # fmt: skip
        self.spec(
            "2026-03-02-002-def", "Pay by invoice", depends_on=["2026-03-02-001-abc"],
            labels=["payment"], criteria=(("An invoice is sent", False),),
        )  # fmt: skip
        self.spec(
            "2026-03-02-003-ghi",
            "Refund an order",
            depends_on=["2026-03-02-002-def", "2026-01-01-009-zzz"],
        )
        self.spec(
            "2026-03-02-004-jkl", "Show delivery times on every product page", status="in_progress",
            labels=["frontend"],
        )  # fmt: skip
        self.spec(
            "2026-03-02-005-mno", "Import the old customer list", status="needs_attention",
            criteria=(("All 1,204 customers are there", True), ("No address is lost", False)),
            branch="chant/2026-03-02-005-mno", labels=["data"],
        )  # fmt: skip
        self.spec(
            "2026-03-02-006-pqr", "Send order confirmations", status="failed", labels=["mail"]
        )
        for number in range(7, 12):
            self.spec(
                f"2026-03-01-0{number:02}-stu", f"Lay the groundwork, part {number - 6}",
                status="completed", completed_at=f"2026-03-{number:02}T10:00:00Z",
                criteria=(("It is done", True),), labels=["FE-2"] if number == 7 else [],
            )  # fmt: skip
        self.repo.commit("Write down what is to be done")
        self.branch("2026-03-02-005-mno")

    def branch(self, spec_id, files=None):
        """A branch with the work for a spec, based on main."""
        made = {
            "src/customers.py": "def read(path):\n    rows = open(path).read()\n    return rows\n",
            "src/cart.py": "items = []\n\n\ndef add(item):\n    items.append(item)\n",
        }
        self.repo.git("checkout", "-q", "-b", f"chant/{spec_id}")
        self.repo.commit(f"chant({spec_id}): read the list", files or made)
        self.repo.git("checkout", "-q", "main")

    def documents(self):
        """A vision and a decision record."""
        self.repo.write("docs/vision.md", VISION)
        self.repo.write("docs/adr/0001-keep-orders-in-sqlite.md", RECORD)

    def history(self):
        """More commits, by several people, and an index of them."""
        people = ("Ada", "Ben", "Chi")
        for number in range(1, 25):
            who = people[number % 3]
            env = {"GIT_AUTHOR_NAME": who, "GIT_AUTHOR_EMAIL": f"{who.lower()}@example.com"}
            files = {
                "src/orders.py": "".join(f"ORDER_{n} = {n * number}\n" for n in range(6)),
                f"src/part{number % 4}.py": f"value = {number}\n\n\ndef total():\n    return {number}\n",
            }
            self.repo.clock += 5 * 86400
            self.repo.commit(f"Teach orders about case {number}", files, env=env)
        self.repo.clock += 86400
        self.repo.commit(
            "chant(2026-03-01-007-stu): lay the groundwork", {"src/base.py": "BASE = 1\n"}
        )
        store = SqliteHistory.create(self.database)
        sync_repo(store, register(store, self.root, name="shop"))
        store.close()

    def serve(self, *options):
        """The running board of this project."""
        command = (str(BIN / "clew"), "web", "--port", "0", "--project", str(self.root))
        return http_server((*command, "--db", str(self.database), *options))


def clew(*arguments, **options):
    """Run `clew` and give what it printed."""
    return subprocess.run(
        [str(BIN / "clew"), *arguments], capture_output=True, text=True, check=False, **options
    )


__all__ = ["HOSTILE", "HttpServer", "Shop", "clew"]
