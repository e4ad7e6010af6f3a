"""Where everything of a project lies: one class for the paths of all rooms."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from clew.kit.errors import Invalid
from clew.kit.project import followed

CHANT = ".chant"
SPECS = ".chant/specs"
ARCHIVE = ".chant/archive"
AGENT = ".agent/climpt"
_PARTS = (
    "specs", "archive", "prompts", "templates", "logs", "processes", ".store", ".store/locks", ".store/runs",
)  # fmt: skip


class ProjectPaths(NamedTuple):
    """The files and directories of one project."""

    root: Path

    @property
    def chant(self) -> Path:
        """What the project has for its specs and their runs."""
        return self.root / CHANT

    @property
    def specs(self) -> Path:
        """The specs that are not archived."""
        return self.root / SPECS

    @property
    def archive(self) -> Path:
        """The archived specs, in directories by date."""
        return self.root / ARCHIVE

    @property
    def config(self) -> Path:
        """The project's settings."""
        return self.chant / "config.md"

    @property
    def agents(self) -> Path:
        """The project's agents."""
        return self.chant / "agents.md"

    @property
    def prompts(self) -> Path:
        """The project's own prompts for runs."""
        return self.chant / "prompts"

    @property
    def templates(self) -> Path:
        """The project's templates of specs."""
        return self.chant / "templates"

    @property
    def logs(self) -> Path:
        """The logs of agents, by spec."""
        return self.chant / "logs"

    @property
    def processes(self) -> Path:
        """The status of processes, for other programs."""
        return self.chant / "processes"

    @property
    def watch_pid(self) -> Path:
        """The process id of the watch, for other programs."""
        return self.chant / "watch.pid"

    @property
    def store(self) -> Path:
        """What belongs to the program and not to people; git does not see it."""
        return self.chant / ".store"

    @property
    def spec_index(self) -> Path:
        """The heads of all specs as they were last read."""
        return self.store / "index.json"

    @property
    def audit(self) -> Path:
        """The audit trail: one line for each change of a spec."""
        return self.store / "audit.jsonl"

    @property
    def last_id(self) -> Path:
        """The id that was given last."""
        return self.store / "last_id"

    @property
    def journal(self) -> Path:
        """The journal of runs."""
        return self.store / "runs.sqlite3"

    @property
    def commands(self) -> Path:
        """The project's commands: their registry, settings and prompts."""
        return self.root / AGENT

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
