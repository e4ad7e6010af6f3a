"""What a shell offers for arguments: spec ids, repositories, branches, paths, prompt addresses.

Completion never fails and says nothing: where something cannot be read, nothing is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

Complete = Callable[["click.Context", "click.Parameter", str], "list[CompletionItem[str]]"]

_MOST = 200


def _quiet(find: Callable[[click.Context, str], Iterable[tuple[str, str]]]) -> Complete:
    """A completion out of names with a word of help each."""

    def complete(
        context: click.Context, _parameter: click.Parameter, start: str
    ) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        try:
            found = [(name, text) for name, text in find(context, start) if name.startswith(start)]
        except Exception:  # noqa: BLE001 - a shell that completes has no place for errors
            return []
        return [CompletionItem(name, help=text) for name, text in found[:_MOST]]

    return complete


def _project(context: click.Context) -> str | None:
    return context.params.get("project") or None


def _specs(context: click.Context, _start: str) -> Iterable[tuple[str, str]]:
    from clew.specs.store.store import open_store

    heads = open_store(project=_project(context)).snapshot().active
    return [(head.id, head.title or "") for head in heads]


def _repos(context: click.Context, _start: str) -> Iterable[tuple[str, str]]:
    from clew.history.reader import reading_store
    from clew.kit.call import Call

    settings = {"db": db} if (db := context.params.get("db")) else {}
    return [(repo.name, repo.local_path) for repo in reading_store(Call(settings=settings)).repos()]


def _refs(_context: click.Context, _start: str) -> Iterable[tuple[str, str]]:
    from clew.kit.git import git_line

    listed = git_line(
        Path.cwd(), "for-each-ref", "--format=%(refname:short)", "--sort=-committerdate",
        "refs/heads", "refs/tags", "refs/remotes",
    )  # fmt: skip
    return [(name, "") for name in ("HEAD", *listed.splitlines())]


def _paths(_context: click.Context, start: str) -> Iterable[tuple[str, str]]:
    """Tracked files and directories, one level at a time, from the working directory on."""
    from clew.kit.git import git_line

    folder = start.rpartition("/")[0]
    asked = [f"{folder}/"] if folder else []
    listed = git_line(Path.cwd(), "ls-files", "-z", "--", *asked).split("\0")
    before = f"{folder}/" if folder else ""
    offered = dict.fromkeys(_next_part(path, before) for path in listed if path.startswith(before))
    return [(name, "") for name in offered]


def _next_part(path: str, before: str) -> str:
    first, slash, _ = path[len(before) :].partition("/")
    return f"{before}{first}{slash}"


def _addresses(context: click.Context, _start: str) -> Iterable[tuple[str, str]]:
    """The next word of DOMAIN ACTION TARGET."""
    from clew.commands.registry.registry import load_commands

    given = context.params
    before = tuple(given.get("words") or [given[n] for n in ("c1", "c2", "c3") if given.get(n)])
    settings = {"project": project} if (project := _project(context)) else {}
    found = [
        one for one in load_commands(settings=settings) if one.address[: len(before)] == before
    ]
    last = {one.address[len(before)]: one.description for one in found if len(before) < 3}
    return [(word, text if len(before) == 2 else "") for word, text in last.items()]


def either(*ways: Complete) -> Complete:
    """What any of these offers."""

    def complete(
        context: click.Context, parameter: click.Parameter, start: str
    ) -> list[CompletionItem[str]]:
        return [item for way in ways for item in way(context, parameter, start)]

    return complete


complete_spec = _quiet(_specs)
complete_repo = _quiet(_repos)
complete_revision = _quiet(_refs)
complete_path = _quiet(_paths)
complete_address = _quiet(_addresses)
complete_target = either(complete_path, complete_spec)
