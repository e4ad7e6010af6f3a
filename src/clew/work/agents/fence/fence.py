"""A fence around an agent: it writes to its worktree and what a commit needs, and sees no home.

The system is readable, the user's home is not, but for the agent's own configuration; the network is
open, or closed but for named hosts. Bubblewrap does this on Linux, sandbox-exec on macOS. The home
inside is a directory of the run: what an agent writes there never reaches the real one, and is named
in the run's log.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clew.kit.errors import Unavailable
from clew.kit.files import private_directory
from clew.kit.paths import ProjectPaths
from clew.kit.project import clew_home
from clew.specs.store.config import Config, user_config
from clew.specs.store.settings import SANDBOXES
from clew.work.agents.fence.gateway import proxy_variables
from clew.work.agents.fence.network import Hosts, Proxy
from clew.work.agents.programs import agent_named
from clew.work.model import AgentChoice, Run
from clew.work.paths import git_common_directory
from clew.work.processes.identity import FENCE_VARIABLE

OFF, WORKTREE, STRICT = SANDBOXES
_PROBE_SECONDS = 20
_MOST_NAMED = 10
_REFUSED_WRITES = ("Read-only file system", "EROFS")
_REFUSED_CONNECTIONS = (
    "Network is unreachable", "ENETUNREACH", "EAI_AGAIN", "Could not resolve host",
    "Temporary failure in name resolution",
)  # fmt: skip
# Whoever may write to these can do everything.
_SOCKETS = ("/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
_INTERPRETERS = ("node", "python3", "git")
_GIT_SETTINGS = (".gitconfig", ".config/git")
_UNTOLD = (".cache", ".npm", ".clew", ".config", ".local")  # what programs keep for themselves
_XDG = {
    ".config": "XDG_CONFIG_HOME",
    ".local/share": "XDG_DATA_HOME",
    ".local/state": "XDG_STATE_HOME",
    ".cache": "XDG_CACHE_HOME",
}


@dataclass(frozen=True)
class Fence:
    """The words before an agent's own, its variables, its home, and what is said about it."""

    note: str
    words: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    home: Path | None = None
    own: frozenset[str] = frozenset()  # files in the home that the agent may write
    proxy: Proxy | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the agent's process inherits besides its input and output."""
        return (self.proxy.descriptor,) if self.proxy is not None else ()

    def refusal(self, line: str) -> str | None:
        """What a line of output tells that was out of bounds."""
        if self.words and any(word in line for word in _REFUSED_WRITES):
            return "a write"
        if self.proxy is not None and any(word in line for word in _REFUSED_CONNECTIONS):
            return "a connection"
        return None

    def refused_hosts(self) -> list[str]:
        """The hosts that the proxy refused since the last look."""
        return self.proxy.refused() if self.proxy is not None else []

    def take_down(self) -> list[str]:
        """Close the network, remove the home inside; the files that were kept from the real one."""
        if self.proxy is not None:
            self.proxy.close()
        if self.home is None:
            return []
        kept = sorted(name for name in _strange_files(self.home) if name not in self.own)
        shutil.rmtree(self.home, ignore_errors=True)
        return kept[:_MOST_NAMED]


def sandbox_of(name: str, permission: str, asked: str | None) -> str:
    """Whether an agent is fenced: as asked, else as the user's own settings say, else as usual."""
    config = user_config()
    said = asked or config.text("work", "sandboxes", name) or config.text("work", "sandbox")
    if said:
        return said
    agent = agent_named(name)
    has_own = permission in agent.fenced_itself
    return WORKTREE if agent.own is not None and not has_own else OFF


