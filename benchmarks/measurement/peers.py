"""Other people's servers: where they are, whether they answer, and how they are measured."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.install import SERVERS
from benchmarks.measurement.messages import INITIALIZED, initialize, request, result_of
from benchmarks.measurement.process import LONGEST_WAIT, Child, ChildFailed, run_bounded
from benchmarks.measurement.sampling import Sample

PACKAGES = {"mcp": "sdk_server", "fastmcp": "fastmcp_server"}
# The servers of the original systems, as they are started.
ORIGINALS = {"chant": "mcp", "commitmux": "serve", "climpt": "mcp", "clariad": "serve"}
COMMITMUX = "commitmux"
LONGEST_START = 15.0
LONGEST_SYNC = 300.0
NOTE = (
    "Peers: packages run in the runner's own environment with one tool and their logging off. "
    "Programs of the original systems on PATH, and those named by --peer NAME=COMMAND, run with "
    "an empty home and directory. A peer that is missing, fails or is too slow is skipped."
)
_BEGINNING = 4096


class PeerFailed(Exception):
    """Why a peer cannot be measured."""


@dataclass
class Peers:
    """The commands of peers that answer, by name, and why others do not."""

    commands: dict[str, list[str]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def installed_peers() -> Peers:
    """The servers made with packages that are installed beside the runner."""
    peers = Peers()
    for package, script in PACKAGES.items():
        if find_spec(package) is None:
            peers.skipped[package] = f"{package} is not installed"
        else:
            name = f"{package} {_version(package)}"
            peers.commands[name] = [sys.executable, str(SERVERS / f"{script}.py")]
    return peers


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def read_peers(words: Iterable[str]) -> dict[str, list[str]]:
    """The commands that `--peer NAME=COMMAND` names."""
    peers: dict[str, list[str]] = {}
    for word in words:
        name, _, line = word.partition("=")
        command = shlex.split(line)
        if not name or not command:
            raise ValueError(f"not a peer's name and command: {word} (as in NAME='program serve')")
        if name in peers:
            raise ValueError(f"two peers have the name {name}")
        if "/" in command[0]:
            command[0] = str(Path(command[0]).absolute())
        peers[name] = command
    return peers


def programs(bench: Bench) -> Peers:
    """The peers that were named or found on PATH and answer; each is tried once in a run."""
    return bench.workshop.once("peers", lambda: _tried(bench))


def _tried(bench: Bench) -> Peers:
    candidates = {**found_on_path([Path(sys.prefix), bench.home]), **bench.workshop.peers}
    peers = Peers()
    for name, command in candidates.items():
        bench.say(f"trying {name}")
        try:
            prepare(name, command, home_of(bench, name))
            try_once(command, home_of(bench, name))
        except PeerFailed as error:
            peers.skipped[name] = str(error)
        else:
            peers.commands[name] = command
    return peers


def home_of(bench: Bench, name: str) -> Path:
    """Home and working directory of a peer."""
    home = bench.home / "peers" / name.replace("/", "-")
    home.mkdir(parents=True, exist_ok=True)
    return home


def found_on_path(ours: Iterable[Path], path: str | None = None) -> dict[str, list[str]]:
    """The original systems' programs, unless what is found is this very program."""
    found = {}
    for name, word in ORIGINALS.items():
        program = shutil.which(name, path=path)
        if program and not is_ours(Path(program), ours):
            found[name] = [program, word]
    return found


def is_ours(program: Path, ours: Iterable[Path]) -> bool:
    """Whether a program is one of our console scripts, here or in another environment."""
    places = [program.absolute().parent, program.resolve().parent]
    homes = {home.resolve() for home in ours}
    if any(home == place or home in place.resolve().parents for place in places for home in homes):
        return True
    with program.open("rb") as file:
        beginning = file.read(_BEGINNING)
    return beginning.startswith(b"#!") and b"clew" in beginning


def prepare(name: str, command: list[str], home: Path) -> None:
    """Make what a server needs before it starts: commitmux refuses without a database."""
    if name == COMMITMUX and command[-1] == "serve":
        _run([*command[:-1], "init"], home, LONGEST_START)


def try_once(command: list[str], home: Path) -> None:
    """Start it, ask for its tools and end it, within a bounded time."""
    start(command, home, LONGEST_START)


def start(command: list[str], home: Path, longest: float = LONGEST_WAIT) -> tuple[Sample, bytes]:
    """A cold start, measured, and the list of tools; raises PeerFailed, leaves nothing running."""
    try:
        child = Child(command, home, longest)
    except OSError as error:
        raise PeerFailed(f"{command[0]} cannot be run: {error.strerror or error}") from None
    try:
        welcome, initialized = child.ask_for(initialize(), 0)
        result_of(welcome)
        answer, listed = child.ask_for(INITIALIZED + request(1, "tools/list"), 1)
        result_of(answer)["tools"]
        memory = child.peak_memory()
        ending = child.wait()
    except (ChildFailed, OSError, ValueError, KeyError, TypeError) as error:
        child.abandon()
        raise PeerFailed(_in_short(str(error))) from None
    sample = {
        "initialize": initialized * 1000,
        "tools/list": listed * 1000,
        "exit": ending.seconds * 1000,
        "cpu": ending.cpu_seconds * 1000,
        "memory": memory / 2**20,
    }
    return sample, answer


def _run(command: list[str], home: Path, longest: float) -> float:
    try:
        return run_bounded(command, home, longest)
    except ChildFailed as error:
        raise PeerFailed(_in_short(str(error))) from None
    except OSError as error:
        raise PeerFailed(f"{command[0]} cannot be run: {error.strerror or error}") from None


def _in_short(text: str) -> str:
    lines = " ".join(text.split())
    return lines if len(lines) <= 300 else f"{lines[:300]}..."


def sync_with(command: list[str], home: Path, repository: Path) -> float:
    """The seconds of a commitmux's own first sync, into an index of its own."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    program, index = command[:-1], ["--db", str(home / "index.sqlite3")]
    _run([*program, "init", *index], home, LONGEST_START)
    named = [str(repository), "--name", "measured"]
    _run([*program, "add-repo", *named, *index], home, LONGEST_START)
    return _run([*program, "sync", *index], home, LONGEST_SYNC)


def of_commitmux(peers: Mapping[str, list[str]]) -> list[str] | None:
    """The command of a commitmux among the peers, if it is started as the original is."""
    command = peers.get(COMMITMUX)
    return command if command and command[-1] == "serve" else None
