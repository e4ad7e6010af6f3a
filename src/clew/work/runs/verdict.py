"""After the agent: whether there is work, whether it is committed, checked, and what was asked.

The verdict goes into the journal; the spec's status follows from there. No box is ever ticked
here for the agent; what it ticked in its own copy of the spec is taken over as its word. Everything
may run twice, after a crash in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, NotFound
from clew.kit.text.display import clipped
from clew.kit.text.frontmatter import FrontmatterError
from clew.specs.check.output_schema import check_output
from clew.specs.files.criteria import append_section, parse_criteria, set_criterion
from clew.specs.files.parse import read_document
from clew.specs.model import Changes
from clew.specs.store.config import load_config
from clew.specs.store.store import SpecStore
from clew.work.agents.prompt_files import fenced
from clew.work.journal.journal import open_journal
from clew.work.journal.run_log import log_state, read_events
from clew.work.model import Check, FailureClass, Phase, second_text
from clew.work.paths import worktree_of
from clew.work.runs.evidence import run_checks, work_of

if TYPE_CHECKING:
    from pathlib import Path

    from clew.specs.model import Spec
    from clew.work.journal.journal import Journal
    from clew.work.model import Run
    from clew.work.paths import Places

_ACTOR = "work"
_LONGEST_OUTPUT = 5000
_MOST_NAMED = 5

Verdict = tuple[FailureClass, str] | None


def finish(places: Places, run_id: str) -> None:
    """Judge what a run's agent left behind, and write the verdict down."""
    store = SpecStore(places.root)
    with open_journal(places) as journal:
        run = journal.get(run_id)
        try:
            _append_output(store, run)
            if run.failure_class is None:
                _judge(places, store, journal, run)
        except NotFound:
            log_state(places, run.spec_id, run.run_id, "the spec is gone; nothing to be judged")


def _judge(places: Places, store: SpecStore, journal: Journal, run: Run) -> None:
    if run.phase is Phase.AGENT_EXITED:
        run = journal.move(run.run_id, Phase.CHECKED, note="looking at the work")
    verdict = _verdict(places, store, journal, run)
    if journal.get(run.run_id).request is not None:
        return  # somebody wants it stopped; the supervisor sees to that
    if verdict is not None:
        kind, message = verdict
        journal.update(run.run_id, failure_class=kind, failure=message)
        log_state(places, run.spec_id, run.run_id, f"not done: {message}", failure_class=kind)


def _verdict(places: Places, store: SpecStore, journal: Journal, run: Run) -> Verdict:
    """The first thing that keeps the run from being done; None when it is done."""
    worktree = worktree_of(run)
    if worktree is None:
        return FailureClass.WORKTREE, "The worktree is gone, so nothing can be checked"
    _take_over_ticks(store, run, worktree)
    return (
        _work_verdict(places, run)
        or _checks_verdict(places, store, journal, run, worktree)
        or _criteria_verdict(store, run)
        or _output_verdict(places, store, run)
    )


def _work_verdict(places: Places, run: Run) -> Verdict:
    work = work_of(places, run)
    if work.dirty:
        more = f" and {len(work.dirty) - _MOST_NAMED} more" if len(work.dirty) > _MOST_NAMED else ""
        names = ", ".join(work.dirty[:_MOST_NAMED]) + more
        return FailureClass.UNCOMMITTED, f"The agent left uncommitted changes: {names}"
    if work.is_empty and not run.plan.get("allow_no_commits"):
        words = "made no commits" if not work.commits else "made commits that change nothing"
        return FailureClass.NO_WORK, f"The agent ended without an error, but {words}"
    return None


