"""What git said before, while nothing that it was asked about has changed.

An answer from objects is the same as long as the references, the settings and what stands beside them
are. All of that is looked at before a question and after it; what was asked in between is kept together.
"""

from __future__ import annotations

import base64
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path

from clew import __version__
from clew.history.git.ref_files import git_directory
from clew.kit import jsontext
from clew.kit.project import clew_home
from clew.kit.sqlite import opened_keeping

_MOST_QUESTIONS = 20_000
_LARGEST = 512 * 1024  # of one answer, and twice that of a question's
_MOST_REFS = 2000
_FORM = 2  # another number when answers are kept otherwise
_BESIDE = (".mailmap", ".gitattributes", ".git-blame-ignore-revs")
_SHARED = ("config", "packed-refs", "reftable/tables.list", "info/attributes", "shallow")


class GitAnswers:
    """The answers to the commands of one question."""

    def __init__(self, known: dict[str, bytes]) -> None:
        self._known = known
        self._inner: set[str] = set()
        self.is_fresh = False

    def ask(self, words: tuple[str, ...], given: bytes, run: Callable[[], bytes]) -> bytes:
        """What git says to these words; failures are not kept."""
        told = sha256("\0".join(words).encode("utf-8", "surrogateescape") + b"\0\0" + given)
        key = told.hexdigest()
        self._inner.discard(key)
        if key not in self._known:
            self._known[key] = run()
            self.is_fresh = True
        return self._known[key]

    def made(self, name: str, given: bytes, make: Callable[[], bytes]) -> bytes:
        """What was made of answers that nobody else needs: it is kept instead of them."""
        before = set(self._known)
        found = self.ask((name,), given, make)
        self._inner |= {key for key in self._known if key not in before} - {
            next(reversed(self._known))
        }
        return found

    def packed(self) -> bytes:
        """All of them as they are kept; nothing where they are too many."""
        kept = {key: out for key, out in self._known.items() if key not in self._inner}
        small = {key: out for key, out in kept.items() if len(out) <= _LARGEST}
        if sum(map(len, small.values())) > 2 * _LARGEST:
            return b""
        data = {key: base64.b64encode(out).decode("ascii") for key, out in small.items()}
        return zlib.compress(jsontext.dumps(data).encode("ascii"), 1)


def answers_file() -> Path:
    """Where answers are kept; it may be deleted at any time."""
    return clew_home() / "answers" / "git.sqlite3"


@contextmanager
def remembered(root: Path, question: str) -> Iterator[GitAnswers | None]:
    """The answers that this question had in the repository's present state; they are kept after it."""
    state = _state(root)
    if state is None:
        yield None
        return
    place, key = (
        os.fspath(root),
        f"{state}:{sha256(question.encode('utf-8', 'replace')).hexdigest()}",
    )
    with opened_keeping(answers_file(), _MOST_QUESTIONS) as keeping:
        answers = GitAnswers(_unpacked(keeping.known(place, [key]).get(key, b"")))
        yield answers
        if answers.is_fresh and (value := answers.packed()) and _state(root) == state:
            keeping.keep(place, {key: value}, only=state)


def _unpacked(value: bytes) -> dict[str, bytes]:
    with suppress(zlib.error, ValueError, AttributeError):
        data = jsontext.loads(zlib.decompress(value).decode("ascii"))
        return {key: base64.b64decode(out) for key, out in data.items()}
    return {}


def _state(root: Path) -> str | None:
    """All that git's answers follow, in short; None where it cannot be told quickly."""
    try:
        own = git_directory(root)
        shared = _content(own / "commondir").decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    common = (own / shared).resolve() if shared else own
    told = sha256(f"{__version__} {_FORM}".encode())
    for name, value in sorted(os.environ.items()):
        if name.startswith("GIT_"):
            told.update(f"{name}={value}\0".encode("utf-8", "surrogateescape"))
    for file in (own / "HEAD", *(root / name for name in _BESIDE)):
        told.update(sha256(_content(file)).digest())
    for file in (*(common / name for name in _SHARED), own / "config.worktree", *_own_settings()):
        told.update(_stamp(file))
    refs = chain(*(_files_below(place / "refs") for place in dict.fromkeys((own, common))))
    for count, name in enumerate(refs):
        if count >= _MOST_REFS:
            return None
        told.update(os.fsencode(name) + b"\0" + _content(Path(name)) + b"\0")
    return told.hexdigest()[:32]


def _own_settings() -> list[Path]:
    own = os.environ.get("HOME", "/")
    other = os.environ.get("XDG_CONFIG_HOME") or f"{own}/.config"
    return [Path("/etc/gitconfig"), Path(own, ".gitconfig"), Path(other, "git", "config")]


def _files_below(directory: Path) -> Iterator[str]:
    for place, folders, names in os.walk(directory):
        folders.sort()
        yield from (os.path.join(place, name) for name in sorted(names))  # noqa: PTH118 - many


def _content(file: Path) -> bytes:
    """A small regular file's bytes; nothing where there is none."""
    try:
        if stat.S_ISREG(file.lstat().st_mode):
            return file.read_bytes()
    except OSError:
        pass
    return b""


def _stamp(file: Path) -> bytes:
    """What changes whenever a file does: git replaces these files, and writes none in place."""
    try:
        found = file.stat()
    except OSError:
        return b"-"
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns};".encode()
