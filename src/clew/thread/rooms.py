"""What there is to join here: the project, its repository, and the rooms that know of it.

Every room may be missing. What is missing is reported, with the command that would add it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from clew.catalog.wording import commands_of
from clew.history.git.answers import remembered
from clew.history.git.ref_files import RefFiles, git_directory
from clew.history.model import Repo
from clew.history.reader import reading_store
from clew.history.store.interface import HistoryStore
from clew.history.sync.freshness import freshness, freshness_lines
from clew.kit.call import Call
from clew.kit.errors import ClewError, NotFound
from clew.kit.paths import ProjectPaths
from clew.kit.project import PROJECT_VARIABLES, find_project
from clew.kit.text.display import shown_path
from clew.specs.store.store import SpecStore, open_store
from clew.thread.model import LATE, Statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.work.journal.interface import Journal

MISSING = "missing"
_UNREGISTERED = 0
_UNINDEXED = "This repository is not in the index. Run: clew log"


@dataclass
class Rooms:
    """The rooms of one project, opened for reading."""

    settings: Mapping[str, str]
    project: Path | None
    history: HistoryStore | None
    specs: SpecStore | None
    missing: dict[str, Statement] = field(default_factory=dict)
    _repos: dict[str, Repo] = field(default_factory=dict)

    @contextmanager
    def remembering(self, question: str) -> Iterator[None]:
        """While it lasts, git is asked in the project's repository only what it was not asked before."""
        own = self.own_repo()
        if own is None:
            yield
            return
        with remembered(Path(own.local_path), question) as answers:
            self._repos[""] = replace(own, answers=answers)
            yield
            self._repos[""] = own

    def lack(self, source: str, text: str) -> None:
        """Note that something is missing, and what would add it."""
        said = commands_of("clew", text)
        self.missing.setdefault(source, Statement(MISSING, said, source, LATE))

    def repo(self, name: str | None = None) -> Repo:
        """The registered repository of that name, or the project's own, registered or not."""
        key = name or ""
        if key not in self._repos:
            self._repos[key] = self._named_repo(name) if name else self._own_repo()
        return self._repos[key]

    def own_repo(self) -> Repo | None:
        """The project's repository, or None where there is no repository."""
        try:
            return self.repo()
        except ClewError:
            return None

    def is_indexed(self, repo: Repo) -> bool:
        """Whether the index knows the repository."""
        return self.history is not None and repo.repo_id != _UNREGISTERED

    def allowed(self) -> list[Repo]:
        """Every repository that may be read: the registered ones and the project's."""
        own = self.own_repo()
        registered = self.history.repos() if self.history else []
        others = [repo for repo in registered if own is None or repo.repo_id != own.repo_id]
        return [*([own] if own else []), *others]

    @contextmanager
    def journal(self) -> Iterator[Journal | None]:
        """The runs of the project; None when there are none."""
        if self.project is None:
            yield None
            return
        from clew.work.journal.sqlite import read_journal

        with read_journal(ProjectPaths(self.project)) as journal:
            yield journal

    def _named_repo(self, name: str) -> Repo:
        if self.history is not None:
            return self.history.find_repo(name)
        own = self.own_repo()
        if own is not None and own.name == name:
            return own
        raise NotFound(f"Repo '{name}' not found", "Register it: clew history add-repo PATH")

    def _own_repo(self) -> Repo:
        if self.project is None or not _is_repository(self.project):
            where = shown_path(self.project) if self.project else "here"
            raise NotFound(
                f"There is no git repository ({where})",
                "Run in one, name a registered one with --repo, or make one with 'git init'.",
            )
        place = str(_checkout(self.project, self.settings))
        for repo in self.history.repos() if self.history else ():
            if Path(repo.local_path).resolve() == self.project:
                self._tell_freshness(repo)
                return replace(repo, local_path=place)
        if self.history is not None and RefFiles(self.project).commit("HEAD"):
            self.lack("history", _UNINDEXED)
        return Repo(_UNREGISTERED, self.project.name or "repository", place)

    def _tell_freshness(self, repo: Repo) -> None:
        assert self.history is not None
        lines = freshness_lines(freshness(self.history, [repo]))
        if lines:
            self.lack("history", " ".join(lines))


def open_rooms(settings: Mapping[str, str] | None = None, project: str | None = None) -> Rooms:
    """What is there for the project that a call is about."""
    given = dict(settings or {})
    if project:
        given["project"] = project
    root: Path | None = None
    try:
        root = find_project(None, given).resolve()
    except NotFound:
        if given.get("project"):
            raise
    rooms = Rooms(given, root, None, None)
    if given.get("index") != "no":
        try:
            rooms.history = reading_store(Call(settings=given))
        except ClewError:
            rooms.lack("history", _UNINDEXED)
    if root is not None and ProjectPaths(root).has_specs:
        rooms.specs = open_store(given, str(root))
    else:
        rooms.lack("specs", "This project has no specs. Run: clew spec init")
    return rooms


def _is_repository(root: Path) -> bool:
    return (root / ".git").exists() or (root / "HEAD").is_file()


def _checkout(project: Path, settings: Mapping[str, str]) -> Path:
    """The project's main checkout, or the linked worktree of it that the caller works in."""
    import os

    if settings.get("project") or any(os.environ.get(name) for name in PROJECT_VARIABLES):
        return project
    try:
        here = Path.cwd().resolve()
        for directory in (here, *here.parents):
            if (directory / ".git").exists():
                return directory if _shares(directory, project) else project
    except OSError:
        return project
    return project


def _shares(directory: Path, project: Path) -> bool:
    """Whether a checkout is one of the project's repository."""
    own = git_directory(directory)
    common = own / "commondir"
    shared = (own / common.read_text(encoding="utf-8").strip()) if common.is_file() else own
    return shared.resolve() == git_directory(project).resolve()
