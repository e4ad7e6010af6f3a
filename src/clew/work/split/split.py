"""Splitting a spec into members: planned as a whole, then written as a whole, and undone as one.

With an agent configured it is asked, and what it says must hold before anything is written: every
criterion covered, no circles, files inside the project. Without one, or if its answers do not
hold, the spec is divided by its criteria and files. All members and the group are written, or
nothing: what is going to be written is on disk before the first file is. A split that was cut off
is taken back by the next one; one that is whole can be undone until somebody works on its members.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clew.kit import jsontext
from clew.kit.call import Call
from clew.kit.errors import ClewError, Conflict, Invalid, NotFound
from clew.kit.files import regular_bytes, write_atomic
from clew.kit.jsontext import JsonObject
from clew.kit.locks import locked
from clew.kit.paths import ProjectPaths
from clew.kit.text.markdown import HEADING, Blocks
from clew.specs.check.lint_rules import description_of
from clew.specs.check.scoring import score_spec
from clew.specs.files.criteria import parse_criteria
from clew.specs.model import GROUP_TYPES, Changes, Spec
from clew.specs.store.config import Config
from clew.specs.store.store import SpecStore
from clew.work.agents.one_shot import ask_agent
from clew.work.agents.options import WorkOptions, workers_of
from clew.work.agents.prompt import fenced, render
from clew.work.model import AgentChoice
from clew.work.split.plan import (
    MOST_MEMBERS,
    SCHEMA,
    Demand,
    Member,
    Piece,
    divide,
    ordered,
    problems,
    read_answer,
)
from clew.work.workspace import Workspace

ACTOR = "split"
_BEGUN, _DONE = "begun", "done"
MODEL_VARIABLE = "CHANT_SPLIT_MODEL"
BY_MODEL, BY_CRITERIA = "model", "criteria"
_TRIES = 2
_DEEPEST = 10
_CARRIED = ("labels", "prompt", "model", "provider", "context", "approval")


@dataclass(frozen=True)
class NewSpec:
    """A member as it is going to be written."""

    spec_id: str
    fields: dict[str, Any]
    body: str
    member: Member

    def as_json(self) -> JsonObject:
        """The member for programs."""
        return {
            "id": self.spec_id,
            "title": self.member.title,
            "type": self.fields["type"],
            "depends_on": self.fields["depends_on"],
            "target_files": self.fields["target_files"],
            "acceptance_criteria": [demand.text for demand in self.member.criteria],
            "covers": list(self.member.covers),
        }


def write_members(store: SpecStore, parent: Spec, members: Sequence[NewSpec]) -> None:
    """Write all members and make the parent their group; on any failure nothing of it stays."""
    with _alone(store):
        take_back_unfinished(store)
        for member in members:
            if member.spec_id in store.snapshot().by_id:
                raise Conflict(f"Spec '{member.spec_id}' exists already", "Nothing was changed.")
        direct = [m.spec_id for m in members if m.spec_id.rpartition(".")[0] == parent.id]
        record: JsonObject = {
            "spec_id": parent.id,
            "state": _BEGUN,
            "before": {name: parent.fields.get(name) for name in ("type", "members")},
            "members": {member.spec_id: None for member in members},
        }
        _write(store, record)
        try:
            for member in members:
                made = store.create(member.fields, member.body, actor=ACTOR, spec_id=member.spec_id)
                record["members"][member.spec_id] = made.version
            changed = store.change(
                parent.id,
                lambda _: Changes({"type": "group", "members": direct}, note="split"),
                expected_version=parent.version,
                actor=ACTOR,
            )
        except (ClewError, OSError):
            _take_back(store, record)
            raise
        _write(store, {**record, "state": _DONE, "after": changed.version})


def undo_split(store: SpecStore, spec_id: str) -> list[str]:
    """Take a split back; refused once anybody has changed what it made. Gives what is gone."""
    with _alone(store):
        take_back_unfinished(store)
        parent = store.load(spec_id)
        record = _read(_file(store, parent.id))
        if record is None:
            raise NotFound(f"No split of '{parent.id}' can be undone", "It was not split here.")
        changed = [i for i, version in record["members"].items() if not _is_as(store, i, version)]
        changed += [] if parent.version == record["after"] else [parent.id]
        if changed:
            raise Conflict(
                f"Changed since the split: {', '.join(changed)}",
                "It can no longer be undone as a whole; cancel the members that are not wanted.",
            )
        _restore_parent(store, record)
        return _take_back(store, record)


def take_back_unfinished(store: SpecStore) -> list[str]:
    """Take back what a split that was cut off left; the caller holds the lock."""
    gone = []
    for file in sorted(_home(store).glob("*.json")):
        record = _read(file)
        if record is not None and record["state"] == _BEGUN:
            _restore_parent(store, record)
            gone += _take_back(store, record)
    return gone


def _restore_parent(store: SpecStore, record: JsonObject) -> None:
    def edit(spec: Spec) -> Changes:
        listed = spec.fields.get("members") or []
        if spec.type != "group" or not set(listed) & set(record["members"]):
            return Changes()
        return Changes(record["before"], note="split undone")

    try:
        store.change(record["spec_id"], edit, actor=ACTOR)
    except NotFound:
        return


def _take_back(store: SpecStore, record: JsonObject) -> list[str]:
    """Delete the members that are still as they were made."""
    gone = []
    for spec_id, version in reversed(record["members"].items()):
        if _is_as(store, spec_id, version):
            store.delete(spec_id, actor=ACTOR)
            gone.append(spec_id)
    _file(store, record["spec_id"]).unlink(missing_ok=True)
    return list(reversed(gone))


def _is_as(store: SpecStore, spec_id: str, version: str | None) -> bool:
    """Whether a member is as it was made; one whose creation was interrupted is known by its status."""
    head = store.snapshot().by_id.get(spec_id)
    if head is None or head.archived:
        return False
    spec = store.read(head)
    return spec.version == version if version is not None else spec.status == "pending"


def _alone(store: SpecStore) -> Any:
    return locked(store.paths.make_store() / "split.lock")


def _home(store: SpecStore) -> Path:
    return store.paths.store / "splits"


def _file(store: SpecStore, spec_id: str) -> Path:
    return _home(store) / f"{spec_id}.json"


def _write(store: SpecStore, record: JsonObject) -> None:
    write_atomic(_file(store, record["spec_id"]), jsontext.pretty(record) + "\n")


def _read(file: Path) -> JsonObject | None:
    try:
        value = jsontext.loads_bytes(regular_bytes(file))
    except (OSError, jsontext.JsonError):
        return None
    return value if isinstance(value, dict) and "members" in value else None


@dataclass(frozen=True)
class SplitOptions:
    """How to split; `without_model` never asks an agent."""

    force: bool = False
    recursive: bool = False
    max_depth: int = 3
    dry_run: bool = False
    without_model: bool = False
    model: str | None = None


@dataclass(frozen=True)
class SplitResult:
    """The members that were made, or would be."""

    spec_id: str
    method: str
    members: tuple[NewSpec, ...]
    warnings: tuple[str, ...]
    options: SplitOptions

    def as_json(self) -> JsonObject:
        """The result for programs."""
        verb = "Would split" if self.options.dry_run else "Split"
        named = ("force", "recursive", "max_depth")
        return {
            "spec_id": self.spec_id,
            "mode": "split",
            "method": self.method,
            "dry_run": self.options.dry_run,
            "options": {name: getattr(self.options, name) for name in named},
            "members": [member.as_json() for member in self.members],
            "warnings": list(self.warnings),
            "message": f"{verb} spec '{self.spec_id}' into {len(self.members)} members",
        }


def split_spec(
    work: Workspace,
    spec_id: str,
    options: SplitOptions | None = None,
    *,
    call: Call | None = None,
) -> SplitResult:
    """Divide a spec; with `dry_run` only say how."""
    options = options or SplitOptions()
    spec = work.store.load(spec_id)
    check_splittable(work.store, spec, options)
    planner = _Planner(work.paths, work.config(), spec, options, call or Call())
    members = planner.members(piece_of(spec), depth=1)
    made = tuple(_new_specs(spec, spec.id, members))
    if not options.dry_run:
        write_members(work.store, spec, made)
    return SplitResult(spec.id, planner.method, made, tuple(planner.warnings), options)


def piece_of(spec: Spec) -> Piece:
    """The spec as something to divide."""
    items = parse_criteria(spec.body).items
    criteria = tuple(Demand(item.text, item.check) for item in items)
    title = spec.title or spec.id
    return Piece(title, _prose(spec.body), criteria, spec.head.target_files)


def check_splittable(store: SpecStore, spec: Spec, options: SplitOptions) -> None:
    """Refuse what cannot be split, or not so."""
    if not 1 <= options.max_depth <= _DEEPEST:
        raise Invalid(f"max_depth must be from 1 to {_DEEPEST}: {options.max_depth}")
    if spec.type in GROUP_TYPES or store.graph().members(spec.id):
        raise Conflict(f"Spec is already split: {spec.id}", "Split one of its members.")
    if spec.head.archived or spec.status not in ("pending", "ready", "blocked"):
        raise Conflict(
            f"Spec '{spec.id}' must be in pending status to split. Current status: {spec.status}"
        )
    if score_spec(spec).splittability == "D" and not options.force:
        raise Conflict(
            f"Spec '{spec.id}' says that its parts are tightly coupled; splitting would not help",
            "Change its text, or split it all the same with force.",
        )


def agent_to_ask(config: Config, spec: Spec, options: SplitOptions) -> AgentChoice | None:
    """The agent to ask; None where none is configured, or it is not to be asked."""
    named = config.value("defaults", "provider") or config.maps("parallel", "agents")
    if options.without_model or not (named or options.model):
        return None
    model = options.model or os.environ.get(MODEL_VARIABLE)
    wanted = WorkOptions(model=model or config.text("defaults", "split_model"), permission="read")
    return workers_of(config, wanted, spec)[0].choice


@dataclass
class _Planner:
    """Plans the whole tree of members before anything is written."""

    paths: ProjectPaths
    config: Config
    spec: Spec
    options: SplitOptions
    call: Call
    method: str = BY_CRITERIA
    warnings: list[str] = field(default_factory=list)

    def members(self, piece: Piece, depth: int) -> tuple[Member, ...]:
        """The members of a piece and, if asked for, those of members that are still too much."""
        self.call.progress(depth - 1, None, f"dividing: {piece.title}")
        found = self._by_model(piece) or divide(piece)
        kept, warnings = ordered(piece, found)
        self.warnings += warnings
        return tuple(self._deeper(member, depth) for member in kept)

    def _deeper(self, member: Member, depth: int) -> Member:
        if not member.is_large:
            return member
        if self.options.recursive and depth < self.options.max_depth:
            try:
                return replace(member, members=self.members(member, depth + 1))
            except Invalid as error:  # all its criteria are about one thing
                self.warnings.append(f"'{member.title}' stays whole: {error.message}")
                return member
        self.warnings.append(f"'{member.title}' is still large; split it again, or recursively")
        return member

    def _by_model(self, piece: Piece) -> list[Member] | None:
        choice = agent_to_ask(self.config, self.spec, self.options)
        if choice is None:
            return None
        wrong: list[str] = []
        for _ in range(_TRIES):
            try:
                answered = ask_agent(choice, self._prompt(piece, wrong), self.call)
                members = read_answer(answered.texts, piece)
            except Invalid as error:
                wrong = [error.message]
                continue
            except ClewError as error:
                if error.code == "cancelled":
                    raise
                wrong = [error.message]
                break
            wrong = problems(piece, members)
            if not wrong:
                self.method = BY_MODEL
                return members
        self.warnings.append(
            f"The answer of {choice.name} could not be used, so criteria and files decided: "
            + "; ".join(wrong[:3])
        )
        return None

    def _prompt(self, piece: Piece, wrong: list[str]) -> str:
        text = _as_markdown(piece)
        values = {
            "spec": text,
            "spec.id": self.spec.id,
            "spec.title": piece.title,
            "spec.description": text,
            "spec.fenced": fenced(text),
            "spec.target_files": ", ".join(piece.files),
            "split.max_members": str(MOST_MEMBERS),
        }
        listed = "\n".join(f"- {problem}" for problem in wrong)
        sections = [
            ("JSON schema of the answer", f"```json\n{jsontext.pretty(SCHEMA)}\n```"),
            ("What was wrong with the answer before", listed),
        ]
        return render("split", self.paths, values, sections)


def _as_markdown(piece: Piece) -> str:
    boxes = [f"{number}. {demand.text}" for number, demand in enumerate(piece.criteria, start=1)]
    files = [f"- {name}" for name in piece.files]
    parts = [f"# {piece.title}", piece.description]
    parts += ["## Acceptance Criteria\n\n" + "\n".join(boxes)] if boxes else []
    parts += ["## Target files\n\n" + "\n".join(files)] if files else []
    return "\n\n".join(part for part in parts if part)


def _new_specs(parent: Spec, above: str, members: tuple[Member, ...]) -> list[NewSpec]:
    """The members as specs, each group before its own members."""
    made = []
    for number, member in enumerate(members, start=1):
        spec_id = f"{above}.{number}"
        below = [f"{spec_id}.{n}" for n in range(1, len(member.members) + 1)]
        fields: dict[str, Any] = {
            "type": "group" if below else parent.type,
            "status": "pending",
            "depends_on": [f"{above}.{n}" for n in member.depends_on],
            "target_files": list(member.files),
            **{name: parent.fields[name] for name in _CARRIED if name in parent.fields},
        }
        if below:
            fields["members"] = below
        body = _member_body(parent, above, number, len(members), member)
        made.append(NewSpec(spec_id, fields, body, member))
        made += _new_specs(parent, spec_id, member.members)
    return made


def _member_body(parent: Spec, above: str, number: int, count: int, member: Member) -> str:
    boxes = []
    for demand in member.criteria:
        boxes.append(f"- [ ] {demand.text}")
        boxes += [f"  check: `{demand.check}`"] if demand.check else []
    parts = (
        f"# {member.title}",
        f"Part {number} of {count} of spec {above}: {parent.title or parent.id}.",
        member.description,
        "## Acceptance Criteria",
        "\n".join(boxes),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _prose(body: str) -> str:
    """The body without its title, its criteria and what agents appended."""
    text = description_of(body)
    kept, position, hidden = list[str](), 0, 0
    for block in Blocks(text):
        if block.kind != HEADING:
            continue
        if hidden and block.level <= hidden:
            position, hidden = block.start, 0
        is_title = block.level == 1 and not kept and not text[: block.start].strip()
        is_criteria = " ".join(block.words.lower().split()).startswith("acceptance criteria")
        if not hidden and (is_title or is_criteria):
            kept.append(text[position : block.start])
            position, hidden = block.end, 0 if is_title else block.level
    kept.append("" if hidden else text[position:])
    return "\n\n".join(part.strip() for part in kept if part.strip())
