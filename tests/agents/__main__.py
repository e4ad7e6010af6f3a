"""`make agents`: install the real programs, run the matrix, and record what was proven."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.agents import record
from tests.agents.install import PINS, install, newer_node
from tests.agents.rows import AS_ROOT, ROWS, STRICT, Cell, has, together
from tests.agents.scene import Scene
from tests.agents.setups import AGENTS
from tests.agents.user import OrdinaryUser
from tests.support.models.service import model_service

BRIEF_ROWS = ("good", "resume", "refuse")
FOUR = ("claude", "codex", "gemini", "opencode")
_INSTALL_SHARE = 0.5  # of the time there is
_INSTALL_SECONDS = 1800


class Proof:
    """One run of the proof: who can take part, where it is played, and what came out."""

    def __init__(self, options, services, directory):
        self.options, self.directory = options, directory
        self.service, self.far = services
        self.until = time.monotonic() + options.minutes * 60 if options.minutes else None
        self.user = OrdinaryUser(directory)
        self.clew = self.user.clew()
        self.installed = {}
        self.programs = ()
        self.record = record.read()
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.wrong = self.left_out = 0

    def install(self, names):
        """Install what is needed; says what could not be."""
        minutes = self.options.minutes
        until = time.monotonic() + (minutes * 60 * _INSTALL_SHARE if minutes else _INSTALL_SECONDS)
        wanted = [name for name in names if name in PINS]
        node = newer_node(until) if wanted else None
        with ThreadPoolExecutor(2) as pool:
            for one in pool.map(lambda name: install(name, until), wanted):
                self.installed[one.name] = one
                if one.reason:
                    print(f"Could not install {one.name} {one.version}: {one.reason}", flush=True)
        found = [("node", node), *((one.name, one.place) for one in self.installed.values())]
        self.programs = tuple(self.user.program(place, name) for name, place in found if place)

    def can_run(self, agent):
        """Whether the agent is here; Clew's own always is."""
        return agent not in PINS or self.installed[agent].place is not None

    def version(self, agent):
        """The version that is proven."""
        return PINS[agent]["version"] if agent in PINS else record.own_version()

    def play(self, agent, row):
        """Play one cell and keep its verdict; None where the time is over."""
        if self.until is not None and time.monotonic() > self.until:
            with self.lock:
                self.left_out += 1
            print(f"left  {agent:9} {row}: the time is over", flush=True)
            return None
        name = f"{agent}-{row}-{next(self.numbers)}"
        user = None if row == AS_ROOT else self.user.number
        service = self.far if row == STRICT else self.service
        scene = self._scene(name, (agent,), user, service)
        cell = Cell(agent, row, scene, service.case(name))
        self._judged(cell, cell.run)
        return not cell.wrong

    def play_together(self):
        """Four programs on four specs at once."""
        agents = tuple(name for name in FOUR if self.can_run(name))
        scene = self._scene("together", agents, self.user.number, self.service)
        cases = {name: self.service.case(f"together-{name}") for name in agents}
        scene = replace(
            scene, urls={name: self.service.url(case.name) for name, case in cases.items()}
        )
        cell = Cell("+".join(agents), "together", scene, next(iter(cases.values())))
        self._judged(cell, lambda: together(cell, agents))
        self.record["together"] = {
            "agents": list(agents), "date": record.today(), "wrong": cell.wrong,
        }  # fmt: skip
        self.keep()

    def keep(self):
        """Write the record down as it is now."""
        if self.options.record:
            record.write(self.record)

    def _scene(self, name, agents, user, service):
        urls = dict.fromkeys(agents, service.url(name))
        programs = (self.clew, *self.programs)
        return Scene(self.directory / name, agents, programs, urls, user)

    def _judged(self, cell, play):
        began = time.monotonic()
        try:
            play()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this cell's verdict
            cell.wrong.append(f"{type(error).__name__}: {str(error)[:300]}")
        took = time.monotonic() - began
        cell.scene.close(keep=bool(cell.wrong) and self.options.keep)
        cell.case.released.set()
        verdict = "WRONG" if cell.wrong else "ok   "
        said = "; ".join(cell.wrong) or ", ".join(cell.notes)
        with self.lock:
            self.wrong += bool(cell.wrong)
            if cell.row in ROWS:
                version = self.version(cell.agent)
                record.add(self.record, cell.agent, version, cell.row, cell.wrong, cell.notes)
            self.keep()
            print(f"{verdict} {cell.agent:9} {cell.row:9} {took:5.1f} s  {said}", flush=True)


def main(arguments):
    """Run what is asked for; 1 when a verdict was wrong."""
    options = _options(arguments)
    names = options.agents or list(AGENTS)
    directory = Path(tempfile.mkdtemp(prefix="clew-agents-"))
    directory.chmod(0o755)
    # From a strict fence, the second one is reached by the proxy alone: no port of it is inside.
    with model_service() as service, model_service("127.0.0.2") as far:
        proof = Proof(options, (service, far), directory)
        proof.install(names if not options.together else {*names, *FOUR})
        here = [name for name in names if proof.can_run(name)]
        with ThreadPoolExecutor(options.jobs) as pool:
            if options.repeat:
                _repeat(proof, here, pool)
            else:
                cells = [(name, row) for row in _rows(options) for name in here if has(name, row)]
                list(pool.map(lambda cell: proof.play(*cell), cells))
        if options.together:
            proof.play_together()
    if options.keep:
        print(f"Kept: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{proof.wrong} wrong, {proof.left_out} left out")
    return 1 if proof.wrong else 0


def _rows(options):
    rows = options.rows or ROWS
    return [row for row in rows if row != AS_ROOT or os.geteuid() == 0]


def _repeat(proof, names, pool):
    turns = [
        name for _, name in zip(range(proof.options.repeat), itertools.cycle(names), strict=False)
    ]
    verdicts = list(pool.map(lambda name: (name, proof.play(name, "good")), turns))
    played = [(name, good) for name, good in verdicts if good is not None]
    proof.record["repeated"] = {
        "runs": len(played),
        "wrong": sum(not good for _, good in played),
        "agents": dict(Counter(name for name, _ in played)),
        "date": record.today(),
    }
    proof.keep()


def _options(arguments):
    parser = argparse.ArgumentParser(prog="make agents", description=__doc__)
    parser.add_argument("agents", nargs="*", choices=[*AGENTS, []], help="default: all of them")
    parser.add_argument("--rows", type=lambda text: text.split(","), help="default: all of them")
    parser.add_argument("--brief", dest="rows", action="store_const", const=BRIEF_ROWS)
    parser.add_argument("--minutes", type=float, help="start no cell after this time")
    parser.add_argument("--jobs", type=int, default=2, help="cells at the same time")
    parser.add_argument("--repeat", type=int, help="the good case this many times instead")
    parser.add_argument("--together", action="store_true", help="four programs at once, too")
    parser.add_argument("--record", action="store_true", help="keep the verdicts for the documents")
    parser.add_argument("--keep", action="store_true", help="keep the directories of wrong cells")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
