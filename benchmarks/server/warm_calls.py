"""Calls to a running server: latency one by one, throughput with several in flight, memory."""

from __future__ import annotations

import time

from benchmarks.bench import Bench
from benchmarks.measurement.install import HOW
from benchmarks.measurement.messages import INITIALIZED, call_echo, initialize, result_of
from benchmarks.measurement.peers import NOTE, installed_peers
from benchmarks.measurement.process import Child, ChildFailed
from benchmarks.measurement.sampling import (
    Sample,
    Series,
    compare,
    in_turns,
    no_collection,
    percentile,
)
from benchmarks.results.report import Claim, Figure, Goal

NAME = "warm_calls"
TITLE = "Warm calls: tools/call on a running stdio server"
FULL = {
    "processes": 7,
    "peer_processes": 7,
    "calls": 2000,
    "block": 100,
    "in_flight": 8,
    "large_calls": 30,
}
QUICK = {
    "processes": 3,
    "peer_processes": 1,
    "calls": 300,
    "block": 100,
    "in_flight": 8,
    "large_calls": 5,
}

MINIMAL = "minimal loop"
KERNEL = "clew kernel"
CATALOGUE = "clew catalogue"
GOAL = Goal(1.5)
WARM_UP = 50
BUSY_BLOCKS = 5
SAID = "how do you do?"
LARGE = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20}
ROWS = [
    ("call, p50", "p50", "us"),
    ("call, p90", "p90", "us"),
    ("call, p99", "p99", "us"),
    ("per call, several in flight", "busy", "us"),
    ("peak memory", "memory", "MiB"),
]
LARGE_ROWS = [
    *((f"call, {size} there and back", size, "us") for size in LARGE),
    ("peak memory after large calls", "grown memory", "MiB"),
]
FAIRNESS_NOTE = (
    "Every server answers the same call with the same result, which is checked. The minimal loop "
    "is benchmarks/servers/minimal_loop.py: no threads, no checks, no cancellation. `clew kernel` "
    "has one tool and checks nothing either; `clew catalogue` finds the tool among all declared "
    "ones, checks its arguments against the schema and runs the handler."
)
SAMPLE_NOTE = (
    "All servers of a round live at the same time and are called in turns, block by block. A sample "
    "is one process: its percentiles over all its calls, its time per call with several in flight, "
    "its peak memory (VmHWM) after these and again after the large calls."
)
NOTES = [HOW, FAIRNESS_NOTE, SAMPLE_NOTE, NOTE]


def run(bench: Bench) -> Claim:
    """Measure the minimal loop, the kernel, the catalogue and the peers in turns."""
    peers = installed_peers()
    made = bench.installation
    commands = {
        MINIMAL: made.server("minimal_loop"),
        KERNEL: made.server("clew_kernel"),
        CATALOGUE: made.server("clew_catalogue"),
        **peers.commands,
    }
    series: dict[str, Series] = {name: {} for name in commands}
    most = bench["peer_processes"]
    for number, names in in_turns(list(commands), bench["processes"]):
        bench.say(f"processes {number + 1} of {bench['processes']}")
        there = [name for name in names if number < most or name not in peers.commands]
        for name, sample in _measure_generation(bench, commands, there).items():
            series[name][number] = sample
    sizes = {
        "calls": f"{bench['processes']} processes x {bench['calls']} sequential calls, "
        f"{bench['calls']} with {bench['in_flight']} in flight, "
        f"{bench['large_calls']} of each large size",
        "request": f"{len(call_echo(1, SAID))} bytes",
    }
    return Claim(NAME, TITLE, sizes, NOTES, peers.skipped, _figures(series, list(peers.commands)))


def _measure_generation(
    bench: Bench, commands: dict[str, list[str]], names: list[str]
) -> dict[str, Sample]:
    """One process of each server, called in turns."""
    servers = {name: _start(commands[name], bench) for name in names}
    with no_collection():
        latencies = _sequential(bench, servers)
        busy = _in_flight(bench, servers)
        memory = _memory(servers)
        large = _large_answers(bench, servers)
    grown = _memory(servers)
    samples: dict[str, Sample] = {}
    for name, server in servers.items():
        sample = {f"p{p}": percentile(latencies[name], p) for p in (50, 90, 99)}
        sample |= {"busy": busy[name], "memory": memory[name], "grown memory": grown[name]}
        samples[name] = sample | large[name]
        server.wait()
    return samples