def fence_of(
    paths: ProjectPaths, run: Run, worktree: Path, git_directories: Iterable[str]
) -> Fence:
    """The fence of a run's agent; where none can be had, why. A strict one is never left out.

    The first of the git directories is the worktree's own.
    """
    choice = run.plan.agent
    if choice.sandbox not in (WORKTREE, STRICT):
        if choice.permission in agent_named(choice.name).fenced_itself:
            return Fence(f"no fence of Clew: {choice.name} has a sandbox of its own")
        return Fence("no fence: the agent can write wherever its user can")
    reason = _why_none(choice.sandbox)
    if Path.home().is_relative_to(paths.root):
        reason = "the project contains the home directory"
    if reason is not None and choice.sandbox == STRICT:
        hint = "Choose --sandbox worktree or off."
        raise Unavailable(f"No fence can be had, and a strict one is asked for: {reason}", hint)
    if reason is not None:
        return Fence(f"no fence: {reason}; the agent can write wherever its user can")
    hosts = Hosts(user_config().words("work", "sandbox_hosts"))
    proxy = Proxy(hosts) if choice.sandbox == STRICT else None
    home = private_directory(paths.run_directory(run.run_id) / "fence")
    places = _Places(paths.root, worktree, choice, run.plan.program, tuple(git_directories))
    is_linux = sys.platform == "linux"
    words = _bubblewrap(places, home, proxy) if is_linux else _sandbox_exec(places, proxy)
    note = "fenced in: writes go to the worktree and its branch, the home is hidden"
    if proxy is not None:
        named = ", ".join(hosts.words) or "none, since work.sandbox_hosts names none"
        note += f"; the network is closed but for these hosts: {named}"
    variables = {FENCE_VARIABLE: choice.sandbox, "TMPDIR": "/tmp"}  # noqa: S108
    own = frozenset(name for name in agent_named(choice.name).own or ())
    return Fence(note, tuple(words), variables, home, own, proxy)


