"""Where everything of a project lies: one class for the paths of all rooms."""

from __future__ import annotations

from pathlib import Path

from clew.kit.errors import Invalid
from clew.kit.project import followed

CHANT = ".chant"
SPECS = ".chant/specs"
ARCHIVE = ".chant/archive"
AGENT = ".agent/climpt"
_PARTS = (
    "specs", "archive", "prompts", "templates", "logs", "processes", ".store", ".store/locks", ".store/runs",
)  # fmt: skip


class ProjectPaths:
    """The files and directories of one project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.chant = root / CHANT  # what the project has for its specs and their runs
        self.specs = root / SPECS  # those that are not archived
        self.archive = root / ARCHIVE  # the archived specs, in directories by date
        self.config = self.chant / "config.md"
        self.agents = self.chant / "agents.md"
        self.prompts = self.chant / "prompts"  # the project's own, for runs
        self.templates = self.chant / "templates"  # of specs
        self.logs = self.chant / "logs"  # of agents, by spec
        self.processes = self.chant / "processes"  # their status, for other programs
        self.watch_pid = self.chant / "watch.pid"  # for other programs
        self.store = self.chant / ".store"  # what is the program's, and git does not see
        self.spec_index = self.store / "index.json"  # the heads of all specs as last read
        self.audit = self.store / "audit.jsonl"  # one line for each change of a spec
        self.last_id = self.store / "last_id"  # the id that was given last
        self.journal = self.store / "runs.sqlite3"
        self.commands = root / AGENT  # their registry, settings and prompts

    @property
    def has_specs(self) -> bool:
        """Whether the project is set up for specs; git keeps no empty directories in a clone."""
        return self.config.is_file() or self.specs.is_dir() or self.archive.is_dir()

    def spec_file(self, spec_id: str) -> Path:
        """Where a new spec with this id goes."""
        return self.specs / f"{_name(spec_id)}.md"

    def lock_file(self, name: str) -> Path:
        """The lock of one spec; `.chant/.locks/` is about agents at work, and not used here."""
        return self.store / "locks" / f"{_name(name)}.lock"

    def log_file(self, spec_id: str) -> Path:
        """The spec's log for people."""
        return self.logs / f"{_name(spec_id)}.log"

    def events_file(self, spec_id: str) -> Path:
        """The spec's log for programs, one JSON object a line."""
        return self.logs / f"{_name(spec_id)}.events.jsonl"

    def run_directory(self, run_id: str) -> Path:
        """What one run has for itself: prompt, tool server configuration, lock."""
        return self.store / "runs" / _name(run_id)

    def run_lock(self, run_id: str) -> Path:
        """The lock that the run's supervisor holds for as long as it lives."""
        return self.run_directory(run_id) / "lock"

    def relative(self, path: Path) -> str:
        """The path as it is shown: from the project's root."""
        return path.relative_to(self.root).as_posix()

    def make_store(self) -> Path:
        """The directory for what git must not see; it tells git so itself."""
        unseen = self.store / ".gitignore"
        if not unseen.exists():
            from clew.kit.files import write_atomic

            write_atomic(unseen, "*\n")
        return self.store

    def refuse_links_out(self) -> None:
        """Refuse a project in which a directory is a link to somewhere else, as a clone can bring it."""
        for place in (self.chant, *(self.chant / name for name in _PARTS)):
            if place.is_symlink():
                followed(place)


def _name(name: str) -> str:
    """The name of one file, which cannot lead to another directory."""
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise Invalid(f"Not a usable id: {name[:100]!r}", "Use letters, digits, dots and dashes.")
    return name
