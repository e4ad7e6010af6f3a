"""The work room's tools: the half of the chant tools that starts, watches and stops agents."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    ENDS,
    INTEGER,
    READS,
    SETS,
    STRING,
    WRITES,
    Tool,
    boolean,
    integer,
    nullable,
    numbers,
    object_schema,
    record,
    string,
    texts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clew.catalog.model import Handler
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject
    from clew.work.scheduling.start import Mode
    from clew.work.workspace import Wiring, Workspace

_ACTOR = "mcp"
_FACE = {"face": "chant", "toolset": "work"}
_STOP_SECONDS = 1.0
_STOPPED = ("in_progress", "paused", "failed", "needs_attention")
_SPEC_ID = string("Spec ID (full or partial)")
_SPEC_CHANGED = object_schema({"id": STRING, "message": STRING}, "message")
_PROCESS = {**texts("process_id spec_id"), "pid": INTEGER, **texts("started_at mode")}
_TAKEN = texts("spec_id analysis log_tail suggestion")
_WATCH_CHANGED = object_schema({"pid": INTEGER, "message": STRING}, "message")


def _opened(call: Call, wiring: Wiring | None = None, *, repair: bool = True) -> Workspace:
    from clew.specs.store.store import open_store
    from clew.work.runs.repair_on_call import repair_project
    from clew.work.workspace import Workspace

    store = open_store(settings=call.settings)
    if repair:
        repair_project(store.project)
    return Workspace(store.project, wiring, store)


def _record(data: JsonObject) -> Answer:
    from clew.kit.answer import Answer

    return Answer.indented(data)


def _message(text: str, **data: Any) -> Answer:
    from clew.kit.answer import Answer

    return Answer(text, data={**data, "message": text})


def work_start(arguments: JsonObject, call: Call, wiring: Wiring) -> Answer:
    """Begin work; the answer comes within two seconds."""
    from clew.work.agents.options import WorkOptions
    from clew.work.scheduling.start import Mode, begin_work, keep_watched

    mode = Mode(chain=arguments.get("chain", False), parallel=arguments.get("parallel"))
    options = WorkOptions(skip_criteria=arguments.get("skip_criteria", False))
    with _opened(call, wiring) as work:
        waiting = _ask_consent(work, call, (arguments["id"],), mode)
        begun = begin_work(work, (arguments["id"],), mode, options)
        keep_watched(work)
        return _record({**begun.record, **waiting})


def _ask_consent(work: Workspace, call: Call, ids: tuple[str, ...], mode: Mode) -> JsonObject:
    """Ask the person at the client for what nobody has approved; what is missing after that."""
    from clew.specs.store.consent import Consent, NeedsApproval, command_hash
    from clew.work.scheduling.start import commands_of

    consent = Consent(work.root)
    missing = consent.missing(one.command for one in commands_of(work, ids, mode))
    if not missing:
        return {}
    needed = NeedsApproval(work.root, missing)
    offered = call.capabilities.get("elicitation")
    if isinstance(offered, dict) and (not offered or "form" in offered):
        # The key is that of the very commands which the person sees.
        key = "consent-" + "-".join(command_hash(work.root, one)[:16] for one in missing)
        listed = "\n".join(f"  {one}" for one in needed.listed)
        if call.confirm(key, f"May these commands of the project run on your machine?\n{listed}"):
            consent.approve(missing, "the user of a tool server's client")
            return {}
    return {"needs_approval": {"commands": needed.listed, "hint": needed.hint}}


def work_list(arguments: JsonObject, call: Call) -> Answer:
    """The processes at work and, if asked for, those that ended."""
    from clew.work.journal.sqlite import read_journal
    from clew.work.journal.status_files import list_processes
    from clew.work.split.background import split_processes

    paths = _opened(call).paths
    with read_journal(paths) as journal:
        found = list_processes(
            journal,
            split_processes(paths),
            process_id=arguments.get("process_id"),
            include_completed=arguments.get("include_completed", False),
        )
    return _record(found)


def pause(arguments: JsonObject, call: Call) -> Answer:
    """Stop a spec's agent; nothing is lost."""
    from clew.work.runs.stop import pause as stop

    with _opened(call) as work:
        run = stop(work, arguments["id"])
    return _message(f"Successfully paused work for spec '{run.spec_id}'", id=run.spec_id)


def reset(arguments: JsonObject, call: Call) -> Answer:
    """Put a spec back to pending; its agent is stopped."""
    from clew.work.runs.stop import reset_spec

    with _opened(call, repair=False) as work:
        spec = reset_spec(work, arguments["id"], actor=_ACTOR)
    return _message(f"Reset spec '{spec.id}' to pending", id=spec.id)


