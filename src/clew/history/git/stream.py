"""Reading history out of git in bulk: one stream of commits, several of diffs.

Nothing here starts a process per commit. Commits come oldest first from one `git log`; their
diffs from long-lived `git diff-tree` processes that are fed commit ids and echo a marker line
after each batch, so that the answers can be told apart.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from clew.history.git.ref_files import limits
from clew.history.model import CommitMeta
from clew.kit.git import PLAIN_DIFF, GitError, open_git, run_git

_FIELDS = 10
_FORMAT = "%H%x00%T%x00%P%x00%aN%x00%aE%x00%ad%x00%cN%x00%cE%x00%cd%x00%B%x00"
# What a repository's own configuration could change in what is read here.
_PLAIN = (
    "-c",
    "core.quotePath=true",
    "-c",
    "core.abbrev=auto",
    "-c",
    "diff.renameLimit=1000",
)
# Several processes read side by side: each keeps a third of what git would, and is as quick.
_SMALL_CACHE = ("-c", "core.deltaBaseCacheLimit=32m")
_SPACES = " \t\r"  # what git takes for blank in a message
_READ = 1 << 18
# git writes 4 KB at a time. A roomy pipe, and a pause when little has come, spare both sides
# most of the waking up: a tenth of the reads.
_PIPE = 1 << 20
_LITTLE = 1 << 16
_PAUSE = 0.003
LARGEST_DIFF = 64 * 1024 * 1024


def read_commits(
    repository: Path, tips: Sequence[str], known: Sequence[str] = ()
) -> Iterator[CommitMeta]:
    """Commits reachable from the tips and not from the known ones, parents before children."""
    revisions = [*tips, *(f"^{sha}" for sha in known)]
    return _read_log(repository, revisions, "--topo-order", "--reverse")


def listed_commits(repository: Path, shas: Sequence[str]) -> Iterator[CommitMeta]:
    """Just these commits, in this order."""
    return _read_log(repository, shas, "--no-walk=unsorted") if shas else iter(())


def _read_log(repository: Path, revisions: Sequence[str], *order: str) -> Iterator[CommitMeta]:
    process = open_git(
        *_PLAIN,
        *_without_mailmap(repository),
        "log",
        *order,
        "--date=raw",
        "--encoding=UTF-8",
        "--use-mailmap",
        "--no-notes",
        f"--format=tformat:{_FORMAT}",
        "--stdin",
        cwd=repository,
        feed=True,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write("".join(f"{revision}\n" for revision in revisions).encode())
        process.stdin.close()
    try:
        yield from _parse_log(process)
        if process.wait() != 0:
            raise GitError("git could not read the history to its end")
    finally:
        _end(process)


def _without_mailmap(repository: Path) -> tuple[str, ...]:
    """Options by which git does not stop at a map of people that a partial clone lacks."""
    if "partial" not in limits(repository):
        return ()
    asked = ("rev-parse", "--verify", "--quiet", "HEAD:.mailmap")
    return () if run_git(*asked, cwd=repository, check=False) else ("-c", "mailmap.blob=")


def _parse_log(process: subprocess.Popen[bytes]) -> Iterator[CommitMeta]:
    assert process.stdout is not None
    rest = b""
    while True:
        chunk = os.read(process.stdout.fileno(), _READ)
        if not chunk:
            return
        fields = (rest + chunk).split(b"\x00")
        whole = (len(fields) - 1) // _FIELDS * _FIELDS
        for index in range(0, whole, _FIELDS):
            yield _commit(fields[index : index + _FIELDS])
        rest = b"\x00".join(fields[whole:])


def _commit(fields: list[bytes]) -> CommitMeta:
    sha, tree, parents, name, email, date, committer, committer_email, committed, message = fields
    author_time, author_zone = _date(date)
    subject, body = split_message(_decoded(message))
    return CommitMeta(
        sha=sha.strip().decode("ascii"),
        parents=tuple(parents.decode("ascii").split()),
        author_name=_decoded(name),
        author_email=_decoded(email),
        author_time=author_time,
        author_zone=author_zone,
        committer_name=_decoded(committer),
        committer_email=_decoded(committer_email),
        commit_time=_date(committed)[0],
        subject=subject,
        body=body,
        tree=tree.decode("ascii"),
    )


def _date(raw: bytes) -> tuple[int, str]:
    seconds, _, zone = raw.partition(b" ")
    try:
        return int(seconds), zone.decode("ascii", "replace") or "+0000"
    except ValueError:
        return 0, "+0000"


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def split_message(message: str) -> tuple[str, str | None]:
    """Subject and body as git has them: the first paragraph in one line, and what follows it."""
    lines = message.replace("\r\n", "\n").split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip(_SPACES)), len(lines))
    rest = range(start, len(lines))
    end = next((at for at in rest if not lines[at].strip(_SPACES)), len(lines))
    subject = " ".join(line.rstrip(_SPACES) for line in lines[start:end])
    body = "\n".join(lines[end:]).strip("\n").rstrip()
    return subject, body or None


class DiffReader:
    """Diffs of batches of commits from one long-lived git process.

    With `trees_only` they are raw lines: which files differ, found without reading the files.
    """

    def __init__(self, repository: Path, *, trees_only: bool = False) -> None:
        self._repository = repository
        self._shape = ("-M100%",) if trees_only else ("-p", "-M")
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()
        self._is_slow = False
        self._is_stopped = False
        self._starting = threading.Lock()

    def send(self, batch: Sequence[CommitMeta]) -> str:
        """Ask for the diffs of a batch; returns the marker that ends the answer."""
        marker = f"end-{secrets.token_hex(12)}"
        process = self._started()
        assert process.stdin is not None
        lines = [f"{commit.sha} {' '.join(commit.parents[:1])}".rstrip() for commit in batch]
        with suppress(BrokenPipeError):
            process.stdin.write(("\n".join([*lines, marker]) + "\n").encode("ascii"))
            process.stdin.flush()
        return marker

    def receive(self, batch: Sequence[CommitMeta], marker: str) -> list[bytes | None]:
        """The diffs of a batch; None from the commit on that git could not read."""
        ends = [f"{commit.sha}\n".encode("ascii") for commit in batch]
        ends.append(f"{marker}\n".encode("ascii"))
        diffs: list[bytes | None] = []
        if not self._skip_to(ends[0], ends[-1]):
            return [None] * len(batch)
        for following in ends[1:]:
            diff = self._read_to(following, ends[-1])
            if diff is None:
                self.close()
                break
            diffs.append(diff)
        else:
            del self._buffer[:1]
        return diffs + [None] * (len(batch) - len(diffs))

    def _skip_to(self, header: bytes, last: bytes) -> bool:
        """Take the first header away, all but its line end: every diff begins with one."""
        while len(self._buffer) < len(header):
            if self._buffer.startswith(last) or not self._fill():
                return False
        if self._buffer[: len(header)] != header:
            return False
        del self._buffer[: len(header) - 1]
        return True

    def _read_to(self, header: bytes, last: bytes) -> bytes | None:
        """The bytes before a header line, which is taken away too; of a huge diff the head.

        None when the batch's last line or the end comes first: git passes over a commit that
        has vanished meanwhile without a word.
        """
        wanted = b"\n" + header
        start, kept = 0, b""
        while True:
            found = self._buffer.find(wanted, start)
            if found >= 0:
                diff = kept or _copied(self._buffer, found + 1)
                del self._buffer[: found + len(header)]
                return diff
            if self._buffer.find(b"\n" + last, start) >= 0:
                return None
            if len(self._buffer) > LARGEST_DIFF:
                kept = kept or _copied(self._buffer, LARGEST_DIFF)
                del self._buffer[: -len(wanted)]
            start = max(len(self._buffer) - len(wanted), 0)
            if not self._fill():
                return None

    def _fill(self) -> bool:
        process = self._started()
        assert process.stdout is not None
        if self._is_slow:
            time.sleep(_PAUSE)
        chunk = os.read(process.stdout.fileno(), _READ)
        self._buffer += chunk
        self._is_slow = len(chunk) < _LITTLE
        return bool(chunk)

    def _started(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._is_stopped:
                raise GitError("reading was given up")
            if self._process is None:
                self._process = self._start()
            return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        process = open_git(
            *_PLAIN,
            *_SMALL_CACHE,
            "diff-tree",
            "--stdin",
            "-r",
            "--raw",
            *self._shape,
            "--root",
            "--always",
            *PLAIN_DIFF,
            cwd=self._repository,
            feed=True,
        )
        assert process.stdout is not None
        with suppress(AttributeError, OSError):  # not everywhere, and not without a limit
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _PIPE)
        return process

    def stop(self) -> None:
        """Give up, from another thread: the one that reads comes to an end, and starts no more."""
        with self._starting:
            self._is_stopped = True
            if self._process is not None:
                self._process.terminate()

    def close(self) -> None:
        """End the process; the next batch starts a new one."""
        if self._process is not None:
            _end(self._process)
            self._process = None
            self._buffer.clear()


def _copied(buffer: bytearray, end: int) -> bytes:
    """What stands before an end, without the line end that it begins with."""
    with memoryview(buffer) as view:
        return bytes(view[1:end])


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    if process.poll() is None:
        process.terminate()
    process.wait()
