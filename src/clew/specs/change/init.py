"""Making a project's `.chant/`: directories, configuration, what git must not see."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from clew.kit import jsontext
from clew.kit.errors import ClewError, Conflict, Invalid
from clew.kit.files import regular_text, write_atomic
from clew.kit.git import SPEC_DRIVER, run_git
from clew.kit.paths import ProjectPaths
from clew.kit.repository import common_directory
from clew.kit.text.yaml_edit import field_lines
from clew.specs.store.settings import PROVIDERS

_DIRECTORIES = ("specs", "prompts", "logs", "processes", ".locks", ".store")
_IGNORED = """\
# What this machine knows and others need not
.locks/
.store/
store/
logs/
processes/
pids/
tmp/
watch.pid
specs/.chant-status-*.json

# Which agents this machine has
agents.md
"""
_LOCAL = ".chant/"
_LONGEST_MANIFEST = 1_000_000
MERGE_LINE = ".chant/specs/*.md merge=chant-spec"
_MERGE_SETTINGS = {
    "merge.chant-spec.name": "Chant spec merge driver",
    "merge.chant-spec.driver": SPEC_DRIVER,
}
_NOTES = "\n# Project configuration\n\nThe lines above are the settings; this text is for notes.\n"
_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)


class InitReport(NamedTuple):
    """What `chant init` found and made."""

    created: bool
    written: list[str]


def initialize(
    project: Path,
    *,
    name: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    prompts: dict[str, str] | None = None,
    overwrite_prompts: bool = False,
) -> InitReport:
    """Make what is missing; what is there stays. `prompts` are texts by name."""
    paths = ProjectPaths(project)
    paths.refuse_links_out()
    created = not paths.has_specs
    for directory in _DIRECTORIES:
        (paths.chant / directory).mkdir(parents=True, exist_ok=True)
    paths.make_store()
    wanted = {paths.chant / ".gitignore": _IGNORED}
    wanted[paths.config] = _config_text(name or project_name(project), provider, model)
    written = []
    for path, text in wanted.items():
        if not path.exists():
            write_atomic(path, text)
            written.append(paths.relative(path))
    for prompt, text in (prompts or {}).items():
        path = paths.prompts / f"{prompt}.md"
        if overwrite_prompts or not path.exists():
            write_atomic(path, text)
            written.append(paths.relative(path))
    return InitReport(created, written)


def set_up_merging(project: Path) -> bool:
    """Let git merge specs field by field; False outside of a repository."""
    try:
        for key, value in _MERGE_SETTINGS.items():
            run_git("config", key, value, cwd=project)
    except ClewError:
        return False
    attributes = project / ".gitattributes"
    text = regular_text(attributes) if attributes.exists() else ""
    if MERGE_LINE not in text.splitlines():
        gap = "" if not text or text.endswith("\n") else "\n"
        write_atomic(attributes, f"{text}{gap}{MERGE_LINE}\n")
    return True


def keep_local(project: Path) -> str:
    """Keep `.chant/` out of git without a trace in the repository; gives the file that says so."""
    exclude = common_directory(project) / "info" / "exclude"
    text = exclude.read_text("utf-8") if exclude.exists() else ""
    if run_git("ls-files", "-z", "--", _LOCAL, cwd=project):
        raise Conflict(
            "Git has files of .chant/ already, and would go on with them",
            "Remove them from git first: `git rm -r --cached .chant`, then commit.",
        )
    if _LOCAL not in text.splitlines():
        exclude.parent.mkdir(exist_ok=True)
        gap = "" if not text or text.endswith("\n") else "\n"
        write_atomic(exclude, f"{text}{gap}{_LOCAL}\n")
    return str(exclude)


def is_local(project: Path) -> bool:
    """Whether git is told, on this machine only, not to see `.chant/`."""
    exclude = common_directory(project) / "info" / "exclude"
    return exclude.exists() and _LOCAL in exclude.read_text("utf-8").splitlines()


def stop_keeping_local(project: Path) -> None:
    """Let git see `.chant/` again."""
    exclude = common_directory(project) / "info" / "exclude"
    lines = exclude.read_text("utf-8").splitlines() if exclude.exists() else []
    if _LOCAL in lines:
        write_atomic(exclude, "".join(f"{line}\n" for line in lines if line != _LOCAL))


def project_name(project: Path) -> str:
    """The name in a manifest, or the directory's."""
    readers: dict[str, Callable[[str], object]] = {
        "package.json": lambda text: jsontext.loads(text)["name"],
        "Cargo.toml": lambda text: tomllib.loads(text)["package"]["name"],
        "pyproject.toml": lambda text: tomllib.loads(text)["project"]["name"],
        "go.mod": lambda text: _MODULE.findall(text)[0].rsplit("/", 1)[-1],
    }
    for manifest, read in readers.items():
        try:
            found = read(regular_text(project / manifest, _LONGEST_MANIFEST))
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            continue
        if isinstance(found, str) and found.strip():
            return found.strip()
    return project.name


def _config_text(name: str, provider: str | None, model: str | None) -> str:
    if provider and provider not in PROVIDERS:
        raise Invalid(f"Unknown agent: {provider[:100]}", f"Agents: {', '.join(PROVIDERS)}.")
    defaults = {"prompt": "standard", "provider": provider, "model": model}
    given = {key: value for key, value in defaults.items() if value}
    lines = [*field_lines("project", {"name": name}), *field_lines("defaults", given)]
    return "\n".join(["---", *lines, "---", _NOTES])
