"""From nothing to the first answers: how long a host waits for a server."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.install import HOW
from benchmarks.measurement.messages import result_of
from benchmarks.measurement.peers import NOTE, PeerFailed, home_of, installed_peers, programs, start
from benchmarks.measurement.process import Child
from benchmarks.measurement.sampling import Sample, Series, compare, interleave
from benchmarks.results.report import Claim, Figure, Goal

NAME = "cold_start"
TITLE = "Cold start: spawn to the answer of tools/list"
FULL = {"rounds": 60, "peer_rounds": 12}
QUICK = {"rounds": 7, "peer_rounds": 2}

FACES = {
    "clew serve": ("clew", "serve"),
    "chant mcp": ("chant", "mcp"),
    "commitmux serve": ("commitmux", "serve"),
    "climpt mcp": ("climpt", "mcp"),
    "clariad serve": ("clariad", "serve"),
}
ALL_TOOLS = "all declared tools"
MINIMAL = "minimal loop"
BARE = "python -c pass"
WAITING = "bare python, waiting"
START_GOAL = Goal(2.5)
EXIT_GOAL = Goal(50.0, of="median")
BARE_NOTE = (
    f"`{BARE}` is spawned and waited for, interpreter's end included. `{WAITING}` reads standard "
    "input until it ends; exit times and memory are compared with it."
)
MEMORY_NOTE = (
    "Memory is the peak resident size (VmHWM) just before standard input is closed. "
    "Exit is measured from that moment to the end of the process."
)
NOTES = [HOW, BARE_NOTE, MEMORY_NOTE, NOTE]


def run(bench: Bench) -> Claim:
    """Measure every face, the full catalogue, the minimal loop and the peers in turns."""
    packages, others = installed_peers(), programs(bench)
    skipped = packages.skipped | {_titled(name): why for name, why in others.skipped.items()}
    sizes: dict[str, str] = {}
    variants: dict[str, Callable[[], Sample]] = {
        name: partial(_start_server, command, bench.home, sizes, name)
        for name, command in {**_server_commands(bench), **packages.commands}.items()
    }
    for name, command in others.commands.items():
        started = partial(_start_server, command, home_of(bench, name), sizes, _titled(name))
        variants[_titled(name)] = partial(sample_or_skip, started, skipped, _titled(name))
    peers = [*packages.commands, *map(_titled, others.commands)]
    variants[BARE] = partial(_run_bare, bench)
    variants[WAITING] = partial(_wait_bare, bench)
    rarely = math.ceil(bench["rounds"] / bench["peer_rounds"])
    _warm_disk(variants)
    series = interleave(
        variants, bench["rounds"], every=dict.fromkeys(peers, rarely), say=bench.say
    )
    listed = {f"{name} lists": size for name, size in sizes.items()}
    measured = [name for name in peers if name not in skipped]
    return Claim(NAME, TITLE, listed, NOTES, skipped, _figures(series, measured))


def _titled(peer: str) -> str:
    """A peer may have the name of one of our faces."""
    return f"peer {peer}"


def sample_or_skip(start: Callable[[], Sample], skipped: dict[str, str], name: str) -> Sample:
    """A sample of a peer; nothing more of it once it has failed."""
    if name not in skipped:
        try:
            return start()
        except PeerFailed as error:
            skipped[name] = str(error)
    return {}


def _server_commands(bench: Bench) -> dict[str, list[str]]:
    made = bench.installation
    commands = {name: [made.script(words[0]), words[1]] for name, words in FACES.items()}
    commands[ALL_TOOLS] = made.server("full_catalogue")
    commands[MINIMAL] = made.server("minimal_loop")
    return commands


def _warm_disk(variants: dict[str, Callable[[], Sample]]) -> None:
    """Run everything once, unmeasured, so that no variant pays for a cold disk cache."""
    for variant in variants.values():
        variant()


def _start_server(command: list[str], home: Path, sizes: dict[str, str], name: str) -> Sample:
    sample, answer = start(command, home)
    if name not in sizes:
        sizes[name] = f"{len(result_of(answer)['tools'])} tools in {len(answer)} bytes"
    return sample


def _run_bare(bench: Bench) -> Sample:
    child = Child([bench.installation.python, "-c", "pass"], bench.home)
    ending = child.wait()
    return {"whole": child.age() * 1000, "cpu": ending.cpu_seconds * 1000}


def _wait_bare(bench: Bench) -> Sample:
    code = "import os; os.write(1, b'\\n'); os.read(0, 1)"
    child = Child([bench.installation.python, "-c", code], bench.home)
    child.ask(b"")
    memory = child.peak_memory()
    ending = child.wait()
    return {"exit": ending.seconds * 1000, "memory": memory / 2**20}


def _figures(series: dict[str, Series], peers: list[str]) -> list[Figure]:
    ours = [*FACES, ALL_TOOLS]
    figures = [_against_bare(series, name, "tools/list", START_GOAL) for name in ours]
    figures += [_against_bare(series, name, "initialize", None) for name in (*FACES, ALL_TOOLS)]
    figures += [_exit_figure(series, name) for name in ours]
    figures += [_against_bare(series, name, "cpu", None) for name in ours]
    figures += [_memory_figure(series, name) for name in ours]
    figures.append(_against_bare(series, MINIMAL, "tools/list", None))
    for other in (MINIMAL, *peers):
        for metric, unit in (
            ("tools/list", "ms"),
            ("exit", "ms"),
            ("cpu", "ms"),
            ("memory", "MiB"),
        ):
            compared = compare(series[ALL_TOOLS], series[other], metric)
            figures.append(Figure(_title(metric), ALL_TOOLS, other, unit, compared))
    return figures


def _title(metric: str) -> str:
    titles = {"exit": "exit after EOF", "cpu": "processor time", "memory": "peak memory"}
    return titles.get(metric, metric)


def _against_bare(series: dict[str, Series], name: str, metric: str, goal: Goal | None) -> Figure:
    baseline_metric = "cpu" if metric == "cpu" else "whole"
    compared = compare(series[name], series[BARE], metric, baseline_metric)
    return Figure(_title(metric), name, BARE, "ms", compared, goal)


def _exit_figure(series: dict[str, Series], name: str) -> Figure:
    compared = compare(series[name], series[WAITING], "exit")
    return Figure(_title("exit"), name, WAITING, "ms", compared, EXIT_GOAL)


def _memory_figure(series: dict[str, Series], name: str) -> Figure:
    compared = compare(series[name], series[WAITING], "memory")
    return Figure(_title("memory"), name, WAITING, "MiB", compared)
