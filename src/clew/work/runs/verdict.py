"""After the agent: whether there is work, whether it is committed, checked, and what was asked.

Work is what the branch has and its base has not, without what only touches `.chant/`: specs are
kept in the main checkout, and their bookkeeping is no work. The verdict goes into the journal; the
status of the spec follows from there. No box is ticked here for an agent that can; what it ticked in
its own copy of the spec, or named in a line of its summary, is taken over as its word. For one that
has no tools, a check that passed ticks its criterion. Everything may run twice, after a crash.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.kit.errors import ClewError, Invalid, NotFound
from clew.kit.git import PLAIN_DIFF, guard, run_git
from clew.kit.paths import ProjectPaths
from clew.kit.project import followed
from clew.kit.text.display import clipped
from clew.kit.text.frontmatter import FrontmatterError
from clew.kit.text.redact import SecretLines
from clew.specs.check.output_schema import check_output
from clew.specs.files.criteria import append_section, parse_criteria, set_criterion
from clew.specs.files.parse import read_document
from clew.specs.model import CONFLICT, Changes, Spec
from clew.specs.store.consent import Consent, NeedsApproval
from clew.specs.store.store import SpecStore
from clew.work.agents.launch import run_variables
from clew.work.agents.programs import agent_named
from clew.work.agents.prompt import fenced
from clew.work.journal.interface import Journal
from clew.work.journal.run_log import log_state, read_events
from clew.work.model import Check, FailureClass, Phase, Run, second_text
from clew.work.paths import worktree_of
from clew.work.processes.child import run_command
from clew.work.runs.stray import doubt_text, find_strays
from clew.work.workspace import Workspace
from clew.work.worktrees.main_branch import tip_of
from clew.work.worktrees.worktrees import dirty_files, is_merged, needs_setup

BOOKKEEPING = ".chant"
_NOT_BOOKKEEPING = (".", f":(exclude,top){BOOKKEEPING}")
_LONGEST_SAID = 2000
_ACTOR = "work"
_LONGEST_RESULT = 5000
_MOST_NAMED = 5
NOTHING_CHECKED = "nothing was checked: the spec had no acceptance criteria"
_MET = re.compile(r"^[\s>*_`-]*criteria met[*_`]*\s*:(.*)$", re.IGNORECASE | re.MULTILINE)
# Several programs hand a refusal on as any other answer, so only its words tell.
_REFUSED = re.compile(
    r"^\W*(?:(?:i.?m )?sorry\b[^.\n]{0,20})?i (?:can.?t|cannot|won.?t|am unable to) "
    r"(?:help|assist|comply|continue|do) (?:with )?(?:that|this).*$",
    re.IGNORECASE | re.MULTILINE,
)
Verdict = tuple[FailureClass, str] | None


@dataclass(frozen=True)
class Work:
    """What is on a run's branch, and what is not yet."""

    commits: tuple[str, ...]
    files: tuple[str, ...]
    dirty: tuple[str, ...]


def work_of(paths: ProjectPaths, run: Run, *, working: bool = False) -> Work:
    """What lies between the base of a run and its branch, and what its worktree has uncommitted."""
    if not run.branch or not run.base_commit:
        return Work((), (), ())
    spread = f"{guard(run.base_commit)}...{_tip(run)}"
    wanted = (*PLAIN_DIFF, "--name-only", "-z", spread, "--", *_NOT_BOOKKEEPING)
    files = _names(paths.root, "diff", *wanted)
    return Work(tuple(commits_of(paths, run)), tuple(files), _dirty(run, working=working))


def commits_of(paths: ProjectPaths, run: Run) -> list[str]:
    """The commits of a run's branch, short id and subject, the newest first."""
    if not run.branch or not run.base_commit:
        return []
    wanted = (_tip(run), f"^{guard(run.base_commit)}", "--", *_NOT_BOOKKEEPING)
    return _lines(paths.root, "log", "--format=%h %s", *wanted)


def diffstat_of(paths: ProjectPaths, run: Run) -> str:
    """How many lines of which files a run's branch changes."""
    if not run.branch or not run.base_commit:
        return ""
    spread = f"{guard(run.base_commit)}...{_tip(run)}"
    wanted = (*PLAIN_DIFF, "--stat=80", spread, "--", *_NOT_BOOKKEEPING)
    return "\n".join(_lines(paths.root, "diff", *wanted))


def run_checks(paths: ProjectPaths, journal: Journal, run: Run, worktree: Path) -> Iterator[Check]:
    """Run every criterion's command as it was when the run began; results go into the journal.

    The commands are those of the start: what has to be met is not for the agent to change. Those
    that nobody approved are left out.
    """
    consent = Consent(paths.root)
    for number, (criterion, command) in enumerate(run.plan.criteria, start=1):
        approval = consent.to(command) if command else None
        if command and approval and journal.get(run.run_id).request is None:
            log_state(paths, run.spec_id, run.run_id, f"check: {command} ({approval})")
            check = _check(paths, run, worktree, number, criterion, command)
            journal.keep_check(run.run_id, check)
            yield check