def cancel(arguments: JsonObject, call: Call) -> Answer:
    """Cancel a spec; its agent is stopped."""
    from clew.work.runs.stop import cancel_spec

    with _opened(call, repair=False) as work:
        spec = cancel_spec(work, arguments["id"], actor=_ACTOR)
    return _message(f"Cancelled spec: {spec.id}", id=spec.id)


def archive(arguments: JsonObject, call: Call) -> Answer:
    """Move a spec to the archive, unless its work is not merged."""
    from clew.work.merging.archiving import archive_spec

    with _opened(call, repair=False) as work:
        spec_id = work.store.load(arguments["id"]).id
        path = work.paths.relative(
            archive_spec(work, spec_id, actor=_ACTOR, force=arguments.get("force", False))
        )
    return _message(f"Archived spec: {spec_id} -> {path}", id=spec_id, path=path)


def takeover(arguments: JsonObject, call: Call) -> Answer:
    """Stop a spec's agent, hold the spec, and say what is known."""
    from clew.catalog.hints import in_tools
    from clew.work.runs.stop import take_over

    with _opened(call) as work:
        taken = take_over(work, arguments["id"], force=arguments.get("force", False)).as_json()
    return _record(
        {**taken, "suggestion": in_tools(taken["suggestion"], call.settings.get("face", "clew"))}
    )


def release(arguments: JsonObject, call: Call, wiring: Wiring) -> Answer:
    """Hand a spec back that was taken over: paused, gone on with, or finished."""
    from clew.work.runs.stop import release as hand_back
    from clew.work.runs.stop import release_finished
    from clew.work.scheduling.start import Mode, begin_work, keep_watched

    then, waiting = arguments.get("then", "pause"), {}
    with _opened(call, wiring) as work:
        if then != "pause":
            waiting = _ask_consent(work, call, (arguments["id"],), Mode())
        if then == "finish":
            run = release_finished(work, arguments["id"])
            return _message(f"Released spec '{run.spec_id}'; it is being checked", id=run.spec_id)
        run = hand_back(work, arguments["id"])
        text = f"Released spec '{run.spec_id}'"
        if then != "continue":
            return _message(text, id=run.spec_id)
        record = begin_work(work, (run.spec_id,), Mode()).record
        keep_watched(work)
        text += f"; an agent goes on with it ({record['process_id']})"
        return _message(text, id=run.spec_id, **record, **waiting)


def watch_status(arguments: JsonObject, call: Call) -> Answer:
    """Whether a watch runs, and every worktree."""
    from clew.work.scheduling.watch import watch_status as status

    return _record(status(_opened(call, repair=False).paths))


def watch_start(arguments: JsonObject, call: Call, wiring: Wiring) -> Answer:
    """Start a watch in the background."""
    from clew.work.scheduling.start import start_watch

    pid = start_watch(_opened(call, wiring, repair=False))
    return _message(f"Started watch process (PID: {pid})", pid=pid)


def watch_stop(arguments: JsonObject, call: Call) -> Answer:
    """Ask the watch to end."""
    from clew.work.scheduling.watch import stop_watch

    pid = stop_watch(_opened(call, repair=False).paths, _STOP_SECONDS)
    return _message(f"Sent stop signal to watch process (PID: {pid})", pid=pid)


def split(arguments: JsonObject, call: Call) -> Answer:
    """Divide a spec into members; in the background where an agent is asked and nobody waits."""
    from clew.work.split.background import begin_split
    from clew.work.split.split import SplitOptions, agent_to_ask, split_spec

    options = SplitOptions(
        force=arguments.get("force", False),
        recursive=arguments.get("recursive", False),
        max_depth=arguments.get("max_depth", SplitOptions.max_depth),
    )
    work = _opened(call, repair=False)
    spec = work.store.load(arguments["id"])
    if not call.is_task and agent_to_ask(work.config(), spec, options) is not None:
        return _record(begin_split(work, spec.id, options))
    return _record(split_spec(work, spec.id, options, call=call).as_json())