def _memory(servers: dict[str, Child]) -> dict[str, float]:
    return {name: server.peak_memory() / 2**20 for name, server in servers.items()}


def _start(command: list[str], bench: Bench) -> Child:
    server = Child(command, bench.home)
    server.ask(initialize())
    server.send(INITIALIZED)
    for number in range(WARM_UP):
        answer = server.ask(call_echo(number, SAID))
    _check_answer(command, answer)
    return server


def _check_answer(command: list[str], answer: bytes) -> None:
    result = result_of(answer)
    said = (result["content"], result.get("isError"), result.get("structuredContent"))
    if said != ([{"type": "text", "text": SAID}], False, {"result": SAID}):
        raise ChildFailed(f"{command!r} answered {answer!r}")


def _sequential(bench: Bench, servers: dict[str, Child]) -> dict[str, list[float]]:
    """Microseconds of each call, a block from every server in turn."""
    latencies: dict[str, list[float]] = {name: [] for name in servers}
    lines = [call_echo(number, SAID) for number in range(bench["calls"])]
    blocks = range(0, len(lines), bench["block"])
    for (_, names), start in zip(in_turns(list(servers), len(blocks)), blocks, strict=True):
        for name in names:
            latencies[name] += _timed(servers[name], lines[start : start + bench["block"]])
    return latencies


def _timed(server: Child, lines: list[bytes]) -> list[float]:
    taken = []
    clock, ask = time.perf_counter_ns, server.ask
    for line in lines:
        begun = clock()
        ask(line)
        taken.append((clock() - begun) / 1000)
    return taken


def _in_flight(bench: Bench, servers: dict[str, Child]) -> dict[str, float]:
    """Microseconds per call while several are under way."""
    seconds = dict.fromkeys(servers, 0.0)
    lines = [call_echo(number, SAID) for number in range(bench["calls"])]
    size = bench["block"] * BUSY_BLOCKS
    blocks = range(0, len(lines), size)
    for (_, names), start in zip(in_turns(list(servers), len(blocks)), blocks, strict=True):
        for name in names:
            block = lines[start : start + size]
            seconds[name] += servers[name].ask_many(block, bench["in_flight"])
    return {name: taken * 1e6 / len(lines) for name, taken in seconds.items()}


def _large_answers(bench: Bench, servers: dict[str, Child]) -> dict[str, Sample]:
    """Median microseconds of calls that carry a long text there and back."""
    samples: dict[str, Sample] = {name: {} for name in servers}
    for title, size in LARGE.items():
        lines = [call_echo(number, "x" * size) for number in range(bench["large_calls"])]
        taken: dict[str, list[float]] = {name: [] for name in servers}
        for number, names in in_turns(list(servers), len(lines)):
            for name in names:
                taken[name] += _timed(servers[name], [lines[number]])
        for name, values in taken.items():
            samples[name][title] = percentile(values, 50)
    return samples


def _figures(series: dict[str, Series], peers: list[str]) -> list[Figure]:
    figures: list[Figure] = []
    for subject in (KERNEL, CATALOGUE):
        figures += [_figure(series, subject, MINIMAL, row, GOAL) for row in ROWS]
        figures += [_figure(series, subject, MINIMAL, row, None) for row in LARGE_ROWS]
    for peer in peers:
        figures += [_figure(series, CATALOGUE, peer, row, None) for row in ROWS]
    return figures


def _figure(
    series: dict[str, Series],
    subject: str,
    baseline: str,
    row: tuple[str, str, str],
    goal: Goal | None,
) -> Figure:
    title, metric, unit = row
    compared = compare(series[subject], series[baseline], metric)
    return Figure(title, subject, baseline, unit, compared, goal)
