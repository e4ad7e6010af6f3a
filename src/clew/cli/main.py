"""The command tables of the five faces."""

from __future__ import annotations

import click

from clew import __version__
from clew.catalog.faces import FACES
from clew.cli.frame import LazyGroup, run
from clew.cli.tables import HISTORY_COMMANDS

_VERSION = ("clew.cli.version:version", "Show versions of Clew and what it stands on.")

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "clew": {
        "init": ("clew.cli.init:init", "Set Clew up for this project and your agent hosts."),
        "uninit": ("clew.cli.init:uninit", "Undo what init and setup wrote."),
        "setup": ("clew.cli.setup:setup", "Register Clew with one agent host."),
        "serve": ("clew.cli.serve:clew_serve", "Run the MCP server (stdio, or --http)."),
        "doctor": ("clew.cli.doctor:doctor", "Check this machine and project; --fix repairs."),
        "history": ("clew.cli.history:history", "Search the git history of your repositories."),
        "guide": ("clew.cli.guide:guide", "How agents use Clew, by topic."),
        "tools": ("clew.cli.tools:tools", "List the tools that a server would offer."),
        "completion": ("clew.cli.completion:completion", "Print a shell completion script."),
        "version": _VERSION,
    },
    "chant": {
        "mcp": ("clew.cli.serve:chant_mcp", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
    "commitmux": {
        **HISTORY_COMMANDS,
        "serve": ("clew.cli.serve:commitmux_serve", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
    "climpt": {
        "mcp": ("clew.cli.serve:climpt_mcp", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
    "clariad": {
        "serve": ("clew.cli.serve:clariad_serve", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
}


def build_group(face_name: str) -> click.Group:
    """The command group of one face."""
    group = LazyGroup(
        name=face_name,
        entries=COMMANDS[face_name],
        help=FACES[face_name].summary,
        no_args_is_help=False,
        invoke_without_command=True,
        callback=_show_help,
    )
    return click.version_option(__version__, message="%(prog)s %(version)s")(group)


@click.pass_context
def _show_help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run_face(face_name: str, arguments: list[str]) -> int:
    """Run a face's command line and return the exit code."""
    return run(build_group(face_name), face_name, arguments)
