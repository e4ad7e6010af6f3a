"""Where commands are looked for: the layers, the configuration, the prompt directories.

Nothing here may import what a cold start cannot afford.
"""

from __future__ import annotations

import os
from os.path import join

from clew.commands.files.declarations import text_of
from clew.commands.files.disk import read_text, relative_in
from clew.kit import jsontext
from clew.kit.errors import ClewError, Invalid, NotFound
from clew.kit.project import project_directory
from clew.kit.text.yaml_text import YamlError, read_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DEFAULT_AGENT = "climpt"
# An earlier layer hides the same address in a later one.
PROJECT, USER, PACKAGED = "project", "user", "packaged"
ORIGINS = (PROJECT, USER, PACKAGED)
HOME = ".agent/climpt"
CONFIG_FILES = (f"{HOME}/mcp/config.json", f"{HOME}/config/registry_config.json")
DEFAULT_REGISTRY = f"{HOME}/registry.json"
LIBRARY = join(os.path.dirname(os.path.dirname(__file__)), "library")

LARGEST_REGISTRY = 64 << 20
_LARGEST_CONFIG = 1 << 20


class Profile:
    """The settings of one domain: where its prompts are, and what its two files add."""

    def __init__(self, working: str, base_dir: str, schemas: str, *, configured: bool) -> None:
        self.configured = configured
        self.working = working
        self.prompts = relative_in(working, base_dir)
        # Links may not lead out of the directory that holds all prompts.
        self.fence = join(working, base_dir.partition("/")[0])
        self.schemas = schemas
        self.destination_prefix = ""
        self.patterns: dict[str, str] = {}


class Layer:
    """One source of commands; `base` holds `config` and `prompts`.

    `listed` has every agent's registry path, as the configuration of all layers names it;
    `broken` the configuration files of this layer that cannot be used, each with the reason.
    """

    def __init__(self, origin: str, root: str, base: str, listed: dict[str, str]) -> None:
        self.origin = origin
        self.root = root
        self.base = base
        self.listed = listed
        self.broken: list[tuple[str, str]] = []

    def registry_path(self, agent: str) -> str:
        """The path of an agent's registry as the configuration has it, or the default."""
        return self.listed.get(agent) or f".agent/{agent}/registry.json"

    def registry_file(self, agent: str) -> str:
        """A registry's file within this layer; an absolute path is the same in all of them."""
        path = self.registry_path(agent)
        return path if path.startswith("/") else relative_in(self.root, path)

    def lists(self, agent: str, address: tuple[str, str, str]) -> bool:
        """Whether this layer's registry names a command; one that cannot be read may do so."""
        if self.origin == PACKAGED:
            return False
        try:
            document = jsontext.loads(read_text(self.registry_file(agent), LARGEST_REGISTRY))
            records = document["tools"]["commands"]
            return any((r["c1"], r["c2"], r["c3"]) == address for r in records)
        except NotFound:
            return False
        except (ClewError, jsontext.JsonError, KeyError, TypeError):
            return True

    def prompt_directories(self, agent: str, c1: str) -> list[Profile]:
        """Where the templates of an agent's domain may be, the likeliest first."""
        profile = self.profile(profile_name(agent, c1))
        if agent == DEFAULT_AGENT:
            return [profile]
        beside = os.path.dirname(self.registry_file(agent))
        own = Profile(beside, f"prompts/{c1}", profile.schemas, configured=False)
        return [profile, own] if profile.configured else [own, profile]

    def profile(self, name: str) -> Profile:
        """The settings of a domain; the defaults where no file sets them."""
        app = _settings(join(self.base, "config", f"{name}-app.yml"))
        if app is None:
            return Profile(self.base, f"prompts/{name}", f"schema/{name}", configured=False)
        user = _settings(join(self.base, "config", f"{name}-user.yml")) or {}
        working = _member({**app, **user}, "working_dir") or HOME
        base_dir = _member(user, "app_prompt", "base_dir") or _member(app, "app_prompt", "base_dir")
        schemas = _member(user, "app_schema", "base_dir") or _member(app, "app_schema", "base_dir")
        found = Profile(
            relative_in(self.root, working),
            base_dir or f"prompts/{name}",
            schemas or f"schema/{name}",
            configured=True,
        )
        found.destination_prefix = _member(user, "options", "destination", "prefix")
        for kind, key in (("c2", "directiveType"), ("c3", "layerType")):
            found.patterns[kind] = _member(user, "params", "two", key, "pattern")
        return found

    def read_configuration(self) -> None:
        """Add the agents that this layer's files name and that no stronger layer has."""
        for name in CONFIG_FILES:
            path = join(self.root, name)
            try:
                for agent, registry in _configured(path).items():
                    self.listed.setdefault(agent, registry)
            except ClewError as error:
                self.broken.append((path, error.message))


