"""Which template a command uses: the directory, the file, the fallbacks that were tried."""

from __future__ import annotations

from os.path import isfile, join

from clew.commands.files.declarations import is_name
from clew.commands.files.disk import confined, entries
from clew.commands.files.layers import DEFAULT_AGENT, find_layers
from clew.kit.project import followed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clew.commands.files.layers import Layer, Profile

DEFAULT = "default"


class Template:
    """The file that was chosen, and those that were tried before it."""

    def __init__(self, path: str, tried: list[str]) -> None:
        self.path = path
        self.tried = tried


class Home:
    """The directory that holds all variants of one command."""

    def __init__(self, layer: Layer, profile: Profile, directory: str) -> None:
        self.layer = layer
        self.profile = profile
        self.directory = directory

    def template(self, edition: str = "", adaptation: str = "") -> Template | None:
        """The variant, or else the same edition without its adaptation."""
        steps = [(edition or DEFAULT, adaptation), (edition or DEFAULT, "")]
        tried: list[str] = []
        for step in dict.fromkeys(steps):
            path = join(self.directory, file_name(*step))
            if isfile(path):
                return Template(confined(self.profile.fence, path), tried)
            tried.append(path)
        return None


def file_name(edition: str, adaptation: str = "") -> str:
    """The name of a variant's file."""
    return f"f_{edition}_{adaptation}.md" if adaptation else f"f_{edition}.md"


def variants(directory: str) -> list[tuple[str, str]]:
    """The editions and adaptations that exist, the default first."""
    return variants_of(entries(followed(directory)))


def variants_of(names: Iterable[str]) -> list[tuple[str, str]]:
    """The editions and adaptations among the names of files, the default first."""
    found = []
    for name in names:
        if name.startswith("f_") and name.endswith(".md") and len(name) > len("f_.md"):
            edition, _, adaptation = name[2:-3].partition("_")
            found.append((edition, adaptation))
    return sorted(found, key=lambda variant: (variant[0] != DEFAULT, variant))


def variant_names(variants: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The editions, and the adaptations, each name once."""
    editions, adaptations = zip(*variants, strict=True) if variants else ((), ())
    return list(dict.fromkeys(editions)), list(dict.fromkeys(filter(None, adaptations)))


def find_home(
    agent: str, address: tuple[str, str, str], settings: Mapping[str, str] | None = None
) -> Home | None:
    """The directory of a command in the strongest layer that has any template for it.

    A layer whose registry lists the command speaks for it, so no weaker layer's prompt is taken.
    """
    if not all(map(is_name, (agent, *address))):
        return None
    layers = find_layers(settings)
    homes = (_home_in(layers, *reading) for reading in readings(agent, address))
    return next((home for home in homes if home is not None), None)


def default_template(
    agent: str, address: tuple[str, str, str], settings: Mapping[str, str] | None = None
) -> Template | None:
    """The default template of a command."""
    home = find_home(agent, address, settings)
    return home.template() if home else None


def readings(agent: str, address: tuple[str, str, str]) -> list[tuple[str, tuple[str, str, str]]]:
    """The agent and address as they are, then with a domain written as `<agent>-<domain>`."""
    c1, c2, c3 = address
    found = [(agent, address)]
    dashes = [at for at, letter in enumerate(c1) if letter == "-"] if is_name(c1) else []
    for at in dashes:
        owner, domain = c1[:at], c1[at + 1 :]
        if agent in (owner, DEFAULT_AGENT) and is_name(owner) and is_name(domain):
            found.append((owner, (domain, c2, c3)))
    return found


def _home_in(layers: tuple[Layer, ...], agent: str, address: tuple[str, str, str]) -> Home | None:
    c1, c2, c3 = address
    for layer in layers:
        for profile in layer.prompt_directories(agent, c1):
            directory = join(profile.prompts, c2, c3)
            if variants(directory):
                return Home(layer, profile, directory)
        if layer.lists(agent, address):
            return None
    return None
