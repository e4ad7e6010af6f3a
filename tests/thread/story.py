"""A repository in which every kind of change happened once, with specs, a run and documents."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.history.store.sqlite import SqliteHistory, database_path
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.paths import ProjectPaths
from clew.thread.rooms import open_rooms
from clew.work.model import AgentChoice, Phase, RunPlan
from tests.support.journals import open_journal
from tests.support.repos import Repository

SPEC = "2026-01-22-001-x7m"
LISTED = "2026-01-22-002-b2k"
OPEN = "2026-01-23-001-q9z"
VISION = """---
conversation: c1
---

# Shop

## Objectives

- **BO-1** Cut lost orders by 30 % until May

## Features by release

| Id | Feature | Release | Objective |
| --- | --- | --- | --- |
| FE-1 | Orders survive a crash | 1 | BO-1 |
| FE-2 | A report every night | 2 | BO-1 |
"""
ARCHITECTURE = """# Architecture

## Components

| Id | Component | Responsibility | Technology | Features |
| --- | --- | --- | --- | --- |
| CP-1 | Order store | keeps orders | SQLite | FE-1 |

## Technology

| Id | Technology | Used for | Decision |
| --- | --- | --- | --- |
| TE-1 | SQLite | database | ADR-0001 |
"""
ADR = """---
status: accepted
---

# Keep orders in SQLite

## Context and Problem Statement

FE-1 needs a store that survives a crash.

## Considered Options

* SQLite
* PostgreSQL
* Plain files

## Decision Outcome

Chosen option: "SQLite", because it needs no server.
"""
STORE = """import sqlite3


def open_store(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    return connection


def save_order(connection, order):
    connection.execute("INSERT INTO orders VALUES (?)", (order,))
"""


def spec_text(status="completed", title="Keep orders in a store", **fields):
    """A spec's file."""
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    box = "x" if status == "completed" else " "
    return (
        f"---\ntype: code\nstatus: {status}\n{lines}---\n# {title}\n\nOrders must survive.\n\n"
        f"## Acceptance Criteria\n\n- [{box}] An order is there after a crash\n"
    )


@dataclass
class Story:
    """The repository and its commits by name."""

    repository: Repository
    shas: dict[str, str] = field(default_factory=dict)

    @property
    def root(self):
        return self.repository.path

    def commit(self, name, message, files=None, **options):
        self.shas[name] = self.repository.commit(message, files, **options)
        return self.shas[name]

    def rooms(self):
        return open_rooms({"project": str(self.root)})


def make_story(root):
    """All of it, in the order in which it happened."""
    story = Story(Repository(root))
    human = (
        "Add a report of the day (#41)\n\nCSV was rejected: the shop's program cannot read it.\n"
        "We use plain text instead of CSV.\n\nFixes #7\n"
    )
    story.commit(
        "human",
        human,
        {"report.py": "def report(day):\n    return f'Report of {day}'\n", "README.md": "# Shop\n"},
    )
    story.commit(
        "spec",
        f"chant({SPEC}): Keep orders in a store\n\nSQLite, since it needs no server.\n",
        {"orders.py": STORE, "tests/test_orders.py": "def test_orders():\n    assert True\n"},
    )
    story.commit(
        "rename", "Move orders into the package", _moved(story, "orders.py", "shop/orders.py")
    )
    story.commit("moved", "Put saving into a file of its own", _split(story))
    formatted = story.root.joinpath("shop/orders.py").read_text().replace("(path)", "( path )")
    story.commit("format", "Reformat everything", {"shop/orders.py": formatted})
    story.commit(
        "ignore",
        "Pass by the reformatting",
        {".git-blame-ignore-revs": f"# formatting\n{story.shas['format']}\n"},
    )
    story.commit("bad", "Retry three times", {"shop/retry.py": "RETRIES = 3\nDELAY = 1\n"})
    story.commit(
        "listed", "Wait longer between retries", {"shop/retry.py": "RETRIES = 3\nDELAY = 5\n"}
    )
    story.commit("shorter", "Wait shorter again", {"shop/retry.py": "RETRIES = 3\nDELAY = 2\n"})
    _revert(story)
    _pick(story)
    _squash(story)
    return story


def _moved(story, old, new):
    (story.root / new).parent.mkdir(exist_ok=True)
    story.repository.git("mv", old, new)


def _split(story):
    text = (story.root / "shop/orders.py").read_text()
    head, tail = text.split("\n\n\ndef save_order")
    return {"shop/orders.py": f"{head}\n", "shop/saving.py": f"def save_order{tail}"}


def _revert(story):
    story.repository.git("revert", "--no-edit", story.shas["shorter"], env=story.repository.dates())
    story.shas["revert"] = story.repository.head()


def _pick(story):
    git = story.repository.git
    git("checkout", "-q", "-b", "side", story.shas["bad"])
    story.commit(
        "original", f"chant({LISTED}): Log every retry", {"shop/log.py": "LOG = 'retries.log'\n"}
    )
    git("checkout", "-q", "main")
    git("cherry-pick", "-x", story.shas["original"], env=story.repository.dates())
    git(
        "commit",
        "-q",
        "--amend",
        "-m",
        f"Log every retry\n\n(cherry picked from commit {story.shas['original']})",
        env=story.repository.dates(),
    )
    story.shas["picked"] = story.repository.head()


def _squash(story):
    message = f"Nightly job (#50)\n\n* chant({OPEN}): Start the job\n* chant({OPEN}): Stop it\n"
    story.commit("squash", message, {"shop/night.py": "HOUR = 3\n"})


def add_specs(story):
    """The specs behind the commits, one of them by its `commits` field alone."""
    specs = story.root / ".chant" / "specs"
    specs.mkdir(parents=True)
    made = {
        SPEC: spec_text(
            labels="[FE-1]", origin="[docs/vision.md]", target_files="[shop/orders.py]"
        ),
        LISTED: spec_text(title="Be patient", commits=f"[{story.shas['listed'][:9]}]"),
        OPEN: spec_text("pending", "Nightly job", target_files="[shop/night.py, shop/orders.py]"),
    }
    for name, text in made.items():
        (specs / f"{name}.md").write_text(text, encoding="utf-8")


def add_documents(story):
    """A vision, an architecture and a decision."""
    docs = story.root / "docs"
    (docs / "adr").mkdir(parents=True)
    (docs / "vision.md").write_text(VISION, encoding="utf-8")
    (docs / "architecture.md").write_text(ARCHITECTURE, encoding="utf-8")
    (docs / "adr" / "0001-keep-orders-in-sqlite.md").write_text(ADR, encoding="utf-8")


def add_runs(story):
    """Two attempts at the spec: one failed, one finished. Their ids, oldest first."""
    paths = ProjectPaths(story.root)
    ids = []
    with open_journal(paths) as journal:
        for failure in ("The tests failed", None):
            plan = RunPlan(agent=AgentChoice("claude", model="opus"))
            run = journal.claim(SPEC, plan, mode="single")
            ids.append(run.run_id)
            if failure:
                journal.move(run.run_id, Phase.FAILED, failure=failure, cost_usd=0.1)
                continue
            for phase in (Phase.WORKTREE, Phase.STARTED, Phase.AGENT_EXITED, Phase.FINISHED):
                journal.move(run.run_id, phase, cost_usd=0.25)
    return ids


def add_index(story):
    """The index of its history."""
    store = SqliteHistory.create(database_path())
    sync_repo(store, register(store, story.root, name="shop"))
    store.close()