def _check(
    paths: ProjectPaths, run: Run, worktree: Path, number: int, criterion: str, command: str
) -> Check:
    began = time.monotonic()
    try:
        variables = run_variables(paths, run, worktree)
        seconds = run.plan.check_seconds
        code, said = run_command(command, cwd=worktree, seconds=seconds, variables=variables)
        said = said.strip() or f"exit status {code}"
    except (ClewError, OSError) as error:
        code, said = -1, str(error)
    said = _tail(SecretLines().clean(said))
    return Check(number, criterion, command, code == 0, said, time.monotonic() - began)


def _tail(text: str) -> str:
    """The end of an output, where a failing check says why."""
    return text if len(text) <= _LONGEST_SAID else f"...{text[-_LONGEST_SAID:]}"


def _tip(run: Run) -> str:
    return f"refs/heads/{guard(str(run.branch))}"


def _dirty(run: Run, *, working: bool) -> tuple[str, ...]:
    worktree = worktree_of(run)
    names = dirty_files(worktree, working=working) if worktree else []
    return tuple(name for name in names if name.split("/", 1)[0] != BOOKKEEPING)


def _lines(root: Path, *arguments: str) -> list[str]:
    out = run_git(*arguments, cwd=root).decode("utf-8", "replace")
    return [line for line in out.splitlines() if line.strip()]


def _names(root: Path, *arguments: str) -> list[str]:
    out = run_git(*arguments, cwd=root)
    return [os.fsdecode(name) for name in out.split(b"\0") if name]


def finish(work: Workspace, run_id: str) -> None:
    """Judge what a run's agent left behind, and write the verdict down."""
    run = work.journal.get(run_id)
    try:
        _append_output(work.store, run)
        if run.failure_class is None:
            _judge(work, run)
    except NotFound:
        log_state(work.paths, run.spec_id, run.run_id, "the spec is gone; nothing to be judged")


def _judge(work: Workspace, run: Run) -> None:
    if run.phase is Phase.AGENT_EXITED:
        note = "looking at the work" if run.plan.criteria else NOTHING_CHECKED
        run = work.journal.move(run.run_id, Phase.CHECKED, note=note)
    verdict = _verdict(work, run)
    if work.journal.get(run.run_id).request is not None:
        return  # somebody wants it stopped; the supervisor sees to that
    if verdict is not None:
        kind, message = verdict
        work.journal.update(run.run_id, failure_class=kind, failure=message)
        words = f"not done: {message}"
        log_state(work.paths, run.spec_id, run.run_id, words, failure_class=kind)
    elif not run.plan.criteria:
        log_state(work.paths, run.spec_id, run.run_id, f"done, but {NOTHING_CHECKED}")


def _verdict(work: Workspace, run: Run) -> Verdict:
    """The first thing that keeps the run from being done; None when it is done."""
    worktree = worktree_of(run)
    if worktree is None:
        return FailureClass.WORKTREE, "The worktree is gone, so nothing can be checked"
    _take_over_ticks(work, run, worktree)
    return (
        _work_verdict(work, run)
        or _checks_verdict(work, run, worktree)
        or _criteria_verdict(work.store, run)
        or _conflict_verdict(work, run)
        or _output_verdict(work, run)
        or _approval_verdict(work.paths, run)
    )


def _work_verdict(work: Workspace, run: Run) -> Verdict:
    found = work_of(work.paths, run, working=True)
    if found.dirty:
        more = (
            f" and {len(found.dirty) - _MOST_NAMED} more" if len(found.dirty) > _MOST_NAMED else ""
        )
        names = ", ".join(found.dirty[:_MOST_NAMED]) + more
        return FailureClass.UNCOMMITTED, f"The agent left uncommitted changes: {names}"
    if not found.files and not run.plan.allow_no_commits:
        refused = _REFUSED.search("\n".join(_said(work, run)))
        if refused:
            return (
                FailureClass.REFUSAL,
                f"The agent did nothing and said: {refused.group().strip()}",
            )
        words = "made no commits" if not found.commits else "made commits that change nothing"
        doubt = doubt_text(work.paths, run, find_strays(work.paths, run))
        said = f"The agent ended without an error, but {words}"
        return FailureClass.NO_WORK, f"{said}\n{doubt}" if doubt else said
    return None


