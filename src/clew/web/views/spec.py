"""Everything that a spec's page shows, gathered from its file, the journal and git."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.kit.errors import ClewError
from clew.kit.git import PLAIN_DIFF, git_line, guard, run_git
from clew.kit.paths import ProjectPaths
from clew.kit.repository import branch_tip
from clew.specs.check.lint_rules import description_of
from clew.specs.files.criteria import Criterion, parse_criteria
from clew.specs.index.graph import Graph
from clew.specs.model import DONE_STATUSES, Spec
from clew.specs.query.lists import blockers
from clew.specs.store.config import Config
from clew.specs.store.store import SpecStore
from clew.web.views.cards import allowed_columns
from clew.web.views.diffs import DiffView, read_diff
from clew.work.journal.sqlite import read_journal
from clew.work.model import Check, Merge, Phase, Run

LOG_LINES = 200
_MOST_RUNS = 20
_MOST_EVENTS = 12
_NOTE = re.compile(r"^[ \t]+(?:[Cc]heck|[Ee]vidence):")
_CRITERIA_HEADING = re.compile(
    r"(?im)^#{1,6}[ \t]+acceptance[ \t]+criteria[ \t#]*\n(?:[ \t]*\n)*(?=#{1,6}[ \t]|\Z)"
)
_STARTABLE = ("ready", "pending", "failed", "needs_attention", "paused", "in_progress")
_RESETTABLE = ("failed", "needs_attention", "paused", "in_progress", "completed")


@dataclass(frozen=True)
class Journalled:
    """What the journal knows of a spec."""

    runs: tuple[Run, ...] = ()
    checks: tuple[Check, ...] = ()
    merge: Merge | None = None

    @property
    def open_run(self) -> Run | None:
        """The run that claims the spec now."""
        return next((run for run in self.runs if run.is_open), None)

    @property
    def cost(self) -> float | None:
        """What all runs together cost, as far as it is known."""
        known = [run.cost_usd for run in self.runs if run.cost_usd is not None]
        return sum(known) if known else None


@dataclass(frozen=True)
class Branch:
    """The branch of a spec, and how it differs from where it started."""

    name: str
    diff: DiffView
    commits: tuple[tuple[str, str], ...]
    dirty: tuple[str, ...] = ()


def journalled(paths: ProjectPaths, spec_id: str) -> Journalled:
    """The runs of a spec, the checks of the newest, and its latest merge."""
    with read_journal(paths) as journal:
        if journal is None:
            return Journalled()
        runs = journal.runs(spec_id=spec_id, limit=_MOST_RUNS)
        checks = journal.checks(runs[0].run_id) if runs else []
        return Journalled(tuple(runs), tuple(checks), journal.latest_merge(spec_id))


def text_parts(body: str) -> tuple[str, str]:
    """What the spec says without its title and its criteria, and the output that follows it."""
    description = description_of(body)
    dropped = set()
    lines = description.split("\n")
    for item in parse_criteria(body).items:
        dropped.add(item.line - 1)
        at = item.line
        while at < len(lines) and _NOTE.match(lines[at]):
            dropped.add(at)
            at += 1
    kept = [line for number, line in enumerate(lines) if number not in dropped]
    text = _CRITERIA_HEADING.sub("", "\n".join(kept))
    return re.sub(r"\A\s*#[ \t]+[^\n]*\n", "", text).strip("\n"), body[len(description) :].strip(
        "\n"
    )


def actions(spec: Spec, state: str, known: Journalled, branch: Branch | None) -> set[str]:
    """What can be done with the spec in this state."""
    if spec.head.archived:
        return set()
    run = known.open_run
    if run is not None:
        return {"edit", "release"} if run.phase is Phase.HELD else {"edit", "pause", "takeover"}
    asks = spec.head.approval_required and spec.head.approval_status != "approved"
    has_work = branch is not None and bool(branch.diff.files)
    possible = {
        "edit": True,
        "start": state in _STARTABLE,
        "approve": asks,
        "reject": asks,
        "reset": state in _RESETTABLE,
        "complete": "completed" in allowed_columns(spec.status),
        "merge": has_work and spec.status == "completed",
        "archive": spec.status == "completed",
        "cancel": spec.status not in DONE_STATUSES,
    }
    return {name for name, is_possible in possible.items() if is_possible}


def unapproved(root: Path, config: Config, spec: Spec, known: Journalled) -> list[tuple[str, str]]:
    """The hash and text of each command that this spec's work needs and nobody has approved."""
    from clew.specs.query.commands import settings_commands, spec_commands
    from clew.specs.store.consent import Consent, command_hash, readable
    from clew.work.runs.approving import commands_of_run, waits_for_approval

    if spec.head.archived or spec.status == "cancelled":
        return []
    named = [*settings_commands(config), *spec_commands([spec])]
    for run in known.runs[:1]:
        named += commands_of_run(run) if waits_for_approval(run) else []
    missing = Consent(root).missing(one.command for one in named)
    return [(command_hash(root, one), readable(one)) for one in missing]


