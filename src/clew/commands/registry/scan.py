"""Commands as the prompt files themselves declare them: dropping in a file is enough."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os.path import join

from clew.commands.files.declarations import is_name
from clew.commands.files.disk import confined, directories, entries, read_text
from clew.commands.files.layers import DEFAULT_AGENT, HOME, PACKAGED, Layer, Profile
from clew.commands.files.templates import file_name, variant_names, variants_of
from clew.commands.model import Command
from clew.commands.registry.registry_file import declared_command
from clew.kit.errors import ClewError, Invalid
from clew.kit.project import followed
from clew.kit.text.frontmatter import read_leniently

_MOST_BODY = 20_000
_SUFFIX = "-app.yml"


@dataclass(frozen=True)
class Folder:
    """One command's directory of templates, and how it looked when it was read.

    No link may lead out of the fence.
    """

    layer: Layer
    address: tuple[str, str, str]
    directory: str
    fence: str
    stamps: tuple[tuple[str, int, int], ...]

    @property
    def main_file(self) -> str:
        """The file that declares the command: the default edition, or the first one."""
        names = [name for name, _, _ in self.stamps]
        default = file_name("default")
        return join(self.directory, default if default in names else names[0])

    def read(self, path: str) -> str:
        """The text of one of the templates."""
        return read_text(confined(self.fence, path))


@dataclass(frozen=True)
class Declared:
    """A command read from its main file, and what is wrong with that file."""

    command: Command
    problem: str = ""
    has_frontmatter: bool = True


def find_folders(layer: Layer, agent: str, within: tuple[str, ...] = ()) -> Iterator[Folder]:
    """Every directory of templates that belongs to an agent in a layer, below an address."""
    seen: set[str] = set()
    for c1 in _domains(layer, agent):
        for profile in _profiles(layer, agent, c1):
            if profile.prompts in seen:
                continue
            seen.add(profile.prompts)
            for folder in _folders_below(layer, c1, profile):
                if folder.address[: len(within)] == within:
                    yield folder


def _profiles(layer: Layer, agent: str, c1: str) -> list[Profile]:
    try:
        found = layer.prompt_directories(agent, c1)
    except ClewError:  # lint reports a configuration that cannot be used
        return []
    return [one for one in found if agent != DEFAULT_AGENT or not _is_another_agents(layer, one)]


def _is_another_agents(layer: Layer, profile: Profile) -> bool:
    """Whether prompts lie in the directory of an agent of its own, `.agent/<agent>`."""
    agents, own = os.path.split(join(layer.root, HOME))
    inside = os.path.relpath(profile.prompts, agents).split(os.sep)
    return layer.origin != PACKAGED and inside[0] not in (own, "..")


def _folders_below(layer: Layer, c1: str, profile: Profile) -> Iterator[Folder]:
    for c2 in filter(is_name, directories(profile.prompts)):
        for c3 in filter(is_name, directories(join(profile.prompts, c2))):
            directory = join(profile.prompts, c2, c3)
            stamps = _stamps(directory)
            if stamps:
                yield Folder(layer, (c1, c2, c3), directory, profile.fence, stamps)


def _stamps(directory: str) -> tuple[tuple[str, int, int], ...]:
    found = []
    try:
        with os.scandir(followed(directory)) as scanned:
            for entry in scanned:
                if entry.name.startswith("f_") and entry.name.endswith(".md"):
                    state = entry.stat()
                    found.append((entry.name, state.st_mtime_ns, state.st_size))
    except (OSError, Invalid):
        return ()
    return tuple(sorted(found))


def _domains(layer: Layer, agent: str) -> list[str]:
    files = entries(join(layer.base, "config"))
    configured = [name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)]
    profiles = [*directories(join(layer.base, "prompts")), *configured]
    if agent == DEFAULT_AGENT:
        others = tuple(f"{other}-" for other in layer.listed if other != DEFAULT_AGENT)
        names = [name for name in profiles if not name.startswith(others)]
    else:
        prefix = f"{agent}-"
        names = [name.removeprefix(prefix) for name in profiles if name.startswith(prefix)]
        names += _own_domains(layer, agent)
    return sorted({name for name in names if is_name(name)})


def _own_domains(layer: Layer, agent: str) -> list[str]:
    if layer.origin == PACKAGED:
        return []
    try:
        beside = os.path.dirname(layer.registry_file(agent))
    except ClewError:
        return []
    return directories(join(beside, "prompts"))


def read_folder(folder: Folder, agent: str) -> Declared:
    """The command that a directory holds."""
    bare = Command(
        *folder.address, agent=agent, origin=folder.layer.origin, source=folder.main_file
    )
    try:
        text = folder.read(folder.main_file)
    except ClewError as error:
        return Declared(bare, error.message, has_frontmatter=False)
    meta, body, problem = read_leniently(text)
    found = meta or {}
    command = declared_command(bare, found)
    editions, adaptations = variant_names(variants_of(name for name, _, _ in folder.stamps))
    options = replace(command.options, edition=tuple(editions), adaptation=tuple(adaptations))
    words = command.description or first_line(body, 300)
    command = replace(command, description=words, options=options, body=body[:_MOST_BODY])
    return Declared(command, problem, has_frontmatter=meta is not None)


def first_line(body: str, most: int) -> str:
    """The first line with words, without the marks of a heading."""
    lines = (line.strip("# \t\r") for line in body.split("\n", 50))
    return next((line for line in lines if line), "")[:most]
