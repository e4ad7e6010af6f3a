"""The handlers of the tools that watch work and split specs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.answer import Answer
from clew.specs.store.store import open_store
from clew.work.paths import Places

if TYPE_CHECKING:
    from clew.kit.call import Call

_STOP_SECONDS = 1.0


def watch_status(arguments: dict[str, Any], call: Call) -> Answer:
    """Whether a watch runs, and every worktree."""
    from clew.work.scheduling.watch_control import watch_status as status

    return Answer.of(status(_places(call)), indent=2)


def watch_start(arguments: dict[str, Any], call: Call) -> Answer:
    """Start a watch in the background."""
    from clew.work.scheduling.watch_control import start_watch

    pid = start_watch(_places(call))
    text = f"Started watch process (PID: {pid})"
    return Answer(text, data={"pid": pid, "message": text})


def watch_stop(arguments: dict[str, Any], call: Call) -> Answer:
    """Ask the watch to end."""
    from clew.work.scheduling.watch_control import stop_watch

    pid = stop_watch(_places(call), _STOP_SECONDS)
    text = f"Sent stop signal to watch process (PID: {pid})"
    return Answer(text, data={"pid": pid, "message": text})


def split(arguments: dict[str, Any], call: Call) -> Answer:
    """Divide a spec into members."""
    from clew.work.split.split import SplitOptions, split_spec

    store = open_store(settings=call.settings)
    options = SplitOptions(
        force=arguments.get("force", False),
        recursive=arguments.get("recursive", False),
        max_depth=arguments.get("max_depth", SplitOptions.max_depth),
    )
    done = split_spec(Places(store.project), store, arguments["id"], options, call=call)
    return Answer.of(done.as_json(), indent=2)


def _places(call: Call) -> Places:
    return Places(open_store(settings=call.settings).project)