def branch_view(root: Path, config: Config, spec: Spec) -> Branch | None:
    """The spec's branch against the main branch; None where there is no such branch."""
    from clew.specs.query.commits import branch_of
    from clew.work.worktrees.main_branch import main_branch

    try:
        name = guard(branch_of(spec, config))
        tip = branch_tip(root, name)
        if tip is None:
            return None
        base = git_line(root, "merge-base", f"refs/heads/{main_branch(root, config)}", tip)
        patch = run_git(
            "diff", *PLAIN_DIFF, "-M", f"{base}..{tip}", "--", ".", ":(exclude,top).chant", cwd=root
        )
        listed = run_git("log", "-n100", "--format=%h%x09%s", f"{base}..{tip}", "--", cwd=root)
    except ClewError:
        return None
    commits = [line.partition("\t") for line in listed.decode("utf-8", "replace").splitlines()]
    return Branch(
        name,
        read_diff(patch.decode("utf-8", "replace")),
        tuple((sha, subject) for sha, _, subject in commits),
        _dirty(root, name),
    )


def log_part(
    store: SpecStore, spec_id: str, lines: int = LOG_LINES, offset: int | None = None
) -> tuple[str, int]:
    """The spec's log from an offset, or its end; and the place from which to follow it."""
    from clew.specs.query.logs import read_log

    try:
        path = store.paths.log_file(store.head(spec_id).id)
        found = read_log(path, spec_id, lines=lines, offset=offset)
    except ClewError:  # no such spec, or no log yet
        return "", offset or 0
    return found.content, found.byte_offset


def events_of(store: SpecStore, spec_id: str) -> list[dict[str, Any]]:
    """What happened to the spec, by the audit trail, the newest first."""
    from clew.specs.query.activity import audit_events

    found = [event.as_json() for event in audit_events(store, spec_id)]
    return found[::-1][:_MOST_EVENTS]


def waits(graph: Graph, spec: Spec) -> list[dict[str, str]]:
    """What blocks the spec, with the words people use for it."""
    words = {
        "missing": "does not exist",
        "unfinished": "is not finished",
        "cycle": "waits for this one, too",
        "approval": "has to be approved",
        "sibling": "comes before it",
        "member": "is one of its members",
    }
    if spec.head.archived or graph.status(spec.id) != "blocked":
        return []
    return [
        {"id": item["id"], "why": words.get(item["reason"], item["reason"])}
        for item in blockers(spec.id, graph)
    ]


def with_checks(
    items: tuple[Criterion, ...], checks: tuple[Check, ...]
) -> list[tuple[Criterion, Check | None]]:
    """The criteria, each with how its command went in the last run."""
    by_text = {check.criterion: check for check in checks}
    return [(item, by_text.get(item.text)) for item in items]


def _dirty(root: Path, branch: str) -> tuple[str, ...]:
    from clew.specs.query.commits import worktree_of
    from clew.work.worktrees.worktrees import dirty_files

    place = worktree_of(root, branch)
    try:
        return tuple(dirty_files(place)) if place else ()
    except ClewError:
        return ()
