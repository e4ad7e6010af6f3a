"""Commands as the prompt files themselves declare them: dropping in a file is enough."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.commands.files import frontmatter, paths
from clew.commands.files.layers import (
    DEFAULT_AGENT,
    LIBRARY,
    Profile,
    prompt_directories,
    registry_file,
    registry_path,
)
from clew.commands.files.names import is_name
from clew.commands.files.templates import file_name, variants_of
from clew.commands.files.variables import declared_variables, names_of, text_of
from clew.commands.model import Command, Options
from clew.commands.registry.registry_file import read_options
from clew.kit.errors import ClewError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clew.commands.files.layers import Layer

_MOST_BODY = 20_000
_SUFFIX = "-app.yml"


@dataclass(frozen=True)
class Folder:
    """One command's directory of templates, and how it looked when it was read.

    No link may lead out of the fence, which has none itself.
    """

    layer: Layer
    address: tuple[str, str, str]
    directory: str
    fence: str
    stamps: tuple[tuple[str, int, int], ...]

    @property
    def main_file(self) -> str:
        """The file that speaks for the command: the default edition, or the first one."""
        names = [name for name, _, _ in self.stamps]
        default = file_name("default")
        return paths.join(self.directory, default if default in names else names[0])


@dataclass(frozen=True)
class Declared:
    """A command read from its main file, and what is wrong with that file."""

    command: Command
    problem: str = ""
    has_frontmatter: bool = True


def find_folders(layer: Layer, agent: str, listed: Mapping[str, str]) -> Iterator[Folder]:
    """Every directory of templates that belongs to an agent in a layer."""
    seen: set[str] = set()
    for c1 in _domains(layer, agent, listed):
        for profile in _profiles(layer, agent, c1, listed):
            if profile.prompts in seen:
                continue
            seen.add(profile.prompts)
            yield from _folders_below(layer, c1, profile)


def _profiles(layer: Layer, agent: str, c1: str, listed: Mapping[str, str]) -> list[Profile]:
    try:
        return prompt_directories(layer, agent, c1, listed)
    except ClewError:  # lint tells about a configuration that cannot be used
        return []


def _folders_below(layer: Layer, c1: str, profile: Profile) -> Iterator[Folder]:
    fence = paths.real(profile.fence)
    for c2 in filter(is_name, paths.directories(profile.prompts)):
        for c3 in filter(is_name, paths.directories(paths.join(profile.prompts, c2))):
            directory = paths.join(profile.prompts, c2, c3)
            stamps = _stamps(directory)
            if stamps:
                yield Folder(layer, (c1, c2, c3), directory, fence, stamps)


def _stamps(directory: str) -> tuple[tuple[str, int, int], ...]:
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("f_") and entry.name.endswith(".md"):
                    state = entry.stat()
                    found.append((entry.name, state.st_mtime_ns, state.st_size))
    except OSError:
        return ()
    return tuple(sorted(found))


def _domains(layer: Layer, agent: str, listed: Mapping[str, str]) -> list[str]:
    configured = [
        name.removesuffix(_SUFFIX)
        for name in paths.entries(paths.join(layer.base, "config"))
        if name.endswith(_SUFFIX)
    ]
    profiles = [*paths.directories(paths.join(layer.base, "prompts")), *configured]
    if agent == DEFAULT_AGENT:
        others = tuple(f"{other}-" for other in listed if other != DEFAULT_AGENT)
        names = [name for name in profiles if not (others and name.startswith(others))]
    else:
        prefix = f"{agent}-"
        names = [name.removeprefix(prefix) for name in profiles if name.startswith(prefix)]
        names += _own_domains(layer, agent, listed)
    return sorted({name for name in names if is_name(name)})


def _own_domains(layer: Layer, agent: str, listed: Mapping[str, str]) -> list[str]:
    if layer.root == LIBRARY:
        return []
    try:
        beside = paths.parent(registry_file(layer, registry_path(agent, listed)))
    except ClewError:
        return []
    return paths.directories(paths.join(beside, "prompts"))


def read_folder(folder: Folder, agent: str) -> Declared:
    """The command that a directory holds."""
    path = folder.main_file
    try:
        text = read_variant(folder, path)
    except ClewError as error:
        return Declared(_bare(folder, agent), error.message, has_frontmatter=False)
    meta, body, problem = frontmatter.split(text)
    found = meta or {}
    c1, c2, c3 = folder.address
    command = Command(
        c1,
        c2,
        c3,
        description=text_of(found.get("description")) or _first_line(body),
        usage=text_of(found.get("usage")),
        options=_options(found, folder),
        agent=agent,
        origin=folder.layer.origin,
        title=text_of(found.get("title")),
        variables=declared_variables(found),
        tags=names_of(found.get("tags")),
        body=body[:_MOST_BODY],
        source=path,
    )
    return Declared(command, problem, has_frontmatter=meta is not None)


def read_variant(folder: Folder, path: str) -> str:
    """The text of one of a directory's templates."""
    return paths.read_text(paths.confined(folder.fence, path, is_real=True))


def _bare(folder: Folder, agent: str) -> Command:
    c1, c2, c3 = folder.address
    return Command(c1, c2, c3, agent=agent, origin=folder.layer.origin, source=folder.main_file)


def _first_line(body: str) -> str:
    lines = (line.strip("# \t\r") for line in body.split("\n", 50))
    return next((line for line in lines if line), "")[:300]


def _options(meta: Mapping[str, object], folder: Folder) -> Options:
    """What the frontmatter says, with the editions and adaptations that really exist."""
    declared = read_options(meta.get("options"))
    there = variants_of(name for name, _, _ in folder.stamps)
    return Options(
        edition=tuple(dict.fromkeys(edition for edition, _ in there)),
        adaptation=tuple(dict.fromkeys(a for _, a in there if a)),
        file=declared.file,
        stdin=declared.stdin,
        destination=declared.destination,
    )
