"""The owner of a run: one process that prepares the worktree, runs the agent and records its end.

Started detached by `launch`. It holds the run's lock for as long as it lives, and while it does
nobody else changes the run. Whatever it records, it records before it does the next thing, so a
kill at any moment leaves a run that `reconcile` can repair.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clew.kit.errors import ClewError, Conflict, Unavailable
from clew.kit.jsontext import JsonObject
from clew.kit.text.display import clipped
from clew.kit.text.redact import SecretLines
from clew.kit.times import utc_text
from clew.specs.store.consent import Consent, NeedsApproval
from clew.work.agents.failures import Failure, Watchdog, failure_of
from clew.work.agents.fence.fence import Fence, fence_of
from clew.work.agents.launch import git_directories, launch_of_run, run_variables
from clew.work.agents.options import budget_note, prices_of
from clew.work.agents.output import StreamReader
from clew.work.agents.programs import agent_named
from clew.work.journal.run_log import Event, EventKind, RunLog
from clew.work.journal.status_files import write_views
from clew.work.model import (
    FINISHING,
    REQUESTED_PHASE,
    FailureClass,
    Phase,
    Request,
    now_text,
)
from clew.work.paths import paths_of_run, worktree_of
from clew.work.processes.child import (
    Ending,
    Signals,
    command_words,
    drain,
    end_child,
    shown_command,
    start_child,
)
from clew.work.processes.daemon import Handshake, be_detached
from clew.work.processes.identity import identity_of, own_identity, stop_processes_of_run
from clew.work.runs.reconcile import update_spec_statuses
from clew.work.runs.stray import note_places, report_strays
from clew.work.workspace import Workspace
from clew.work.worktrees.worktrees import (
    Worktree,
    copy_included,
    needs_setup,
    note_setup,
    prepare,
    restore_snapshot,
    snapshot_or_reason,
)

HEARTBEAT_SECONDS = 5.0
_LEFTOVER_SECONDS = 2.0
_STDERR_LINES = 20


class Stopped(Exception):
    """Somebody asked the run to stop; not a failure of it."""


class Supervisor:
    """One run, from its claim to its end."""

    def __init__(self, work: Workspace, run_id: str, signals: Signals, ready: Handshake) -> None:
        self._workspace = work
        self._paths = work.paths
        self._journal = work.journal
        self._signals = signals
        self._ready = ready
        self._run = self._journal.get(run_id)
        self._log = RunLog(self._paths, self._run.spec_id, run_id)
        self._beat_at = 0.0

    def supervise(self) -> None:
        """Take the run as far as it goes."""
        try:
            if self._run.phase is Phase.PREPARED:
                self._work()
            elif self._run.phase not in FINISHING:
                raise Conflict(f"Run {self._run.run_id} is {self._run.phase} already")
            if self._run.phase in FINISHING:
                self._ready.say("finishing")
                self._finish()
        finally:
            self._log.close()

    def _work(self) -> None:
        me = own_identity()
        process_id = f"{self._run.spec_id}-{me.pid}"
        self._update(owner=me, process_id=process_id, started_at=now_text())
        self._log.begin(self._run.plan.prompt_name)
        self._ready.say("supervisor", pid=me.pid)
        try:
            tree = self._prepare_worktree()
            self._run_agent(tree)
        except Stopped:
            self._end_as_asked("stopped before the agent began")
        except ClewError as error:
            self._fail(FailureClass.WORKTREE, error.message, error.hint)
        except OSError as error:
            self._fail(FailureClass.PROGRAM, f"The agent could not be run: {error}", None)

    def _prepare_worktree(self) -> Worktree:
        settings = self._run.plan.worktree
        tree = prepare(self._paths.root, self._run.spec_id, settings)
        self._move(
            Phase.WORKTREE,
            note="made" if tree.is_new else "attached again",
            worktree=str(tree.path),
            branch=tree.branch,
            base_commit=tree.base_commit,
        )
        if tree.is_new:
            self._restore(tree.path)
            copied = copy_included(self._paths.root, tree.path)
            if copied:
                self._log.state(f"{len(copied)} ignored files copied into the worktree")
        self._set_up(tree.path)
        return tree

    def _set_up(self, path: Path) -> None:
        """Run the set-up commands if they have not run yet; the agent works without them, too."""
        root, spec_id, commands = self._paths.root, self._run.spec_id, self._run.plan.worktree.setup
        if not commands or not needs_setup(root, spec_id):
            return
        missing = Consent(root).missing(commands)
        if missing:
            self._log.state(f"no setup: {NeedsApproval(root, missing).full_text()}")
            return
        for command in commands:
            self._run_setup(command, path)
        note_setup(root, spec_id)

    def _restore(self, path: Path) -> None:
        """Put back the uncommitted work of the run that this one goes on with."""
        earlier = self._run.continues and self._journal.get(self._run.continues)
        if earlier and earlier.snapshot and earlier.spec_id == self._run.spec_id:
            is_back = restore_snapshot(path, earlier.snapshot)
            what = "put back" if is_back else f"is in {earlier.snapshot[:12]}; the branch went on"
            self._log.state(f"uncommitted work of run {earlier.run_id}: {what}")

    def _run_setup(self, command: str | tuple[str, ...], path: Path) -> None:
        shown = shown_command(command)
        self._log.state(f"setup: {shown} ({Consent(self._paths.root).to(command)})")
        deadline = time.monotonic() + self._run.plan.worktree.command_seconds
        variables = run_variables(self._paths, self._run, path)
        ending = self._pump(
            lambda: start_child(command_words(command), cwd=path, variables=variables),
            on_line=lambda stream, text: self._log.add(
                Event(EventKind.TEXT, text, {"stream": stream, "by": "setup"})
            ),
            limit=lambda: "it took too long" if time.monotonic() > deadline else None,
        )
        if ending.reason is not None or ending.exit_code != 0:
            why = ending.reason or f"it exited with status {ending.exit_code}"
            self._fail(FailureClass.SETUP, f"The setup command failed: {shown}: {why}", None)
            raise Stopped

    def _run_agent(self, tree: Worktree) -> None:
        choice = self._run.plan.agent
        watchdog = Watchdog(self._run.plan.limits)
        fence = fence_of(
            self._paths, self._run, tree.path, git_directories(tree.path, self._run.branch or "")
        )
        is_fenced = bool(fence.words)
        launch = launch_of_run(self._paths, self._run, tree.path, is_fenced=is_fenced)
        prices = prices_of(self._run.plan)
        reader = StreamReader(agent_named(choice.name).stream, launch.session, prices)
        for note in (fence.note, budget_note(self._run.plan)):
            if note:
                self._log.state(note)
        tail: deque[str] = deque(maxlen=_STDERR_LINES)
        secrets = {"stdout": SecretLines(), "stderr": SecretLines()}

        def on_line(stream: str, line: str) -> None:
            text = secrets[stream].clean(line)
            if stopped := fence.refusal(text):
                self._log.state(f"the fence stopped {stopped}: {clipped(text)}")
            if stream == "stderr":
                tail.append(text)
                reader.read_error(text)
                self._log.add(Event(EventKind.TEXT, text, {"stream": stream}))
            else:
                for event in reader.read(text):
                    self._log.add(event)
            if not reader.is_stuck:
                watchdog.heard()

        def limit() -> Failure | None:
            self._tell_refused(fence)
            return watchdog.broken(reader)

        note_places(self._workspace, self._run)
        variables = run_variables(self._paths, self._run, tree.path)
        ending = self._pump(
            lambda: start_child(
                [*fence.words, *launch.words],
                cwd=tree.path,
                variables={**variables, **launch.variables, **fence.variables},
                stdin=launch.stdin,
                descriptors=fence.descriptors,
            ),
            on_line=on_line,
            limit=limit,
            on_start=self._agent_started,
            reader=reader,
        )
        for event in reader.rest():
            self._log.add(event)
        self._take_down(fence)
        self._record_end(ending, reader, "\n".join(tail))

    def _take_down(self, fence: Fence) -> None:
        self._tell_refused(fence)
        for name in fence.take_down():
            self._log.state(f"the fence kept this from the home: {name}")

    def _tell_refused(self, fence: Fence) -> None:
        for host in fence.refused_hosts():
            self._log.state(f"the fence stopped a connection to {clipped(host)}")

    def _pump(
        self,
        start: Callable[[], subprocess.Popen[bytes]],
        *,
        on_line: Callable[[str, str], None],
        limit: Callable[[], object | None],
        on_start: Callable[[int], None] | None = None,
        reader: StreamReader | None = None,
    ) -> Ending:
        self._raise_if_stopped()
        child = start()

        def check() -> object | None:
            self._beat(reader)
            return Stopped if self._is_stop_asked() else limit()

        try:
            if on_start is not None:
                on_start(child.pid)
            ending = drain(
                child,
                signals=self._signals,
                on_line=on_line,
                check=check,
                grace_seconds=self._run.plan.limits.stop_grace_seconds,
            )
        except BaseException:
            end_child(child)
            raise
        stop_processes_of_run(self._run.run_id, _LEFTOVER_SECONDS)
        if on_start is None and ending.reason is Stopped:
            raise Stopped
        return ending

    def _agent_started(self, pid: int) -> None:
        self._move(Phase.STARTED, agent_process=identity_of(pid), heartbeat_at=now_text())
        self._ready.say("started", pid=pid)

    def _record_end(self, ending: Ending, reader: StreamReader, stderr_tail: str) -> None:
        snapshot = self._snapshot("at the agent's end")
        known: JsonObject = {
            "exit_code": ending.exit_code,
            "session_id": reader.session_id,
            **_used(reader),
            "result": (reader.final_text or reader.last_text)[-4000:] or None,
            "snapshot": snapshot,
        }
        strayed = report_strays(self._paths, self._run)
        if ending.reason is Stopped:
            self._end_as_asked("the agent was stopped", **known)
            return
        if isinstance(ending.reason, Failure):
            failure: Failure | None = ending.reason
        else:
            failure = failure_of(ending.exit_code, reader, stderr_tail)
        if strayed:
            failure = Failure(FailureClass.STRAYED, strayed)
        if failure is not None:
            known |= {"failure_class": failure.kind, "failure": failure.message}
            if failure.retry_after is not None:
                known["retry_at"] = utc_text(time.time() + failure.retry_after, milliseconds=True)
        self._move(Phase.AGENT_EXITED, note=f"exit {ending.exit_code}", **known)

    def _end_as_asked(self, note: str, **known: object) -> None:
        """End the run the way it was asked to: paused, held, cancelled, else interrupted."""
        if not self._run.is_open:
            return
        self._run = self._journal.get(self._run.run_id)
        request = self._run.request
        after = REQUESTED_PHASE[Request(request)] if request else Phase.INTERRUPTED
        if "snapshot" not in known:
            known["snapshot"] = self._snapshot(note)
        self._move(after, note=note, **known)

    def _finish(self) -> None:
        """Run the finisher of the run; without one the agent's own end decides."""
        run = self._run
        self._update(finishings=run.finishings + 1, owner=own_identity())
        try:
            worktree = worktree_of(run)
            if run.finisher:
                from clew.work.runs.verdict import finish

                if worktree is not None and run.failure_class is None:
                    self._set_up(worktree)
                finish(self._workspace, run.run_id)
        except Stopped:
            self._end_as_asked("stopped while it was being finished")
            return
        except ClewError as error:
            self._fail(FailureClass.FINISHING, error.message, error.hint)
            return
        self._run = self._journal.get(run.run_id)
        if self._run.phase in FINISHING and self._run.request:
            self._end_as_asked("stopped while it was being finished")
        elif self._run.phase in FINISHING:
            after = Phase.FAILED if self._run.failure_class else Phase.FINISHED
            failure = self._run.failure
            self._run = self._journal.move(run.run_id, after, expected=FINISHING, note=failure)
        why = f": {self._run.failure}" if self._run.failure else ""
        self._log.state(f"run {self._run.phase}{why}", phase=str(self._run.phase))
        write_views(self._paths, self._run)

    def _fail(self, kind: FailureClass, message: str, hint: str | None) -> None:
        snapshot = self._snapshot("when it failed")
        self._move(
            Phase.FAILED, note=message, failure_class=kind, failure=message, snapshot=snapshot
        )
        self._ready.fail(message, hint)

    def _snapshot(self, note: str) -> str | None:
        worktree = worktree_of(self._run)
        if worktree is None:
            return self._run.snapshot
        commit, reason = snapshot_or_reason(worktree, self._run.run_id, note, working=True)
        if reason:
            self._log.state(reason)
        elif commit:
            self._log.state(f"uncommitted work kept in {commit[:12]}", snapshot=commit)
        return commit

    def _move(self, after: Phase, *, note: str | None = None, **fields: Any) -> None:
        self._run = self._journal.move(self._run.run_id, after, note=note, **fields)
        said = f"run {after}" + (f": {note}" if note else "")
        self._log.state(said, phase=str(after))
        write_views(self._paths, self._run)

    def _update(self, **fields: object) -> None:
        self._run = self._journal.update(self._run.run_id, **fields)
        write_views(self._paths, self._run)

    def _beat(self, reader: StreamReader | None) -> None:
        now = time.monotonic()
        if now - self._beat_at < HEARTBEAT_SECONDS:
            return
        self._beat_at = now
        known: dict[str, object] = {"heartbeat_at": now_text()}
        if reader is not None and reader.session_id:
            known["session_id"] = reader.session_id
        if reader is not None:
            known |= {name: value for name, value in _used(reader).items() if value is not None}
        with suppress(Unavailable):  # a full disk; the next one may get through
            self._run = self._journal.update(self._run.run_id, **known)

    def _is_stop_asked(self) -> bool:
        return self._signals.stop_asked or self._run.request is not None

    def _raise_if_stopped(self) -> None:
        if self._is_stop_asked():
            raise Stopped


def _used(reader: StreamReader) -> JsonObject:
    """What the agent has used so far, as far as it tells."""
    tokens = reader.tokens
    return {
        "cost_usd": reader.cost_usd,
        "input_tokens": tokens.input if tokens else None,
        "output_tokens": tokens.output if tokens else None,
    }


def own_run(run_directory: Path, ready: Handshake) -> None:
    """Be the supervisor of the run whose directory this is; its lock came from the starter."""
    paths, run_id = paths_of_run(run_directory)
    with Signals().noted() as signals, Workspace(paths.root) as work:
        Supervisor(work, run_id, signals, ready).supervise()
        update_spec_statuses(work)


def main(arguments: list[str]) -> int:
    """`python -m clew.work.runs.supervisor RUN_DIRECTORY HANDSHAKE LOCK`, the latter descriptors."""
    return be_detached(arguments, own_run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
