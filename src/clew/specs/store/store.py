"""The specs of a project: reading them, and every way in which they change.

Whoever changes a spec holds its lock, reads it again, splices, and replaces the file in one step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from clew.kit.errors import Conflict, Invalid, NotFound, Unavailable
from clew.kit.files import regular_text, write_atomic, write_new
from clew.kit.locks import locked
from clew.kit.paths import SPECS, ProjectPaths
from clew.kit.project import find_project
from clew.kit.text.display import clipped, os_reason, shown_text
from clew.kit.text.frontmatter import MOST_BYTES, FrontmatterError
from clew.kit.times import today
from clew.specs.files.ids import date_of, is_usable, new_id, sequence_of
from clew.specs.files.parse import (
    Identity,
    Unreadable,
    make_spec,
    read_document,
    read_file,
    unreadable,
)
from clew.specs.index.graph import Graph
from clew.specs.index.index import Index, Snapshot
from clew.specs.index.resolve import resolve
from clew.specs.model import FIELD_ORDER, Changes, Head, Problem, Spec
from clew.specs.store import audit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.specs.index.text_index import TextIndex
    from clew.specs.store.config import Config

NOT_INITIALIZED = "Chant not initialized. Run `chant init` first."
_REPAIR = "Repair the file by hand; nothing changes it until then."
_ATTEMPTS = 20
_MOST_STORES = 8
_stores: dict[Path, SpecStore] = {}
_stores_guard = threading.Lock()


def open_store(settings: Mapping[str, str] | None = None, project: str | None = None) -> SpecStore:
    """The specs of the project that a call is about; kept open, so that the next call is quick."""
    try:
        root = find_project(project, settings)
    except NotFound as error:
        if project or (settings or {}).get("project"):
            raise
        raise NotFound(NOT_INITIALIZED) from error
    if not ProjectPaths(root).has_specs:
        raise NotFound(NOT_INITIALIZED)
    with _stores_guard:
        store = _stores.pop(root, None)
        if store is None:
            store = SpecStore(root)
        else:
            store.start_watching()  # a process that asks again will ask more often
        _stores[root] = store
        while len(_stores) > _MOST_STORES:
            _stores.pop(next(iter(_stores))).close()
    return store


class SpecStore:
    """All specs under one project's `.chant/`."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.paths = ProjectPaths(project)
        self.paths.refuse_links_out()
        self._index = Index(self.paths)

    @cached_property
    def texts(self) -> TextIndex:
        """The bodies of the specs, to be searched."""
        from clew.specs.index.text_index import TextIndex

        return TextIndex(self.project)

    def start_watching(self) -> None:
        """Let the kernel report changes, so that later looks cost next to nothing."""
        self._index.start_watching()

    def close(self) -> None:
        """Free what the system holds for this store; it can still be used."""
        self._index.close()

    def config(self) -> Config:
        """The project's settings as they are now."""
        from clew.specs.store.config import load_config

        return load_config(self.project)

    def snapshot(self) -> Snapshot:
        """All specs as their files are now; one object as long as nothing changes."""
        return self._index.snapshot()

    def heads(self, *, archived: bool = False) -> list[Head]:
        """The active specs in order and, if asked for, the archived ones after them."""
        return self.snapshot().heads(archived=archived)

    def problems(self) -> list[Problem]:
        """The files that cannot be read as specs."""
        return list(self.snapshot().problems)

    def graph(self) -> Graph:
        """What waits for what."""
        return self.snapshot().graph()

    def head(self, spec_id: str) -> Head:
        """The head of one spec, by its full id."""
        found = self.snapshot().by_id.get(spec_id)
        if found is None:
            raise NotFound(f"Spec not found: {clipped(shown_text(spec_id))}")
        return found

    def resolve(self, partial: str) -> str:
        """The full id that is meant by a part of it."""
        return _resolved(partial, self.snapshot()).id

    def load(self, partial: str) -> Spec:
        """One spec in full, by its id or a part of it; archived ones too."""
        return self._direct(partial) or self.find(partial)[0]

    def find(self, partial: str, found: Snapshot | None = None) -> tuple[Spec, Snapshot]:
        """One spec in full, and all specs at the moment at which it was found."""
        for attempt in range(_ATTEMPTS):
            if found is None or attempt:
                found = self.snapshot()
            with suppress(FileNotFoundError):  # archived or deleted since the look
                return self.read(_resolved(partial, found)), found
        raise Conflict(f"Spec '{clipped(shown_text(partial))}' is being moved", "Try again.")

    def read(self, head: Head) -> Spec:
        """The spec behind a head, as its file is now."""
        return self._read(head.path, archived=head.archived)

    def _read(self, path: str, *, archived: bool) -> Spec:
        try:
            raw, identity = read_file(str(self.paths.root / path), now_ns=time.time_ns())
            return make_spec(raw, path, identity, archived=archived)
        except Unreadable as error:
            raise Invalid(f"This spec cannot be read: {error.problem}", _REPAIR) from None
        except FileNotFoundError:
            raise
        except OSError as error:
            problem = unreadable(path, error)
            raise Invalid(f"This spec cannot be read: {problem}", _REPAIR) from error

    def _direct(self, spec_id: str) -> Spec | None:
        """The spec in the file of this name, where that is where specs usually are."""
        if not is_usable(spec_id):
            return None
        try:
            return self._read(f"{SPECS}/{spec_id}.md", archived=False)
        except FileNotFoundError:
            return None

    def change(
        self,
        spec_id: str,
        edit: Callable[[Spec], Changes],
        *,
        actor: str,
        expected_version: str | None = None,
    ) -> Spec:
        """Edit one spec, by its full id: what `edit` returns is done, all other bytes stay.

        `edit` is given the spec as it is while its lock is held, and may be run again if somebody
        changes the file without taking the lock. It must not change this spec itself.
        """
        from clew.kit.text.frontmatter_edit import edit_document

        with self._writing(spec_id):
            for _ in range(_ATTEMPTS):
                before = self._read_for_change(spec_id)
                _check_version(before, expected_version)
                changes = edit(before)
                raw = edit_document(read_document(before.raw), changes.fields, changes.body)
                if raw == before.raw:
                    return before
                if self._replace(before, raw):
                    return self._changed(before, actor, changes.note)
        raise Conflict(f"Spec '{spec_id}' keeps being modified by another process", "Try again.")

    def _read_for_change(self, spec_id: str) -> Spec:
        direct = self._direct(spec_id)
        if direct is not None:
            return direct
        head = self.head(spec_id)
        if head.archived:
            raise Conflict(f"Spec '{spec_id}' is archived and cannot be changed")
        return self.read(head)

    def _replace(self, before: Spec, raw: bytes) -> bool:
        """Write the new bytes, unless the file is no longer what was read."""
        if len(raw) > MOST_BYTES:
            raise Invalid("The spec would be larger than 4 MiB", "Keep long output in a file.")
        if self.read(before.head).raw != before.raw:
            return False
        write_atomic(self.paths.root / before.head.path, raw)
        return True

    def _changed(self, before: Spec, actor: str, note: str | None) -> Spec:
        after = self.read(before.head)
        changed = audit.difference(before.fields, after.fields)
        body = True if before.body != after.body else None
        audit.record(
            self.paths, before.id, "changed", actor, fields=changed or None, body=body, note=note
        )
        return after

    def create(
        self, fields: dict[str, Any], body: str, *, actor: str, spec_id: str | None = None
    ) -> Spec:
        """A new spec; its id is the next one of today unless one is given, and never used before."""
        raw = _new_file(fields, body)
        with self._writing(spec_id, lock="-new"):
            name = spec_id if spec_id is not None else self._next_id()
            if name in self.snapshot().by_id:
                raise Conflict(f"Spec '{name}' exists already", "Choose another id.")
            path = self.paths.spec_file(name)
            title = _checked(raw, self.paths.relative(path)).title
            path.parent.mkdir(exist_ok=True)
            _write_new(path, raw)
            audit.record(self.paths, name, "created", actor, title=title)
        return self.load(name)

    def archive(self, spec_id: str, *, actor: str) -> Path:
        """Move a spec to the archive, where it stays readable; gives its new place."""
        with self._writing(spec_id):
            before = self._read_for_change(spec_id)
            target = self.paths.archive / (date_of(spec_id) or "undated") / f"{spec_id}.md"
            if target.exists():
                raise Conflict(f"The archive has a spec '{spec_id}' already")
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.paths.root / before.head.path).rename(target)
            audit.record(self.paths, spec_id, "archived", actor, to=self.paths.relative(target))
        return target

    def delete(self, spec_id: str, *, actor: str) -> None:
        """Remove an active spec's file."""
        with self._writing(spec_id):
            before = self._read_for_change(spec_id)
            (self.paths.root / before.head.path).unlink()
            audit.record(self.paths, spec_id, "deleted", actor, title=before.title)

    def _next_id(self) -> str:
        """The next id of today; what was given out is remembered even if it is deleted."""
        day = today()
        used = max((sequence_of(i, day) for i in self._names()), default=0)
        with suppress(OSError):
            used = max(used, sequence_of(regular_text(self.paths.last_id), day))
        name = new_id(day, used + 1)
        write_atomic(self.paths.last_id, name)
        return name

    def _names(self) -> list[str]:
        """The ids of all files, of those that cannot be read too."""
        found = self.snapshot()
        return [*found.by_id, *(_id_in(problem.path) for problem in found.problems)]

    @contextmanager
    def _writing(self, spec_id: str | None, lock: str | None = None) -> Iterator[None]:
        """Hold a spec's lock; what the system refuses is said in plain words."""
        if spec_id is not None and not is_usable(spec_id):
            raise Invalid(f"Not a usable spec id: {clipped(shown_text(spec_id))!r}")
        try:
            self.paths.make_store()
            with locked(self.paths.lock_file(lock or str(spec_id))):
                yield
        except FileNotFoundError as error:
            raise NotFound(f"Spec not found: {clipped(str(spec_id))}") from error
        except OSError as error:
            from clew.kit.system_errors import next_step

            hint = next_step(error) or "Make `.chant/` writable."
            raise Unavailable(f"The change was refused: {os_reason(error)}", hint) from error


