"""Many starters of one spec at once: `python -m tests.work.runs.starters ROOT SPEC NUMBER`.

Everything is imported once, then each starter is a process of its own, and all are let go together.
Prints how each fared, as a list of JSON objects: the run that was won, or the refusal.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from clew.daemons import WIRING
from clew.kit.errors import ClewError
from clew.work.scheduling.start import Mode, begin_work
from clew.work.workspace import Workspace


def start(root: Path, spec_id: str) -> dict[str, str | None]:
    """Try to begin work on the spec, as a command of its own would."""
    try:
        with Workspace(root, WIRING) as work:
            return {"run": begin_work(work, (spec_id,), Mode()).run_id}
    except ClewError as error:
        return {"refused": error.message, "code": error.code, "hint": error.hint}


def main(root: Path, spec_id: str, number: int) -> None:
    """Fork them, let them go, and gather what they say."""
    gate, opener = os.pipe()
    results = []
    for _ in range(number):
        near, far = os.pipe()
        if os.fork() == 0:
            os.close(opener)
            os.read(gate, 1)  # the end of the pipe, when all are there
            os.write(far, json.dumps(start(root, spec_id)).encode())
            os._exit(0)
        os.close(far)
        results.append(near)
    os.close(opener)
    said = []
    for near in results:
        with os.fdopen(near) as stream:
            said.append(json.load(stream))
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
