"""The command groups of the five faces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew import __version__
from clew.catalog.command_table import COMMANDS, DOOR_SECTIONS
from clew.catalog.faces import FACES
from clew.cli.core.app import LazyGroup, be_quiet, run

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_EPILOGS = {"climpt": "DOMAIN ACTION TARGET prints that prompt. See: climpt run --help"}


class _ClimptGroup(LazyGroup):
    """The group of `climpt`, where words that are no command name a prompt to print."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take an address for what `run` takes."""
        from clew.cli.commands.address import name_a_prompt

        is_domain = ctx.resilient_parsing and len(args) == 1 and args[0] not in self.entries
        prompt = is_domain or name_a_prompt(args)
        return super().parse_args(ctx, ["run", *args] if prompt else args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Commands, then the domains of prompts."""
        from clew.cli.core.completion import complete_address

        domains = complete_address(ctx, click.Argument(["c1"]), incomplete)
        return [*super().shell_complete(ctx, incomplete), *domains]


def build_group(face_name: str) -> click.Group:
    """The command group of one face."""
    group_class = _ClimptGroup if face_name == "climpt" else LazyGroup
    group = group_class(
        name=face_name,
        entries=COMMANDS[face_name],
        sections=DOOR_SECTIONS if face_name == "clew" else None,
        help=FACES[face_name].summary,
        no_args_is_help=False,
        invoke_without_command=True,
        callback=_show_help,
        epilog=_EPILOGS.get(face_name),
    )
    group = click.option(
        "-q", "--quiet", is_flag=True, expose_value=False, callback=be_quiet,
        help="Print only errors, and JSON where --json asks for it.",
    )(group)  # fmt: skip
    return click.version_option(__version__, message="%(prog)s %(version)s")(group)


@click.pass_context
def _show_help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run_face(face_name: str, arguments: list[str]) -> int:
    """Run a face's command line and return the exit code."""
    return run(build_group(face_name), face_name, arguments)