def _checks_verdict(work: Workspace, run: Run, worktree: Path) -> Verdict:
    done: list[Check] = []
    for check in run_checks(work.paths, work.journal, run, worktree):
        done.append(check)
        how = "passed" if check.passed else "FAILED"
        said = (
            f"check of criterion {check.number} {how} after {check.seconds:.1f} s: {check.command}"
        )
        log_state(work.paths, run.spec_id, run.run_id, said, ok=check.passed, output=check.said)
    _note_evidence(work.store, run, [check for check in done if check.passed])
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
    gone = [text for text, _check in run.plan.criteria if text not in present]
    if gone:
        return FailureClass.CRITERIA, f"Criteria were changed during the run: {gone[0]}"
    unchecked = [item.text for item in items if not item.checked]
    if unchecked:
        listed = "\n".join(f"- {text}" for text in unchecked)
        count = f"{len(unchecked)} of {len(items)}"
        return FailureClass.CRITERIA, f"{count} acceptance criteria are not checked:\n{listed}"
    return None


def _conflict_verdict(work: Workspace, run: Run) -> Verdict:
    """A conflict is resolved when git has the branch in the resolving one, whatever was ticked."""
    spec = work.store.load(run.spec_id)
    source = spec.text("source_branch") if spec.type == CONFLICT else None
    if not source or not run.branch or tip_of(work.root, source) is None:
        return None
    if is_merged(work.root, source, run.branch):
        return None
    words = f"The conflict is not resolved: '{source}' is not merged in '{run.branch}'"
    return FailureClass.CRITERIA, words


def _output_verdict(work: Workspace, run: Run) -> Verdict:
    schema = work.store.load(run.spec_id).text("output_schema")
    if not schema:
        return None
    wrong = check_output(work.root, schema, run.spec_id, "\n".join(_said(work, run)))
    if wrong is None:
        return None
    if work.config().flag("validation", "strict_output_validation"):
        return FailureClass.OUTPUT, wrong
    log_state(work.paths, run.spec_id, run.run_id, f"warning: {wrong}")
    return None


def _approval_verdict(paths: ProjectPaths, run: Run) -> Verdict:
    """What the run would have proven with, had a person approved it."""
    needed = [command for _text, command in run.plan.criteria if command]
    setup = run.plan.worktree.setup if needs_setup(paths.root, run.spec_id) else ()
    missing = Consent(paths.root).missing([*setup, *needed])
    if not missing:
        return None
    error = NeedsApproval(paths.root, missing)
    return FailureClass.APPROVAL, error.full_text()


def _take_over_ticks(work: Workspace, run: Run, worktree: Path) -> None:
    """Agents without tools tick the boxes in their worktree's copy of the spec, or in words."""
    before = [text for text, _check in run.plan.criteria]
    ticked = {before[n - 1] for n in _named_as_met(work, run) if 0 < n <= len(before)}
    ticked |= _ticked_in_copy(work.store.load(run.spec_id), worktree)

    def edit(spec: Spec) -> Changes:
        body = spec.body
        for item in parse_criteria(body).items:
            if not item.checked and item.text in ticked.intersection(before):
                body = set_criterion(body, item.number, checked=True)
        return Changes(body=body, note="ticked by the agent")

    if ticked:
        work.store.change(run.spec_id, edit, actor=_ACTOR)


def _ticked_in_copy(spec: Spec, worktree: Path) -> set[str]:
    try:
        copy = read_document(Path(followed(worktree / spec.head.path)).read_bytes())
    except (OSError, FrontmatterError, Invalid):
        return set()
    return {item.text for item in parse_criteria(copy.body).items if item.checked}


def _named_as_met(work: Workspace, run: Run) -> list[int]:
    """The numbers in the last line that says which criteria are met."""
    found = _MET.findall("\n".join(_said(work, run)))
    return [int(number) for number in re.findall(r"\d{1,4}", found[-1])] if found else []


def _said(work: Workspace, run: Run) -> list[str]:
    """What the agent said, its last word last."""
    events = read_events(work.paths.events_file(run.spec_id), run.run_id)
    texts = [str(e.get("text", "")) for e in events if e.get("type") == "text" and "by" not in e]
    return [*texts, run.result or ""]


def _note_evidence(store: SpecStore, run: Run, passed: list[Check]) -> None:
    """Write below each criterion what proved it; the box stays as it is if the agent can tick."""
    proven = {check.criterion: check for check in passed}
    ticks = agent_named(run.plan.agent.name).ticks_by_checks

    def edit(spec: Spec) -> Changes:
        body = spec.body
        for item in parse_criteria(body).items:
            check = proven.get(item.text)
            if check is not None:
                words = f"passed: {check.command} (run {run.run_id})"
                body = set_criterion(
                    body, item.number, checked=item.checked or ticks, evidence=words
                )
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
    return fenced(clipped(result.strip(), _LONGEST_RESULT)).replace("```markdown", "```", 1)
