"""Faults for real processes: kills and errors at a system call, full and read-only disks, clocks.

Kills and errors are injected by strace, so that they hit SQLite and git as well as Python, and
always at the same place.
"""

from __future__ import annotations

import functools
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
CLOCK = Path(__file__).with_name("clock")
SECONDS = 120
# What changes something on a disk; `write` also is what a program says.
CHANGING = (
    "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "renameat", "renameat2",
    "link", "linkat", "unlink", "unlinkat", "mkdir",
)  # fmt: skip
KILL = "signal=SIGKILL"
EIO = "error=EIO"
ENOSPC = "error=ENOSPC"
_CALL = re.compile(r"^(\d+)\s+(\w+)\(")


@dataclass(frozen=True)
class Step:
    """The nth time that one process makes this system call."""

    call: str
    number: int


def python(code, *arguments):
    """The command that runs this code."""
    return [sys.executable, "-c", code, *map(str, arguments)]


def run(command, *, env=None, limits=None, timeout=SECONDS, cwd=ROOT):
    """Run a command to its end."""
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        preexec_fn=_limiting(limits),
    )


def _limiting(limits):
    return (lambda: resource.setrlimit(*limits)) if limits else None


def start(command, *, env=None, limits=None):
    """Start a command."""
    return subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        preexec_fn=_limiting(limits),  # noqa: PLW1509 - nothing but a system call runs there
    )


def ended(process, seconds=SECONDS):
    """Exit code and standard error of a process that ends by itself."""
    _, said = process.communicate(timeout=seconds)
    return process.returncode, said


@functools.cache
def _why_no_strace():
    if not shutil.which("strace"):
        return "strace is not installed"
    words = ["strace", "-f", "-e", "trace=write", "-e", "inject=write:error=EIO:when=1"]
    tried = subprocess.run([*words, "-o", os.devnull, "echo"], capture_output=True, check=False)
    return "" if tried.returncode == 1 else "strace cannot trace processes here"


def need_strace():
    """Skip where no fault can be injected."""
    if reason := _why_no_strace():
        pytest.skip(reason)


def steps_of(command, scratch, calls=CHANGING, **how):
    """Every step of a command that changes something on a disk, in a run without faults."""
    trace = scratch / "trace"
    words = ["strace", "-f", "-qq", "-e", f"trace={','.join(calls)}", "-o", trace]
    done = run([*words, *command], **how)
    assert done.returncode == 0, done.stderr
    most = Counter()
    for (_, call), count in Counter(
        found.groups() for line in trace.read_text().splitlines() if (found := _CALL.match(line))
    ).items():
        most[call] = max(most[call], count)
    return [Step(call, number + 1) for call in calls for number in range(most[call])]


def run_with(fault, step, command, **how):
    """Run a command into a fault at this step."""
    inject = f"inject={step.call}:{fault}:when={step.number}"
    words = ["strace", "-f", "-qq", "-e", f"trace={step.call}", "-e", inject, "-o", os.devnull]
    return run([*words, *command], **how)


def traced_into(fault, when, calls, command):
    """A command that lives on under its own number while these calls of it fail at these times."""
    words = ["strace", "-D", "-f", "-qq", "-e", f"trace={','.join(calls)}", "-o", os.devnull]
    injected = [word for call in calls for word in ("-e", f"inject={call}:{fault}:when={when}")]
    return [*words, *injected, *map(str, command)]


def unprivileged(command):
    """The command by somebody who may only do what a file's mode says, whoever runs the tests."""
    if os.geteuid():
        return command
    if not shutil.which("setpriv"):
        pytest.skip("giving up rights needs setpriv")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]


def numbered_anew(command):
    """The command where processes are numbered from 1 again, as in a container."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    try:
        tried = subprocess.run([*words, "true"], capture_output=True, check=False).returncode
    except FileNotFoundError:
        tried = 1
    if tried:
        pytest.skip("numbering processes anew needs root and unshare")
    return [*words, *map(str, command)]


def chosen(dice, steps, count):
    """So many of the steps, the same for the same dice."""
    if len(steps) <= count:
        return list(steps)
    return [steps[number] for number in sorted(dice.sample(range(len(steps)), count))]


def assert_civil(done):
    """A refusal in words: an exit code, a message, and no traceback."""
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in {0, 1, 2}, (done.returncode, done.stderr)
    if done.returncode:
        assert done.stderr.strip() or done.stdout.strip()


class Disk:
    """A small file system that can be filled up and made read-only."""

    def __init__(self, path):
        self.path = path
        self._ballast = path / "ballast"

    def leave(self, free):
        """Fill it up, so that so many bytes are left."""
        self.empty()
        with self._ballast.open("wb") as stream:
            for _ in range(100):
                with suppress(OSError):  # somebody else took some of it meanwhile
                    os.posix_fallocate(stream.fileno(), 0, max(self.free() - free, 1))
                    return
        raise AssertionError("the disk cannot be filled up")

    def free(self):
        """How many bytes can still be written."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def empty(self):
        """Give the space back."""
        self._ballast.unlink(missing_ok=True)

    @contextmanager
    def read_only(self):
        """Refuse to open anything for a change for a while; what is open already may go on."""
        _mount("--bind", self.path, self.path)
        try:
            # Refused while somebody writes to a file that was opened since.
            words = ("-o", "remount,bind,ro", self.path)
            wait_until(lambda: _mount(*words, check=False).returncode == 0)
            yield
        finally:
            _unmount(self.path)


@contextmanager
def small_disk(path, megabytes=16):
    """A disk of its own at this path; skipped where none can be mounted."""
    path.mkdir(parents=True)
    tried = _mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", path, check=False)
    if tried.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield Disk(path)
    finally:
        _unmount(path)


def _mount(*words, check=True):
    command = ["mount", *map(str, words)]
    try:
        return subprocess.run(command, capture_output=True, check=check)
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 1)


def _unmount(path):
    for _ in range(100):
        if subprocess.run(["umount", str(path)], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.05)
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def clock(shift):
    """The environment of a Python whose clock is off by so many seconds, or by those in a file."""
    return {"PYTHONPATH": str(CLOCK), "SHIFTED_CLOCK": str(shift)}


def turn(file, seconds):
    """Let the clocks that follow this file jump."""
    fresh = file.with_suffix(".new")
    fresh.write_text(str(seconds), encoding="ascii")
    fresh.replace(file)
    return file


def processes_in(home):
    """Everything that lives and has this home: what a test started, and what that started."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            is_dead = process.status() == psutil.STATUS_ZOMBIE
            if not is_dead and process.environ().get("HOME") == str(home):
                found.append(process)
    return found


def mounts_below(path):
    """Where something is still mounted."""
    lines = Path("/proc/mounts").read_text().splitlines() if Path("/proc/mounts").exists() else []
    return [place for place in (line.split()[1] for line in lines) if place.startswith(f"{path}/")]


def is_stopped(pid):
    """Whether a process was stopped by a signal."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"T", "t"}
