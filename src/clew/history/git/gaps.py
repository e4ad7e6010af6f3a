"""What a repository lacks: objects that a partial clone or a lost pack left out.

git stops at the first diff that needs such an object, and starting it again for each would take
minutes where thousands do. Trees are compared without the files' contents.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from clew.history.git.ref_files import limits
from clew.history.git.stream import DiffReader
from clew.history.model import CommitMeta
from clew.kit.git import open_git

_PREFIX = 16  # of a name in hexadecimal: what is enough to tell objects apart
_NOT_HERE = (b"000000", b"160000")  # no file, and a commit of another repository


class ObjectNames:
    """The names of all objects that a repository has, read once something was found missing."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: array[int] | None = None
        self._reading = threading.Lock()
        self.are_wanted = "partial" in limits(root)

    def __contains__(self, name: bytes | str) -> bool:
        """Whether the repository has an object."""
        with self._reading:
            if self._names is None:
                self._names = self._read()
        wanted = int(name[:_PREFIX], 16)
        at = bisect_left(self._names, wanted)
        return at < len(self._names) and self._names[at] == wanted

    def _read(self) -> array[int]:
        asked = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        with open_git(*asked, cwd=self._root) as process:
            assert process.stdout is not None
            return array("Q", (int(line[:_PREFIX], 16) for line in process.stdout))


class Gaps:
    """Commits whose diffs need objects that are not there, found without stopping at each."""

    def __init__(self, root: Path, names: ObjectNames) -> None:
        self._names = names
        self._trees = DiffReader(root, trees_only=True)

    def among(self, batch: Sequence[CommitMeta]) -> dict[str, bytes]:
        """Those of a batch that cannot be read whole, with the raw lines of their diffs."""
        found = {meta.sha: b"" for meta in batch if meta.tree not in self._names}
        asked = [meta for meta in batch if meta.sha not in found]
        while asked:
            for meta, raw in zip(asked, self._raw(asked), strict=True):
                if raw is None:
                    found[meta.sha] = b""
                    asked = asked[asked.index(meta) + 1 :]
                    break
                if not all(name in self._names for name in _contents(raw)):
                    found[meta.sha] = raw
            else:
                break
        return found

    def _raw(self, batch: Sequence[CommitMeta]) -> list[bytes | None]:
        raws = self._trees.receive(batch, self._trees.send(batch))
        if None in raws:
            self._trees.close()
        return raws

    def stop(self) -> None:
        """Give up, from another thread."""
        self._trees.stop()

    def close(self) -> None:
        """End the process."""
        self._trees.close()


def _contents(raw: bytes) -> set[bytes]:
    """The objects with the contents of the files that a diff is about."""
    found: set[bytes] = set()
    for line in raw.split(b"\n"):
        if line.startswith(b":"):
            old_mode, mode, old, new, _ = line[1:].split(b"\t", 1)[0].split(b" ")
            found |= {
                name for kind, name in ((old_mode, old), (mode, new)) if kind not in _NOT_HERE
            }
    return found