def user_home() -> str:
    """The user's home directory, or an empty text when there is none."""
    return os.environ.get("HOME") or os.environ.get("USERPROFILE") or ""


def project_root(settings: Mapping[str, str] | None = None) -> str:
    """The project's directory, found as everywhere; outside of any the working directory."""
    start, root = project_directory(None, settings)
    return root or start


def find_layers(settings: Mapping[str, str] | None = None) -> tuple[Layer, ...]:
    """The layers that count here, the strongest first."""
    project, home = project_root(settings), user_home()
    listed: dict[str, str] = {}
    found = [Layer(PROJECT, project, join(project, HOME), listed)]
    if home and os.path.realpath(home) != os.path.realpath(project):
        found.append(Layer(USER, home, join(home, HOME), listed))
    for layer in found:
        layer.read_configuration()
    listed.setdefault(DEFAULT_AGENT, DEFAULT_REGISTRY)
    return _asked_for((*found, Layer(PACKAGED, LIBRARY, LIBRARY, listed)), settings)


def _asked_for(layers: tuple[Layer, ...], settings: Mapping[str, str] | None) -> tuple[Layer, ...]:
    """The one layer that the settings name, or all of them."""
    wanted = (settings or {}).get("layer")
    if not wanted:
        return layers
    if wanted not in ORIGINS:
        raise Invalid(f"No such layer: {wanted[:40]}", f"One of: {', '.join(ORIGINS)}.")
    chosen = tuple(layer for layer in layers if layer.origin == wanted)
    if not chosen:
        raise Invalid("The user layer is this project's", "Use --layer project.")
    return chosen


def _configured(path: str) -> dict[str, str]:
    try:
        document = jsontext.loads(read_text(path, _LARGEST_CONFIG))
    except NotFound:
        return {}
    except jsontext.JsonError as error:
        raise Invalid(f"Not JSON: {error}") from None
    listed = document.get("registries") if isinstance(document, dict) else None
    if not isinstance(listed, dict):
        raise Invalid('Expected {"registries": {"<agent>": "<path>"}}')
    return {a: p for a, p in listed.items() if isinstance(a, str) and isinstance(p, str) and p}


def profile_name(agent: str, c1: str) -> str:
    """The name of the configuration that an agent's domain uses."""
    return c1 if agent == DEFAULT_AGENT else f"{agent}-{c1}"


def configured_label(agent: str, address: tuple[str, str, str]) -> str:
    """An address as a command line has it, the domain with its agent where it needs one."""
    c1, c2, c3 = address
    named = c1 if c1.startswith(f"{agent}-") else profile_name(agent, c1)
    return f"{named} {c2} {c3}"


def _settings(path: str) -> dict[str, Any] | None:
    try:
        return read_fields(read_text(path, _LARGEST_CONFIG).replace("\r\n", "\n"))
    except NotFound:
        return None
    except YamlError as error:
        text = f"Not readable YAML: {error.cause} ({path})"
    except Invalid as error:
        text = f"{error.message} ({path})"
    raise Invalid(text, "Repair or remove the file.")


def _member(settings: Any, *keys: str) -> str:
    for key in keys:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return text_of(settings)