def with_reasons(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools of specs; those that show one spec also say why it waits for somebody."""
    for tool in tools:
        if tool.name in ("chant_spec_get", "chant_diagnose"):
            tool.handler = _explained(tool.handler)
    return tools


def _explained(handler: Handler) -> Handler:
    def explained(arguments: JsonObject, call: Call) -> Answer:
        answer = handler(arguments, call)
        data = answer.data
        if not isinstance(data, dict) or data.get("status") not in _STOPPED:
            return answer
        from clew.catalog.hints import in_tools
        from clew.kit.paths import ProjectPaths
        from clew.specs.store.store import open_store
        from clew.work.runs.reasons import explain

        paths = ProjectPaths(open_store(settings=call.settings).project)
        found = explain(paths, data.get("spec_id") or data["id"], data["status"])
        if found is None:
            return answer
        reason = {
            **found.as_json(),
            "next_step": in_tools(found.next_step, call.settings.get("face", "clew")),
        }
        said = {"suggestion": reason["next_step"]} if "suggestion" in data else {}
        return _record({**data, **said, "reason": reason})

    return explained


def _declared(name: str, description: str, **settings: Any) -> JsonObject:
    return {"name": name, "description": description, **_FACE, **settings}


_DECLARED = (
    _declared(
        "chant_work_start",
        "Start working on a spec asynchronously (returns immediately)",
        handler=work_start,
        title="Start work on a spec",
        effect=WRITES,
        open_world=True,
        properties={
            "id": _SPEC_ID,
            "chain": boolean("Continue to next ready spec after completion"),
            "parallel": integer("Number of parallel workers (requires multiple ready specs)"),
            "skip_criteria": boolean("Skip acceptance criteria validation"),
        },
        required=("id",),
        output=record(_PROCESS),
    ),
    _declared(
        "chant_work_list",
        "List running work processes",
        handler=work_list,
        title="List running work",
        effect=READS,
        properties={
            "process_id": string("Filter to specific process"),
            "include_completed": boolean("Include recently completed processes"),
        },
        output=record(
            {
                "processes": {
                    "type": "array",
                    "items": object_schema(
                        {**_PROCESS, "status": STRING, "completed_at": nullable(STRING)}
                    ),
                },
                "summary": object_schema(numbers("running completed failed")),
            }
        ),
    ),
    _declared(
        "chant_pause",
        "Pause a running work process for a spec",
        handler=pause,
        title="Pause work",
        effect=SETS,
        properties={"id": _SPEC_ID},
        required=("id",),
        output=_SPEC_CHANGED,
    ),
    _declared(
        "chant_takeover",
        "Take over a running spec, stopping the agent and analyzing progress",
        handler=takeover,
        title="Take over work",
        effect=ENDS,
        properties={
            "id": _SPEC_ID,
            "force": boolean("Force takeover even if no active process detected (default: false)"),
        },
        required=("id",),
        output=object_schema({**_TAKEN, "worktree_path": nullable(STRING)}, *_TAKEN),
    ),
    _declared(
        "chant_release",
        "Hand back a spec that was taken over",
        handler=release,
        title="Hand work back",
        effect=WRITES,
        open_world=True,
        original=False,
        properties={
            "id": _SPEC_ID,
            "then": {
                **string("`continue` starts an agent, `finish` checks and completes"),
                "enum": ["pause", "continue", "finish"],
            },
        },
        required=("id",),
        output=_SPEC_CHANGED,
    ),
    _declared(
        "chant_watch_status",
        "Get watch status and active worktrees",
        handler=watch_status,
        title="Watch status",
        effect=READS,
        output=record(
            {
                "watch_running": BOOLEAN,
                "worktrees": {"type": "array", "items": {"type": "object"}},
                "worktree_count": INTEGER,
            }
        ),
    ),
    _declared(
        "chant_watch_start",
        "Start watch in background if not running",
        handler=watch_start,
        title="Start the watch",
        effect=SETS,
        open_world=True,
        output=_WATCH_CHANGED,
    ),
    _declared(
        "chant_watch_stop",
        "Stop running watch process",
        handler=watch_stop,
        title="Stop the watch",
        effect=SETS,
        output=_WATCH_CHANGED,
    ),
    _declared(
        "chant_split",
        "Split a complex spec into smaller member specs using AI analysis",
        handler=split,
        title="Split a spec",
        effect=WRITES,
        open_world=True,
        slow=True,
        properties={
            "id": _SPEC_ID,
            "force": boolean("Skip confirmation prompts"),
            "recursive": boolean("Recursively split member specs that are still too complex"),
            "max_depth": integer("Maximum recursion depth (default: 3)"),
        },
        required=("id",),
        output={"type": "object"},
    ),
)


def work_tools(wiring: Callable[[], Wiring]) -> tuple[Tool, ...]:
    """The tools; those that start something get what the program above gives."""

    def wired(handler: Callable[[JsonObject, Call, Wiring], Answer]) -> Handler:
        return lambda arguments, call: handler(arguments, call, wiring())

    bound = {f: wired(f) for f in (work_start, release, watch_start)}
    return tuple(
        Tool(**{**tool, "handler": bound.get(tool["handler"], tool["handler"])})
        for tool in _DECLARED
    )
