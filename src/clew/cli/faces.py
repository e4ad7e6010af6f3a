"""The command tables of the five faces."""

from __future__ import annotations

import click

from clew import __version__
from clew.catalog.faces import FACES
from clew.cli.core.app import LazyGroup, run
from clew.cli.core.command_table import (
    ADVISE_COMMANDS,
    COMMAND_COMMANDS,
    HISTORY_COMMANDS,
    SPEC_COMMANDS,
    WORK_COMMANDS,
)

_VERSION = ("clew.cli.core.version:version", "Show versions of Clew and what it stands on.")

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "clew": {
        "init": ("clew.cli.setup.init:init", "Set Clew up for this project and your agent hosts."),
        "uninit": ("clew.cli.setup.init:uninit", "Undo what init and setup wrote."),
        "setup": ("clew.cli.setup.register:setup", "Register Clew with one agent host."),
        "serve": ("clew.cli.setup.serve:clew_serve", "Run the MCP server (stdio, or --http)."),
        "doctor": (
            "clew.cli.setup.doctor:doctor",
            "Check this machine and project; --fix repairs.",
        ),
        "why": ("clew.cli.thread:why", "Show why a line, file, symbol or commit is there."),
        "brief": ("clew.cli.thread:brief", "Show what to know before starting a task."),
        "recall": ("clew.cli.thread:recall", "Find where something was done before."),
        "trace": (
            "clew.cli.thread:trace",
            "Show objectives, features, specs and commits, and gaps.",
        ),
        "spec": ("clew.cli.specs.read:spec", "Specs: what is to be done, and what is done."),
        **WORK_COMMANDS,
        "history": (
            "clew.cli.history.sync:history",
            "Search the git history of your repositories.",
        ),
        "command": ("clew.cli.commands.use:command_group", "Find, fill in and keep prompts."),
        "advise": ("clew.cli.advise:advise", "Vision, architecture, decisions, and review."),
        "web": ("clew.cli.web:web", "Open the board in a browser."),
        "board": ("clew.cli.web:board", "Draw the board in the terminal."),
        "guide": ("clew.cli.setup.guide:guide", "How agents use Clew, by topic."),
        "tools": ("clew.cli.setup.tools:tools", "List the tools that a server would offer."),
        "completion": ("clew.cli.setup.completion:completion", "Print a shell completion script."),
        "version": _VERSION,
    },
    "chant": {
        **SPEC_COMMANDS,
        **WORK_COMMANDS,
        "mcp": ("clew.cli.setup.serve:chant_mcp", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
    "commitmux": {
        **HISTORY_COMMANDS,
        "serve": ("clew.cli.setup.serve:commitmux_serve", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
    "climpt": {
        "init": ("clew.cli.commands.use:init", "Write the packaged commands into this project."),
        **COMMAND_COMMANDS,
        "mcp": ("clew.cli.setup.serve:climpt_mcp", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
    "clariad": {
        **ADVISE_COMMANDS,
        "serve": ("clew.cli.setup.serve:clariad_serve", "Run the MCP server (stdio, or --http)."),
        "version": _VERSION,
    },
}

_EPILOGS = {"climpt": "DOMAIN ACTION TARGET prints that prompt. See: climpt run --help"}


class _ClimptGroup(LazyGroup):
    """The group of `climpt`, where words that are no command name a prompt to print."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take an address for what `run` takes."""
        from clew.cli.commands.address import name_a_prompt

        return super().parse_args(ctx, ["run", *args] if name_a_prompt(args) else args)


def build_group(face_name: str) -> click.Group:
    """The command group of one face."""
    group_class = _ClimptGroup if face_name == "climpt" else LazyGroup
    group = group_class(
        name=face_name,
        entries=COMMANDS[face_name],
        help=FACES[face_name].summary,
        no_args_is_help=False,
        invoke_without_command=True,
        callback=_show_help,
        epilog=_EPILOGS.get(face_name),
    )
    return click.version_option(__version__, message="%(prog)s %(version)s")(group)


@click.pass_context
def _show_help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run_face(face_name: str, arguments: list[str]) -> int:
    """Run a face's command line and return the exit code."""
    return run(build_group(face_name), face_name, arguments)
