"""What a repository's own files tell without git: its directory, its refs."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# No tags: one may stand for an object of its own, which only git can read.
_PLACES = ("refs/heads/{}", "{}", "refs/{}", "refs/remotes/{}")
_PROMISOR = re.compile(
    r"^\s*(promisor\s*=\s*true|partialclonefilter\s*=)", re.IGNORECASE | re.MULTILINE
)
_DEEPEST = 5
_LONGEST_COMMIT = 1 << 16


def git_directory(root: Path) -> Path:
    """The git directory of a checkout, a linked worktree or a bare repository."""
    marker = root / ".git"
    if marker.is_file():
        return (root / marker.read_text(encoding="utf-8").partition("gitdir:")[2].strip()).resolve()
    return marker if marker.is_dir() else root


class RefFiles:
    """The refs of a repository, read from its files; what they do not tell is None."""

    def __init__(self, root: Path) -> None:
        self._own = git_directory(root)
        shared = _text(self._own / "commondir")
        self._common = (self._own / shared).resolve() if shared else self._own
        self._packed = self._read_packed()

    def commit(self, name: str) -> str | None:
        """The commit at HEAD, a branch or a full ref name."""
        if ".." in name or name.startswith(("/", "-")):
            return None
        found = (self._follow(place.format(name)) for place in _PLACES)
        return next((sha for sha in found if sha), None)

    def head_ref(self) -> str | None:
        """The branch that HEAD points to."""
        text = _text(self._own / "HEAD") or ""
        return text.removeprefix("ref:").strip() if text.startswith("ref:") else None

    def branches(self) -> dict[str, str]:
        """All local branches with their commits."""
        heads = self._common / "refs" / "heads"
        loose = (path for path in heads.rglob("*") if path.is_file())
        names = {str(path.relative_to(self._common)) for path in loose}
        names |= {ref for ref in self._packed if ref.startswith("refs/heads/")}
        found = {name: self._follow(name) for name in names if not name.endswith(".lock")}
        return {name: sha for name, sha in found.items() if sha}

    def sources(self, name: str) -> list[Path]:
        """The files that tell where a ref points: while they stay, so does it."""
        names = [place.format(name) for place in _PLACES]
        names += [ref for ref in [self.head_ref()] if ref]
        loose = [directory / ref for ref in names for directory in {self._own, self._common}]
        return [self._own / "HEAD", self._common / "packed-refs", *loose]

    def limits(self) -> list[str]:
        """What the clone was made without."""
        found = ["shallow"] if _text(self._common / "shallow") else []
        is_partial = _PROMISOR.search(_text(self._common / "config") or "")
        return [*found, "partial"] if is_partial else found

    def branch_directories(self) -> list[Path]:
        """The directories of local branches: each changes when a branch in it does."""
        heads = self._common / "refs" / "heads"
        return [heads, *(path for path in heads.rglob("*") if path.is_dir())]

    def parents(self, sha: str) -> list[str] | None:
        """The parents of a commit that has a file of its own, as new ones do; else None."""
        try:
            packed = (self._common / "objects" / sha[:2] / sha[2:]).read_bytes()
            raw = zlib.decompressobj().decompress(packed, _LONGEST_COMMIT)
        except (OSError, zlib.error):
            return None
        if not raw.startswith(b"commit "):
            return None
        header = raw.partition(b"\n\n")[0].split(b"\n")
        return [line[7:].decode("ascii") for line in header if line.startswith(b"parent ")]

    def _follow(self, ref: str) -> str | None:
        for _ in range(_DEEPEST):
            text = _text(self._own / ref) or _text(self._common / ref) or self._packed.get(ref, "")
            if not text.startswith("ref:"):
                return text if _SHA.fullmatch(text) else None
            ref = text.removeprefix("ref:").strip()
            if ".." in ref or ref.startswith("/"):
                return None
        return None

    def _read_packed(self) -> dict[str, str]:
        lines = (_text(self._common / "packed-refs") or "").splitlines()
        pairs = (line.split(" ", 1) for line in lines if not line.startswith(("#", "^")))
        return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


def limits(root: Path) -> list[str]:
    """What a clone was made without: `shallow` lacks old commits, `partial` lacks objects."""
    try:
        refs = RefFiles(root)
    except OSError:
        return []
    return refs.limits()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
