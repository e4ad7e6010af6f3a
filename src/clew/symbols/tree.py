"""The symbols of a commit's tree: only files that can have what is asked for are parsed."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.kit.errors import ClewError
from clew.kit.git import GitError
from clew.symbols.cache import outline_cache
from clew.symbols.languages import Language, language_of
from clew.symbols.parser import LARGEST, Definition, Outline, outline

# git in one repository: its arguments, and what it reads.
Git = Callable[..., bytes]
_MOST_FILES = 1500
_MOST_BYTES = 64 * 1024 * 1024


class Place(NamedTuple):
    """A definition and the file that it is in."""

    path: str
    definition: Definition

    def answers_to(self, parts: Sequence[str]) -> bool:
        """Whether a dotted name means this: its last parts, modules counted as names."""
        modules = self.path.rpartition(".")[0].split("/")
        owners = (part for owner in self.definition.owners for part in owner.split("::"))
        return (*modules, *owners, self.definition.name)[-len(parts) :] == tuple(parts)


@dataclass
class TreeSymbols:
    """What the files of one commit define and call."""

    git: Git
    commit: str = "HEAD"
    _outlines: dict[str, Outline] = field(default_factory=dict)

    def definitions(self, names: Iterable[str]) -> dict[str, list[Place]]:
        """Where each of these names is defined, in the order of paths and lines."""
        wanted = set(names)
        found: dict[str, list[Place]] = {name: [] for name in wanted}
        for path, one in sorted(self.outlines(self.files_with(wanted)).items()):
            for definition in one.definitions:
                if definition.name in wanted:
                    found[definition.name].append(Place(path, definition))
        return found

    def files_with(self, words: Iterable[str]) -> list[str]:
        """The files that have one of these words and can be parsed."""
        patterns = [part for word in sorted(words) for part in ("-e", word)]
        if not patterns:
            return []
        try:
            out = self.git("grep", "-l", "-z", "-I", "-w", "-F", *patterns, self.commit, "--")
        except GitError:  # none has
            return []
        names = (os.fsdecode(one) for one in out.split(b"\0") if one)
        paths = (name.removeprefix(f"{self.commit}:") for name in names)
        return [path for path in paths if language_of(path) is not None][:_MOST_FILES]

    def outlines(self, paths: Iterable[str]) -> dict[str, Outline]:
        """What these files define and call; files that git does not have are left out."""
        asked = list(dict.fromkeys(paths))
        missing = [path for path in asked if path not in self._outlines]
        grouped: dict[Language, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for path, blob in self._blobs(missing).items():
            language = language_of(path)
            if language is not None:
                grouped[language][blob].append(path)
        if grouped:
            with outline_cache() as cache:
                for language, files in grouped.items():
                    made = cache.known(files, language.name)
                    new = self._parsed(language, [blob for blob in files if blob not in made])
                    cache.keep(new, language.name)
                    for blob, one in (made | new).items():
                        self._outlines |= dict.fromkeys(files[blob], one)
        return {path: self._outlines[path] for path in asked if path in self._outlines}

    def _blobs(self, paths: Sequence[str]) -> dict[str, str]:
        if not paths:
            return {}
        try:
            out = self.git("ls-tree", "-r", "-l", "-z", self.commit, "--", *paths)
        except ClewError:
            return {}
        found, left = {}, _MOST_BYTES
        for entry in out.split(b"\0"):
            head, _, name = entry.partition(b"\t")
            fields = head.split()
            if len(fields) == 4 and fields[1] == b"blob" and fields[0] != b"120000":
                size = int(fields[3]) if fields[3].isdigit() else left + 1
                if size <= min(LARGEST, left):
                    left -= size
                    found[os.fsdecode(name)] = fields[2].decode("ascii")
        return found

    def _parsed(self, language: Language, blobs: Sequence[str]) -> dict[str, Outline]:
        if not blobs:
            return {}
        asked = "".join(f"{blob}\n" for blob in blobs).encode("ascii")
        out = self.git("cat-file", "--batch", given=asked)
        found, at = {}, 0
        for blob in blobs:
            end = out.index(b"\n", at)
            size = int(out[at:end].split()[2])
            found[blob] = outline(language, out[end + 1 : end + 1 + size])
            at = end + 2 + size
        return found
