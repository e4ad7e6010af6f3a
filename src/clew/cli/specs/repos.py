"""The repositories that the settings name (`repos`), for commands that look at several."""

from __future__ import annotations

from pathlib import Path

from clew.cli.core.options import combined, flag, option
from clew.kit.errors import ClewError, NotFound
from clew.specs.store.store import SpecStore

repos_options = combined(
    flag("--global", "every_repo", "All repositories that the settings name."),
    option("--repo", "Only this repository of the settings.", metavar="NAME"),
)


def stores_of(
    project: str | None, repo: str | None, *, every: bool
) -> tuple[dict[str, SpecStore], list[str]]:
    """The spec stores of all repositories, or of one, by name; and what is wrong with others."""
    from clew.kit.project import find_project
    from clew.specs.store.config import load_config
    from clew.specs.store.store import open_store

    try:
        root = find_project(project)
    except NotFound:
        root = Path.cwd()  # the user's own settings may name some
    named = {str(r["name"]): str(r["path"]) for r in load_config(root).maps("repos") if r["name"]}
    wanted = named if every else {name: path for name, path in named.items() if name == repo}
    if not wanted:
        known = f"Known: {', '.join(named)}." if named else "Name some under `repos` in config.md."
        what = f"No repository '{repo}' in the settings" if repo else "No repositories are named"
        raise NotFound(what, known)
    stores: dict[str, SpecStore] = {}
    problems = []
    for name, path in wanted.items():
        try:
            stores[name] = open_store(project=str(root / Path(path).expanduser()))
        except ClewError as error:
            if not every:
                raise
            problems.append(f"warning: {name}: {error.message}")
    return stores, problems
