"""Child processes whose start, answers, end, processor time and memory are measured."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measurement.messages import is_answer

LONGEST_WAIT = 120.0
_CHUNK = 1 << 20
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")


class ChildFailed(Exception):
    """A measured process ended early, or said something else than expected."""


@dataclass(frozen=True)
class Ending:
    """How a process ended."""

    seconds: float
    cpu_seconds: float
    exit_code: int


def clean_environment(home: Path) -> dict[str, str]:
    """An environment without PYTHON* settings (one of them keeps bytecode from being written)."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, "HOME": str(home), "CLEW_HOME": str(home / ".clew")}


def kill_group(pid: int) -> None:
    """End a process that leads a session of its own, and what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def run_bounded(command: list[str], home: Path, longest: float) -> float:
    """Run a command to its end, its output thrown away; the seconds it took."""
    with tempfile.TemporaryFile(dir=home) as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=home,
            env=clean_environment(home),
            start_new_session=True,
        )
        try:
            code = process.wait(longest)
        except subprocess.TimeoutExpired:
            kill_group(process.pid)
            process.wait()
            raise ChildFailed(f"`{shlex.join(command)}` took more than {longest:.0f} s") from None
        seconds = time.perf_counter() - begun
        if code:
            errors.seek(0)
            said = errors.read().decode(errors="replace")[-2000:].strip()
            raise ChildFailed(f"`{shlex.join(command)}` failed: {said or f'exit code {code}'}")
    return seconds


class Child:
    """A process with pipes for standard input and output, killed when it takes far too long.

    It is killed with the processes that it started: one of them may hold its standard output.
    """

    def __init__(self, command: list[str], home: Path, longest: float = LONGEST_WAIT) -> None:
        self._command, self._longest = command, longest
        self._is_late = False
        environment = clean_environment(home)
        self._errors = tempfile.TemporaryFile(dir=home)  # noqa: SIM115 - closed in `wait`
        self.started = time.perf_counter()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                cwd=home,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.input = self._process.stdin.fileno()
        self.output = self._process.stdout.fileno()
        self._watchdog = threading.Timer(longest, self._give_up)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _give_up(self) -> None:
        self._is_late = True
        kill_group(self.pid)

    def abandon(self) -> None:
        """End it and what it started, in whatever state it is, and keep nothing open."""
        self._watchdog.cancel()
        if self._process.returncode is None:
            kill_group(self.pid)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            stream.close()

    def age(self) -> float:
        """Seconds since just before the process was spawned."""
        return time.perf_counter() - self.started

    def send(self, data: bytes) -> None:
        """Write all of the data."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.input, view) :]
        except BrokenPipeError:
            raise ChildFailed(self._last_words()) from None

    def ask(self, line: bytes) -> bytes:
        """Send one request and read until an answer's line has ended."""
        self.send(line)
        answer = os.read(self.output, _CHUNK)
        if answer.endswith(b"\n"):
            return answer
        pieces = [answer]
        while answer and not answer.endswith(b"\n"):
            answer = os.read(self.output, _CHUNK)
            pieces.append(answer)
        if not answer:
            raise ChildFailed(self._last_words())
        return b"".join(pieces)

    def ask_for(self, line: bytes, request_id: int) -> tuple[bytes, float]:
        """Send a request; the answer to it, other messages left out, and its age at arrival."""
        self.send(line)
        while True:
            said = self.ask(b"")
            arrived = self.age()
            for one in said.splitlines():
                if is_answer(one, request_id):
                    return one, arrived

    def ask_many(self, lines: list[bytes], in_flight: int) -> float:
        """Keep so many requests unanswered until all are answered; seconds that took."""
        begun = time.perf_counter()
        self.send(b"".join(lines[:in_flight]))
        sent, answered = min(in_flight, len(lines)), 0
        while answered < len(lines):
            chunk = os.read(self.output, _CHUNK)
            if not chunk:
                raise ChildFailed(self._last_words())
            ended = chunk.count(b"\n")
            answered += ended
            if ended and sent < len(lines):
                self.send(b"".join(lines[sent : sent + ended]))
                sent += ended
        return time.perf_counter() - begun

    def peak_memory(self) -> int:
        """The most bytes of memory that the living process has held; 0 where unknown.

        `ru_maxrss` is no use: Linux lets it begin with the memory of the parent that forked.
        """
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return 0
        lines = (line.split() for line in status.splitlines() if line.startswith("VmHWM:"))
        return next((int(words[1]) * 1024 for words in lines), 0)

    def wait(self) -> Ending:
        """Close standard input and wait for the end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begun = time.perf_counter()
        self._process.stdin.close()
        _, status, usage = os.wait4(self.pid, 0)
        seconds = time.perf_counter() - begun
        self._watchdog.cancel()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._process.stdout.close()
        with self._errors:
            if self._process.returncode:
                raise ChildFailed(self._last_words())
        return Ending(seconds, usage.ru_utime + usage.ru_stime, self._process.returncode)

    def _last_words(self) -> str:
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")[-2000:].strip()
        how = f"took more than {self._longest:.0f} s" if self._is_late else "failed"
        return f"`{shlex.join(self._command)}` {how}: {said or 'it said nothing'}"
