"""Options that many commands share, and short ways to declare the common kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from clew.catalog.faces import FACES
from clew.cli.core.completion import complete_repo, complete_spec
from clew.kit.errors import Invalid, UsageError

Decorator = Callable[[Any], Any]


def _complete_directory(_context: object, _parameter: object, start: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(start, type="dir")]


project_option = click.option(
    "--project",
    metavar="DIRECTORY",
    shell_complete=_complete_directory,
    help="Project directory (default: the current one).",
)
database_option = click.option(
    "--db",
    "--database",
    "db",
    metavar="FILE",
    help="File of the history index, or postgresql://… Also COMMITMUX_DB and CLEW_DATABASE.",
)
spec_argument = click.argument("spec_id", metavar="ID", shell_complete=complete_spec)
optional_spec_argument = click.argument(
    "spec_id", metavar="[ID]", required=False, shell_complete=complete_spec
)
specs_argument = click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_spec)
one_repo_option = click.option(
    "--repo", metavar="NAME", shell_complete=complete_repo, help="Only this repository."
)
no_index_option = click.option(
    "--no-index", is_flag=True, help="Answer from git alone; neither make nor read an index."
)
all_repos_option = click.option(
    "--all-repos", is_flag=True, help="Ask all indexed repositories, not just this one."
)


def face_option(help_text: str) -> Decorator:
    """`--face`, one of the five names of the program."""
    return choice("--face", help_text, among=FACES, default="clew")


def option(*words: str, **settings: Any) -> Decorator:
    """An option with a value: its names, then its help text, which tells the default as well."""
    default = settings.get("default")
    is_told = bool(default) and default is not True
    return click.option(*words[:-1], help=words[-1], show_default=is_told, **settings)


def choice(*words: str, among: str | Iterable[str], **settings: Any) -> Decorator:
    """An option that takes one of a few words: its names, then its help text."""
    known = among.split() if isinstance(among, str) else list(among)
    return option(*words, type=click.Choice(known), **settings)


def flag(*words: str) -> Decorator:
    """A switch: its names, then its help text."""
    return click.option(*words[:-1], is_flag=True, help=words[-1])


def repeatable(*words: str, metavar: str) -> Decorator:
    """An option that may be given several times: its names, then its help text."""
    help_text = words[-1].removesuffix(".") + "; repeatable."
    return click.option(*words[:-1], multiple=True, metavar=metavar, help=help_text)


def limit_option(default: int, kind: click.ParamType[int] | type[int] = int) -> Decorator:
    """`--limit`, the maximum number of results; `-n` as in `git log`."""
    return option("-n", "--limit", "Maximum number of results.", type=kind, default=default)


def offset_option(command: Any) -> Any:
    """`--offset`, the number of results to skip."""
    return click.option(
        "--offset", type=click.IntRange(0), default=0, help="Number of results to skip."
    )(command)


def combined(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order in which help shows them."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def timestamp(text: str | None) -> int | None:
    """The time that an option names."""
    from clew.history.search.dates import moment

    try:
        return moment(text)
    except Invalid as error:
        raise UsageError(error.message, error.hint) from None