def _checks_verdict(
    places: Places, store: SpecStore, journal: Journal, run: Run, worktree: Path
) -> Verdict:
    done: list[Check] = []
    for check in run_checks(places, journal, run, worktree):
        done.append(check)
        how = "passed" if check.passed else "FAILED"
        said = (
            f"check of criterion {check.number} {how} after {check.seconds:.1f} s: {check.command}"
        )
        log_state(places, run.spec_id, run.run_id, said, ok=check.passed, output=check.said)
    _note_evidence(store, run, [check for check in done if check.passed])
    failed = [check for check in done if not check.passed]
    if not failed:
        return None
    first = failed[0]
    more = f"\n({len(failed) - 1} more checks failed)" if len(failed) > 1 else ""
    words = f"The check of criterion {first.number} failed: {first.command}\n{first.said}{more}"
    return FailureClass.CHECKS, words


def _criteria_verdict(store: SpecStore, run: Run) -> Verdict:
    items = parse_criteria(store.load(run.spec_id).body).items
    present = {item.text for item in items}
    gone = [text for text, _check in run.plan.get("criteria", ()) if text not in present]
    if gone:
        return FailureClass.CRITERIA, f"Criteria were changed during the run: {gone[0]}"
    unchecked = [item.text for item in items if not item.checked]
    if unchecked:
        listed = "\n".join(f"- {text}" for text in unchecked)
        count = f"{len(unchecked)} of {len(items)}"
        return FailureClass.CRITERIA, f"{count} acceptance criteria are not checked:\n{listed}"
    return None


def _output_verdict(places: Places, store: SpecStore, run: Run) -> Verdict:
    schema = store.load(run.spec_id).text("output_schema")
    if not schema:
        return None
    events = read_events(places.events(run.spec_id), run.run_id)
    said = [str(event.get("text", "")) for event in events if event.get("type") == "text"]
    wrong = check_output(places.root, schema, run.spec_id, "\n".join([*said, run.result or ""]))
    if wrong is None:
        return None
    if load_config(places.root).flag("validation", "strict_output_validation"):
        return FailureClass.OUTPUT, wrong
    log_state(places, run.spec_id, run.run_id, f"warning: {wrong}")
    return None


def _take_over_ticks(store: SpecStore, run: Run, worktree: Path) -> None:
    """Agents without tools tick the boxes in their worktree's copy of the spec."""
    main = store.load(run.spec_id)
    try:
        copy = read_document((worktree / main.head.path).read_bytes())
    except (OSError, FrontmatterError):
        return
    ticked = {item.text for item in parse_criteria(copy.body).items if item.checked}
    before = {text for text, _check in run.plan.get("criteria", ())}

    def edit(spec: Spec) -> Changes:
        body = spec.body
        for item in parse_criteria(body).items:
            if not item.checked and item.text in ticked & before:
                body = set_criterion(body, item.number, checked=True)
        return Changes(body=body, note="ticked by the agent in its worktree")

    if ticked:
        store.change(run.spec_id, edit, actor=_ACTOR)


def _note_evidence(store: SpecStore, run: Run, passed: list[Check]) -> None:
    """Write below each criterion what proved it; the box itself stays as it is."""
    proven = {check.criterion: check for check in passed}

    def edit(spec: Spec) -> Changes:
        body = spec.body
        for item in parse_criteria(body).items:
            check = proven.get(item.text)
            if check is not None:
                words = f"passed: {check.command} (run {run.run_id})"
                body = set_criterion(body, item.number, checked=item.checked, evidence=words)
        return Changes(body=body)

    if proven:
        store.change(run.spec_id, edit, actor=_ACTOR)


def _append_output(store: SpecStore, run: Run) -> None:
    """The agent's last words go below the spec, once for every run."""
    if not run.result:
        return
    mark = f"Run {run.run_id}"
    text = f"{mark}, {second_text(run.started_at or run.created_at)}\n\n{_shown(run.result)}"

    def edit(spec: Spec) -> Changes:
        if mark in spec.body:
            return Changes()
        return Changes(body=append_section(spec.body, "Agent Output", text))

    try:
        store.change(run.spec_id, edit, actor=_ACTOR)
    except NotFound:
        raise
    except ClewError:  # a spec that cannot grow further; its log has everything
        return


def _shown(result: str) -> str:
    return fenced(clipped(result.strip(), _LONGEST_OUTPUT)).replace("```markdown", "```", 1)
