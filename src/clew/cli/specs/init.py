"""`chant init`: specs for a project, and the agent host that works on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from clew.catalog.faces import FACES
from clew.cli.core.app import command
from clew.cli.core.options import flag, option, project_option
from clew.cli.setup.init import is_interactive
from clew.hosts.model import Scope
from clew.hosts.table import HOSTS
from clew.kit.errors import NotFound
from clew.kit.outcome import Hint, Outcome
from clew.kit.paths import ProjectPaths

_AGENTS = {"claude": "claude-code", **{key: key for key in HOSTS if key != "claude-code"}}
_SHOWN = {"already": "unchanged"}


@command()
@option("--name", "Name of the project (default: from a manifest).", metavar="NAME")
@option(
    "--agent",
    "agents",
    "Register `chant mcp` with this agent host, in this project's files.",
    multiple=True,
    type=click.Choice(list(_AGENTS)),
)
@option("--provider", "Agent that works on specs.", metavar="NAME")
@option("--model", "Model for the agent.", metavar="NAME")
@flag("--minimal", "Leave out the bundled prompts.")
@flag("--silent", "Keep .chant/ out of git, in .git/info/exclude.")
@option(
    "--merge-driver/--no-merge-driver",
    "Install the merge driver, which merges specs by field.",
    default=True,
)
@flag("--force-overwrite", "Overwrite the bundled prompts with the current ones.")
@project_option
def init(  # noqa: PLR0913 - one parameter per option
    name: str | None,
    agents: tuple[str, ...],
    provider: str | None,
    model: str | None,
    *,
    minimal: bool,
    silent: bool,
    merge_driver: bool,
    force_overwrite: bool,
    project: str | None,
) -> Outcome:
    """Set this project up for specs. On a terminal it asks; elsewhere the options decide."""
    from clew.specs.change.init import initialize, project_name
    from clew.work.agents.prompt import bundled_prompts

    root = _root(project)
    fresh = not ProjectPaths(root).has_specs
    if fresh and is_interactive() and not (name or agents):
        name, agents = _ask(project_name(root))
    made = initialize(
        root,
        name=name,
        provider=provider,
        model=model,
        prompts={} if minimal else bundled_prompts(),
        overwrite_prompts=force_overwrite,
    )
    notes = _git_notes(root, silent=silent, merge_driver=merge_driver and not silent)
    registered = [_register(agent, root) for agent in agents]
    words = "Initialized chant" if made.created else "Chant is already initialized"
    lines = [f"{words} in {root / '.chant'}", *(f"  wrote {path}" for path in made.written)]
    lines += notes
    for one in registered:
        lines += ["  {agent}: {status} ({path})".format(**one), f"    {one['next']}"]
    lines.append(Hint('Next: chant add "what is to be done"'))
    data: dict[str, Any] = {
        "project": str(root),
        "created": made.created,
        "written": made.written,
        "agents": registered,
    }
    return Outcome(data, tuple(lines))


def _root(project: str | None) -> Path:
    from clew.kit.project import find_project

    try:
        return find_project(project)
    except NotFound:
        if project:
            raise
        return Path.cwd()


def _git_notes(root: Path, *, silent: bool, merge_driver: bool) -> list[str]:
    from clew.specs.change.init import keep_local, set_up_merging

    if silent:
        return [f"  .chant/ stays out of git ({keep_local(root)})"]
    if merge_driver and set_up_merging(root):
        return ["  git merges specs field by field (.gitattributes)"]
    return []


def _ask(proposed: str) -> tuple[str, tuple[str, ...]]:
    name = click.prompt("Project name", default=proposed, err=True)
    choice = click.Choice(["none", *_AGENTS])
    agent = click.prompt("Agent host to register with", type=choice, default="claude", err=True)
    return name, () if agent == "none" else (agent,)


def _register(agent: str, root: Path) -> dict[str, str]:
    from clew.hosts.paths import short
    from clew.hosts.register import make_target, register

    host = HOSTS[_AGENTS[agent]]
    scope: Scope | None = "project" if host.project_files else None
    target = make_target(host, scope, FACES["chant"], root)
    status = register(target).status
    return {
        "agent": agent,
        "status": _SHOWN.get(status, status),
        "path": short(target.path),
        "next": host.next_for(target.scope, target.face.name),
    }


@command()
@flag("--off", "Let git see .chant/ again.")
@flag("--status", "only_status", "Show whether .chant/ is kept out of git.")
@project_option
def silent(*, off: bool, only_status: bool, project: str | None) -> Outcome:
    """Keep .chant/ out of git on this machine, without a trace in the repository."""
    from clew.kit.project import find_project
    from clew.specs.change.init import is_local, keep_local, stop_keeping_local

    root = find_project(project)
    if off:
        stop_keeping_local(root)
    elif not only_status:
        keep_local(root)
    kept = is_local(root)
    text = ".chant/ is kept out of git." if kept else "Git sees .chant/."
    return Outcome({"silent": kept}, (text,))