def _resolved(partial: str, found: Snapshot) -> Head:
    """The spec that is meant by its id or a part of it."""
    if partial in found.by_id:
        return found.by_id[partial]
    try:
        return found.by_id[resolve(partial, found.ids, found.archived_ids, today())]
    except NotFound:
        broken = {_id_in(problem.path): problem for problem in found.problems}
        with suppress(NotFound):
            meant = resolve(partial, list(broken), [], today())
            raise Invalid(f"This spec cannot be read: {broken[meant]}", _REPAIR) from None
        raise


def _id_in(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _check_version(spec: Spec, expected: str | None) -> None:
    if expected is not None and expected != spec.version:
        raise Conflict(
            f"Spec '{spec.id}' has changed: its version is {spec.version}, not {expected}",
            "Read it again, and repeat the change with the new version.",
        )


def _new_file(fields: dict[str, Any], body: str) -> bytes:
    """A new spec's bytes: the documented fields in the documented order, then the others."""
    from clew.kit.text.frontmatter_edit import edit_document

    given = {"type": "code", "status": "pending"} | fields
    names = [name for name in FIELD_ORDER if name in given]
    names += [name for name in given if name not in FIELD_ORDER]
    try:
        plain = read_document(f"---\n---\n{body}".encode())
    except (FrontmatterError, UnicodeEncodeError) as error:
        raise Invalid(f"The result would not be a valid spec: {error}") from error
    return edit_document(plain, {name: given[name] for name in names})


def _checked(raw: bytes, path: str) -> Spec:
    try:
        return make_spec(raw, path, Identity(0, 0, 0, 0, settled=False), archived=False)
    except Unreadable as error:
        raise Invalid(f"The result would not be a valid spec: {error.problem.cause}") from None


def _write_new(path: Path, raw: bytes) -> None:
    try:
        write_new(path, raw)
    except FileExistsError:
        raise Conflict(f"{path.name} exists already", "Choose another id.") from None
