"""Many processes at one store: `python -m tests.specs.crowd MODE ROOT COUNT`.

One process without threads forks the others, which wait for each other and then work at once.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

from clew.kit.errors import Conflict
from clew.specs.change.lifecycle import apply_status
from clew.specs.model import Changes
from clew.specs.store.store import SpecStore


def succeeds(change):
    """Whether it was done; on a busy machine the turn may not come before the lock's limit."""
    try:
        change()
    except Conflict:
        return False
    return True


def add_label(store, number):
    """Everybody changes the same spec, and one of its own."""
    for name in ("shared", f"own-{number}"):
        for turn in range(3):
            label = f"p{number}-{turn}"
            change = partial(
                store.change,
                name,
                lambda spec, label=label: Changes(
                    {"labels": [*spec.words("labels"), label]}, f"{spec.body}{label}\n"
                ),
                actor=f"process {number}",
            )
            while not succeeds(change):
                pass


def create(store, number):
    """Everybody makes new specs."""
    for turn in range(2):
        store.create({}, f"# {number}.{turn}\n", actor=f"process {number}")


def finish(store, number):
    """Everybody finishes one member of the same group."""
    apply_status(store, f"d.{number + 1}", "in_progress", actor="test")
    apply_status(store, f"d.{number + 1}", "completed", actor="test")


def compare_and_swap(store, number):
    """Everybody adds one to a counter, and tries again when another was quicker."""
    while True:
        seen = store.load("shared")
        value = str(int(seen.text("count")) + 1)
        try:
            store.change(
                "shared",
                lambda _, value=value: Changes({"count": value}),
                actor="test",
                expected_version=seen.version,
            )
        except Conflict:
            continue
        return


def write_for_ever(store, number):
    """One spec rewritten with much text, until the process is killed."""
    while True:
        letter = "b" if store.load("a").text("model") == "a" else "a"
        body = "# T\n\n" + letter * 300_000
        store.change("a", lambda _, b=body, x=letter: Changes({"model": x}, b), actor="test")


def fork_reads(store, number):
    """A child of a process that watches sees what its parent would see."""
    assert store.heads()[0].title == "B"


def main(mode, root, count):
    """Fork, wait, and say how many failed."""
    store = SpecStore(Path(root))
    store.start_watching()  # which the children must not rely upon
    store.heads()
    if mode == "fork_reads":
        (store.paths.specs / "a.md").write_text("# B\n", encoding="utf-8")
    if count == 0:
        globals()[mode](store, 0)
    ready, go = os.pipe()
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(ready, 1)  # returns when the parent lets go
            status = 1
            try:
                globals()[mode](store, number)
                status = 0
            except Exception:  # noqa: BLE001 - the parent only needs to know that it failed
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        children.append(child)
    os.close(go)
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    if mode == "fork_reads" and store.heads()[0].title != "B":
        failed += 1
    return min(failed, 100)


if __name__ == "__main__":
    signal.alarm(240)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
