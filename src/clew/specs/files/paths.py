"""Where everything is inside `.chant/`."""

from __future__ import annotations

from pathlib import Path

from clew.kit.errors import Invalid
from clew.kit.text.display import shown_text
from clew.specs.files.ids import date_of

CHANT = ".chant"
SPECS = ".chant/specs"
ARCHIVE = ".chant/archive"
_UNDATED = "undated"
_WRITTEN = ("specs", "archive", ".store", "logs", "processes", ".store/locks", ".store/runs")


def refuse_links_out(project: Path) -> None:
    """Refuse a project in which a directory that is written into is a link to somewhere else.

    A clone can bring such links; what is written through them would be outside of the project.
    """
    chant = project / CHANT
    for place in (chant, *(chant / name for name in _WRITTEN)):
        if place.is_symlink() and not place.resolve().is_relative_to(project.resolve()):
            raise Invalid(
                f"{shown_text(str(place))} is a link that leads out of the project",
                "Put a directory in its place.",
            )


class Places:
    """The paths of one project's `.chant/`."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.chant = project / CHANT
        self.specs = project / SPECS
        self.archive = project / ARCHIVE
        self.store = self.chant / ".store"
        self.index = self.store / "index.json"
        self.audit = self.store / "audit.jsonl"
        self.last_id = self.store / "last_id"
        self.logs = self.chant / "logs"
        self.prompts = self.chant / "prompts"
        self.templates = self.chant / "templates"
        self.config = self.chant / "config.md"
        self.agents = self.chant / "agents.md"

    def spec_file(self, spec_id: str) -> Path:
        """Where a new spec with this id goes."""
        return self.specs / f"{spec_id}.md"

    def archive_file(self, spec_id: str) -> Path:
        """Where this spec goes when it is archived."""
        return self.archive / (date_of(spec_id) or _UNDATED) / f"{spec_id}.md"

    def lock_file(self, name: str) -> Path:
        """The lock of one spec; `.chant/.locks/` is about agents at work, and not used here."""
        return self.store / "locks" / f"{name}.lock"

    def log_file(self, spec_id: str) -> Path:
        """The log of the agent that works on this spec."""
        return self.logs / f"{spec_id}.log"

    def relative(self, path: Path) -> str:
        """The path as it is shown: from the project's root."""
        return path.relative_to(self.project).as_posix()

    def make_store(self) -> Path:
        """The directory for what git must not see; it tells git so itself."""
        unseen = self.store / ".gitignore"
        if not unseen.exists():
            from clew.kit.files import write_atomic

            write_atomic(unseen, "*\n")
        return self.store