def _why_none(level: str = WORKTREE) -> str | None:
    """Why there is no fence on this machine; None if there is one."""
    if sys.platform == "darwin":
        return None if shutil.which("sandbox-exec") else "sandbox-exec is not there"
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed (`bwrap`)"
    try:
        tried = subprocess.run(
            [program, *_unshared(level), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"],
            capture_output=True, text=True, check=False, timeout=_PROBE_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not run ({error})"
    said = (tried.stderr.strip().splitlines() or ["it failed"])[-1]
    return None if tried.returncode == 0 else f"bubblewrap does not run here ({said})"


def _unshared(level: str) -> list[str]:
    return ["--unshare-pid", *(["--unshare-net"] if level == STRICT else [])]


@dataclass(frozen=True)
class _Places:
    """What of the disk an agent needs, to read and to write."""

    root: Path
    worktree: Path
    choice: AgentChoice
    program: str
    git_directories: tuple[str, ...]

    def hidden(self) -> list[Path]:
        """What is not seen: the home, Clew's own, temporary files, the sockets of the session.

        Where the network is closed, those of the system's services, too: some of them would ask it.
        """
        runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        sockets = Path("/run" if self.choice.sandbox == STRICT else runtime)
        found = [Path("/tmp"), Path("/var/tmp"), sockets, clew_home()]  # noqa: S108
        return [place for place in found if place.is_dir()]

    def readable(self) -> list[Path]:
        """What is read and may be in a hidden place."""
        import clew

        config, home = user_config(), Path.home()
        named = [self.program, *(shutil.which(name) or "" for name in _INTERPRETERS)]
        found = [place for name in named if name for place in _installation(Path(name))]
        found += [Path(sys.prefix), Path(sys.base_prefix), Path(clew.__file__).parents[1]]
        found += [Path(name) for name in os.environ.get("PATH", "").split(os.pathsep) if name]
        found += [home / name for name in _GIT_SETTINGS]
        found += _named_by("GIT_CONFIG_GLOBAL", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")
        found += _extra(config, "sandbox_read")
        return [*found, self.root, git_common_directory(self.root)]

    def writable(self) -> list[Path]:
        """What is written: the worktree, what a commit writes, the specs, the agent's own."""
        chant = self.root / ".chant"
        own = agent_named(self.choice.name).own or ()
        found = [self.worktree, *map(Path, self.git_directories)]
        found += [chant / "specs", chant / ".store", chant / "archive"]
        found += [_own_place(name) for name in own if name.endswith("/")]
        found += _named_by(*(name for name in own if name.isupper()))
        return [*found, *_extra(user_config(), "sandbox_write")]

    def sealed(self) -> list[Path]:
        """What stays as it is though it lies among what is written: the journal, the way to settings.

        Those that git finds from the worktree could name programs, which Clew's own git would run.
        """
        journal = ProjectPaths(self.root).journal
        found = [journal.with_name(journal.name + end) for end in ("", "-wal", "-shm")]
        for directory in map(Path, self.git_directories[:1]):
            settings = directory / "config.worktree"
            settings.touch()  # what is not there could be made
            found += [self.worktree / ".git", directory / "commondir", directory / "gitdir"]
            found.append(settings)
        return found

    def copied(self) -> Iterator[Path]:
        """The agent's own files; they are replaced whole, which a mounted file does not allow."""
        for name in agent_named(self.choice.name).own or ():
            if not name.endswith("/") and not name.isupper():
                yield _own_place(name)


def _bubblewrap(places: _Places, inside: Path, proxy: Proxy | None) -> list[str]:
    home = Path.home()
    words = [
        str(shutil.which("bwrap")), *_unshared(places.choice.sandbox), "--ro-bind", "/", "/",
        "--dev", "/dev", "--proc", "/proc",
    ]  # fmt: skip
    for place in places.hidden():
        words += ["--tmpfs", str(place)]
    words += ["--bind", str(inside), str(home)]
    covered = [*places.hidden(), home]
    for place in _outermost(places.readable(), covered):
        words += ["--ro-bind-try", str(place), str(place)]
    for file in places.copied():
        target = inside / file.relative_to(home) if file.is_relative_to(home) else None
        if target is not None and file.is_file():
            private_directory(target.parent)
            shutil.copy2(file, target)
    for place in places.writable():
        words += ["--bind-try", str(place), str(place)]
    for place in places.sealed():
        words += ["--ro-bind-try", str(place), str(place)]
    for name in _SOCKETS:
        if Path(name).exists() and proxy is None:
            words += ["--ro-bind", "/dev/null", str(Path(name).resolve())]
    behind = proxy.gateway() if proxy is not None else []
    return [*words, "--chdir", str(places.worktree), "--", *behind]


def _sandbox_exec(places: _Places, proxy: Proxy | None) -> list[str]:
    def listed(found: Iterable[Path]) -> str:
        quoted = (str(one.resolve()).replace("\\", "\\\\").replace('"', '\\"') for one in found)
        return " ".join(f'(subpath "{text}")' for text in dict.fromkeys(quoted))

    temporary = [Path("/private/tmp"), Path("/private/var/folders"), Path("/dev")]
    writable = [*places.writable(), *places.copied(), *temporary]
    profile = (
        "(version 1)(allow default)(deny file-write*)"
        f"(allow file-write* {listed(writable)})"
        f"(deny file-write* {listed(places.sealed())})"
        f"(deny file-read-data {listed([Path.home(), clew_home()])})"
        f"(allow file-read-data {listed([*places.readable(), *writable])})"
    )
    if proxy is None:
        return ["sandbox-exec", "-p", profile]
    port = proxy.listen_here()
    allowed = " ".join(f'(remote ip "localhost:{one}")' for one in (port, *proxy.local_ports()))
    profile += f"(deny network*)(allow network-outbound {allowed})"
    settings = [f"{name}={value}" for name, value in proxy_variables(port).items()]
    return ["sandbox-exec", "-p", profile, "/usr/bin/env", *settings]


def _installation(program: Path) -> Iterator[Path]:
    """Where a program and what it loads are: its prefix, or the modules around it."""
    for file in dict.fromkeys((program.absolute(), program.resolve())):
        yield file.parent
        around = [one for one in file.parents if one.name == "node_modules"]
        yield from around[-1:]
        prefix = file.parent.parent
        if file.parent.name == "bin" and prefix not in (Path.home(), Path.home() / ".local"):
            yield prefix


def _own_place(name: str) -> Path:
    """A place in the home; a directory is made, so that what is written there stays."""
    for begin, variable in _XDG.items():
        named = os.environ.get(variable)
        if named and name.startswith(f"{begin}/"):
            place = Path(named) / name.removeprefix(f"{begin}/")
            break
    else:
        place = Path.home() / name
    if name.endswith("/"):
        with suppress(OSError):  # then the agent has to do without
            private_directory(place)
    return place


def _named_by(*variables: str) -> list[Path]:
    return [Path(text) for name in variables if (text := os.environ.get(name))]


def _extra(config: Config, key: str) -> list[Path]:
    return [Path(text).expanduser() for text in config.words("work", key)]


def _outermost(found: Iterable[Path], covered: list[Path]) -> list[Path]:
    """The places that are in a covered one, each once; none of them uncovers all of it."""
    kept: list[Path] = []
    for place in sorted({one.absolute() for one in found}, key=lambda one: len(one.parts)):
        is_covered = any(place.is_relative_to(one) for one in covered)
        uncovers = any(one.is_relative_to(place) for one in covered)
        if is_covered and not uncovers and not any(place.is_relative_to(one) for one in kept):
            kept.append(place)
    return kept


def _strange_files(home: Path) -> Iterator[str]:
    for directory, names, files in os.walk(home):
        place = Path(directory).relative_to(home)
        names[:] = [name for name in names if str(place / name) not in _UNTOLD]
        for name in files:
            file = Path(directory) / name
            if file.is_file() and not file.is_symlink() and file.stat().st_size:
                yield str(place / name)
