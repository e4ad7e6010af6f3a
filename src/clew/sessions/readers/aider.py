"""aider: `.aider.chat.history.md` in the repository; times are in `.aider.input.history` beside it."""

from __future__ import annotations

import os
import re
import time as clock
from collections.abc import Iterator
from hashlib import blake2b

from clew.kit.files import open_regular
from clew.sessions.model import Command, Edit, Event, Header, Request, Usage, Words
from clew.sessions.readers.changes import edit_of_texts
from clew.sessions.readers.interface import Progress, Source, Surroundings
from clew.sessions.readers.lines import LineReader

HISTORY = ".aider.chat.history.md"
_INPUTS = ".aider.input.history"
_STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_SEARCH, _MIDDLE, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_APPLIED = re.compile(r"> Applied edit to (.+?)\s*$")
_COMMIT = re.compile(r"> Commit ([0-9a-f]{7,40}) ")
_MODEL = re.compile(r"> (?:Main model|Model): (\S+)")
_VERSION = re.compile(r"> Aider v(\S+)")
_COST = re.compile(r"Tokens: ([\d.]+)(k?) sent,.*?([\d.]+)(k?) received.*?Cost: \$([\d.]+) message")
_MOST_INPUTS = 2_000_000


class AiderReader(LineReader):
    """A Markdown file that many sessions append to: `####` lines are a person's, blocks are edits."""

    name, title = "aider", "aider"

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """The history of each project that was opened."""
        for project in around.projects:
            path = project / HISTORY
            try:
                found = path.lstat()
            except OSError:
                continue
            yield Source(self.name, str(path), "", found.st_size, found.st_mtime_ns)

    def begin(self, source: Source, state: dict[str, object]) -> None:
        """Go on in the middle of a session."""
        super().begin(source, state)
        self._root = str(source.path.parent)
        self._started = float(str(state.get("started") or 0))
        self._number = int(str(state.get("number") or 0))
        self._asked: list[str] = []
        self._blocks: list[Edit] = []  # of the last answer that was complete
        self._fresh: list[Edit] = []
        self._last = ""  # the line before a fence names the file
        self._block: tuple[list[str], list[str]] | None = None
        self._is_new_text = False
        self._times = _input_times(source)

    @property
    def _uid(self) -> str:
        """When the chat began, and in which project."""
        digest = blake2b(self._root.encode("utf-8", "replace"), digest_size=4).hexdigest()
        return f"{int(self._started)}-{digest}"

    def state(self) -> dict[str, object]:
        """The session that the file ends in."""
        again = len(self.waiting)  # the last request is read once more, with what follows it
        return {"started": self._started, "number": max(self._number - again, 0)}

    def read(self, source: Source, progress: Progress) -> Iterator[Event]:
        """The events since; the file begins with another chat than the one it is read on in."""
        if progress.state.get("started"):
            self.begin(source, progress.state)
            yield Header(self._uid, self._root)
        yield from super().read(source, progress)

    def _events(self, line: bytes) -> Iterator[Event]:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        return iter(list(self._line(text)))

    def record(self, record: dict[str, object]) -> Iterator[Event]:
        """There are no records in Markdown."""
        return iter(())

    def _line(self, text: str) -> Iterator[Event]:
        if self._block is not None:
            self._inside(text)
            return
        started = _STARTED.match(text)
        if started:
            yield from self._asking()
            self.waiting = {}
            self._started = _local(started[1])
            self._number = 0
            yield Header(self._uid, self._root)
        elif text.startswith("#### "):
            if not self._asked:
                self.waiting = {}
                self.called("request", "", {}, 0.0)
            self._asked.append(text.removeprefix("#### ").rstrip())
        elif text.startswith(_SEARCH):
            yield from self._asking()
            self._block, self._is_new_text = ([], []), False
        elif text.startswith("> "):
            yield from self._asking()
            yield from self._noted(text)
        else:
            yield from self._asking()
            if text.strip() and not text.startswith("```"):
                self._last = text.strip()
                yield Words(text)

    def _asking(self) -> Iterator[Event]:
        """The request that just ended; commands of the program itself are none."""
        text = "\n".join(self._asked).strip()
        self._asked = []
        if not text or text.startswith("/"):
            return
        self._number += 1
        self._blocks, self._fresh = [], []
        time = self._times.get(text, 0.0)
        self._time = max(time, self._started)
        yield Request(f"{self._root}@{self._started}/{self._number}", self._time, text)

    _time = 0.0

    def _inside(self, text: str) -> None:
        assert self._block is not None
        old, new = self._block
        if text.startswith(_REPLACE):
            path = self._last.strip("`*: ")
            call = f"{self._root}@{self._started}/{self._number}.{len(self._fresh)}"
            texts = "\n".join(old), "\n".join(new)
            self._fresh.append(edit_of_texts(call, self._time or self._started, path, *texts))
            self._block = None
        elif text.startswith(_MIDDLE) and not self._is_new_text:
            self._is_new_text = True
        else:
            (new if self._is_new_text else old).append(text)

    def _noted(self, text: str) -> Iterator[Event]:
        """What the program says itself; only what it applied has happened."""
        applied, commit = _APPLIED.match(text), _COMMIT.match(text)
        model, version, cost = _MODEL.match(text), _VERSION.match(text), _COST.search(text)
        if applied:
            self._blocks += self._fresh
            self._fresh = []
            yield from [one for one in self._blocks if one.path == applied[1]]
            self._blocks = [one for one in self._blocks if one.path != applied[1]]
        elif commit:
            name = f"{self._root}@{commit[1]}"
            time = self._time or self._started
            yield Command(name, time, f"git commit  # {commit[1]}", 0, (commit[1],))
        elif model:
            yield Usage(model[1])
        elif version:
            yield Header(self._uid, self._root, version=version[1])
        elif cost:
            sent, received = _count(cost[1], cost[2]), _count(cost[3], cost[4])
            yield Usage(None, sent, received, float(cost[5]))
            self._blocks = self._fresh
            self._fresh = []


def _count(number: str, thousands: str) -> int:
    return int(float(number) * (1000 if thousands else 1))


def _local(text: str) -> float:
    """A time as the program writes it: the user's own, without a zone."""
    try:
        return clock.mktime(clock.strptime(text[:19], "%Y-%m-%d %H:%M:%S"))
    except (ValueError, OverflowError):
        return 0.0


def _input_times(source: Source) -> dict[str, float]:
    """When each request was last entered."""
    try:
        with open(open_regular(source.path.with_name(_INPUTS)), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_INPUTS))
            raw = file.read(_MOST_INPUTS)
    except OSError:
        return {}
    times: dict[str, float] = {}
    for entry in raw.decode("utf-8", "replace").split("\n# ")[0:]:
        first, _, rest = entry.strip("#\n ").partition("\n")
        text = "\n".join(line.removeprefix("+") for line in rest.split("\n")).strip()
        if text:
            times[text] = _local(first)
    return times
