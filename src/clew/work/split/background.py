"""A split that goes on by itself, for callers that cannot wait for an agent's answer.

The process holds a lock for as long as it lives; its record under `.chant/processes/` says what
became of it. Of each spec the newest record is kept.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import ClewError, Conflict
from clew.kit.files import private_directory, regular_bytes, write_atomic
from clew.kit.jsontext import JsonObject
from clew.kit.locks import is_locked, try_lock
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import terminal_text
from clew.work.model import now_text, second_text
from clew.work.processes.daemon import Handshake, be_detached, start_detached
from clew.work.split.split import SplitOptions, check_splittable, split_spec
from clew.work.workspace import Workspace

_MODULE = "clew.work.split.background"
_START_SECONDS = 2.0
_RECORD = ("process_id", "spec_id", "pid", "started_at", "mode", "options")
_OPTIONS = ("force", "recursive", "max_depth")


def begin_split(work: Workspace, spec_id: str, options: SplitOptions) -> JsonObject:
    """Start a split in a process of its own; its record. What cannot be split is refused at once."""
    spec = work.store.load(spec_id)
    check_splittable(work.store, spec, options)
    lock = try_lock(_lock(work.paths, spec.id))
    if lock is None:
        raise Conflict(
            f"Spec '{spec.id}' is being split already", "`chant_work_list` shows the process."
        )
    for old in work.paths.processes.glob(f"split-{spec.id}-*.json"):
        old.unlink(missing_ok=True)
    directory = private_directory(work.paths.make_store() / "splits" / spec.id)
    request = {"root": str(work.root), "spec_id": spec.id, "options": asdict(options)}
    write_atomic(directory / "request.json", jsontext.dumps(request), mode=0o600)
    start_detached((_MODULE,), directory, lock, _START_SECONDS, "split").process("split")
    record = next(view for view in split_processes(work.paths) if view["spec_id"] == spec.id)
    return {name: record[name] for name in _RECORD}


def split_processes(paths: ProjectPaths) -> list[JsonObject]:
    """The records of splits; one whose process was killed has failed."""
    views = []
    for file in sorted(paths.processes.glob("split-*.json")):
        try:
            view = jsontext.loads_bytes(regular_bytes(file))
        except (OSError, jsontext.JsonError):
            continue
        if not isinstance(view, dict) or view.get("status") not in ("running", *_ENDS):
            continue
        if view["status"] == "running" and not is_locked(_lock(paths, str(view["spec_id"]))):
            view = {**view, "status": "failed", "failure": "The split ended without a result"}
        views.append(view)
    return views


_ENDS = ("completed", "failed")


def _lock(paths: ProjectPaths, spec_id: str) -> Path:
    return paths.lock_file(f"split-{spec_id}")


def _split(directory: Path, ready: Handshake) -> None:
    """Be the process: split the spec that the request names, and record what became of it."""
    request = jsontext.loads_bytes((directory / "request.json").read_bytes())
    options = SplitOptions(**request["options"])
    with Workspace(Path(request["root"])) as work:
        process_id = f"split-{request['spec_id']}-{os.getpid()}"
        file = work.paths.processes / f"{process_id}.json"
        record: JsonObject = {
            "process_id": process_id,
            "spec_id": request["spec_id"],
            "pid": os.getpid(),
            "status": "running",
            "started_at": second_text(now_text()),
            "completed_at": None,
            "mode": "split",
            "options": {name: request["options"][name] for name in _OPTIONS},
        }
        write_atomic(file, jsontext.pretty(record) + "\n")
        ready.say("supervisor", pid=os.getpid())
        ready.say("started")
        record |= _outcome(work, record["spec_id"], options)
        record["completed_at"] = second_text(now_text())
        write_atomic(file, jsontext.pretty(record) + "\n")


def _outcome(work: Workspace, spec_id: str, options: SplitOptions) -> JsonObject:
    try:
        done = split_spec(work, spec_id, options).as_json()
    except (ClewError, OSError) as error:
        print(terminal_text(str(error)), file=sys.stderr)
        return {"status": "failed", "failure": str(error)}
    told = {name: done[name] for name in ("message", "method", "warnings")}
    return {"status": "completed", **told, "members": [one["id"] for one in done["members"]]}


if __name__ == "__main__":
    sys.exit(be_detached(sys.argv[1:], _split))
