"""The handlers of the tools that start, list and stop work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.answer import Answer
from clew.specs.store.store import open_store
from clew.work.paths import Places

if TYPE_CHECKING:
    from clew.kit.call import Call
    from clew.specs.store.store import SpecStore

_ACTOR = "mcp"


def _opened(call: Call) -> tuple[Places, SpecStore]:
    store = open_store(settings=call.settings)
    return Places(store.project), store


def work_start(arguments: dict[str, Any], call: Call) -> Answer:
    """Begin work; the answer comes within two seconds."""
    from clew.work.agents.options import WorkOptions
    from clew.work.scheduling.start import Mode, begin_work

    places, store = _opened(call)
    mode = Mode(chain=arguments.get("chain", False), parallel=arguments.get("parallel"))
    options = WorkOptions(skip_criteria=arguments.get("skip_criteria", False))
    begun = begin_work(places, store, (arguments["id"],), mode, options)
    return Answer.of(begun.record, indent=2)


def work_list(arguments: dict[str, Any], call: Call) -> Answer:
    """The processes at work and, if asked for, those that ended."""
    from clew.work.runs.listing import list_processes

    places, _store = _opened(call)
    found = list_processes(
        places,
        process_id=arguments.get("process_id"),
        include_completed=arguments.get("include_completed", False),
    )
    return Answer.of(found, indent=2)


def pause(arguments: dict[str, Any], call: Call) -> Answer:
    """Stop a spec's agent; nothing is lost."""
    from clew.work.runs.takeover import pause as stop

    run = stop(*_opened(call), arguments["id"])
    text = f"Successfully paused work for spec '{run.spec_id}'"
    return Answer(text, data={"id": run.spec_id, "message": text})


def reset(arguments: dict[str, Any], call: Call) -> Answer:
    """Put a spec back to pending; its agent is stopped."""
    from clew.work.runs.abandon import reset_spec

    spec = reset_spec(_opened(call)[1], arguments["id"], actor=_ACTOR)
    text = f"Reset spec '{spec.id}' to pending"
    return Answer(text, data={"id": spec.id, "message": text})


def cancel(arguments: dict[str, Any], call: Call) -> Answer:
    """Cancel a spec; its agent is stopped."""
    from clew.work.runs.abandon import cancel_spec

    spec = cancel_spec(_opened(call)[1], arguments["id"], actor=_ACTOR)
    text = f"Cancelled spec: {spec.id}"
    return Answer(text, data={"id": spec.id, "message": text})


def takeover(arguments: dict[str, Any], call: Call) -> Answer:
    """Stop a spec's agent, hold the spec, and tell what is known."""
    from clew.work.runs.takeover import take_over

    taken = take_over(*_opened(call), arguments["id"], force=arguments.get("force", False))
    return Answer.of(taken.as_json(), indent=2)


def release(arguments: dict[str, Any], call: Call) -> Answer:
    """Hand a spec back that was taken over: paused, gone on with, or finished."""
    from clew.work.runs.takeover import release as hand_back
    from clew.work.runs.takeover import release_finished

    places, store = _opened(call)
    then = arguments.get("then", "pause")
    if then == "finish":
        run = release_finished(places, store, arguments["id"])
        text = f"Released spec '{run.spec_id}'; it is being checked"
        return Answer(text, data={"id": run.spec_id, "message": text})
    run = hand_back(places, store, arguments["id"])
    text = f"Released spec '{run.spec_id}'"
    data: dict[str, Any] = {"id": run.spec_id}
    if then == "continue":
        from clew.work.scheduling.start import Mode, begin_work

        data |= begin_work(places, store, (run.spec_id,), Mode()).record
        text += f"; an agent goes on with it ({data['process_id']})"
    return Answer(text, data={**data, "message": text})
