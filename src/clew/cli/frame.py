"""The frame of every command: lazy groups, `--json`, exit codes, one error handler."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from clew.cli.render import print_outcome
from clew.kit.errors import ClewError, UsageError
from clew.kit.outcome import Outcome, error_envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from click.shell_completion import CompletionItem

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class OutcomeCommand(click.Command):
    """A command that returns an Outcome and takes `--json`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings = {**_HELP, **self.context_settings}
        self.params.append(
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and print what it returns."""
        as_json = ctx.params.pop("as_json", False)
        outcome = super().invoke(ctx)
        if isinstance(outcome, Outcome):
            print_outcome(outcome, ctx.command_path, as_json=as_json)
            ctx.exit(outcome.exit_code)
        return outcome


class LazyGroup(click.Group):
    """A group whose commands are named in a table and imported when they are called.

    The table maps a command's name to where it lives and the one line that help shows, so
    that neither running one command nor listing all of them imports the others.
    """

    def __init__(self, *args: Any, entries: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings = {**_HELP, **self.context_settings}
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the table's order."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in self.entries:
            return None
        module, _, attribute = self.entries[cmd_name][0].partition(":")
        loaded = getattr(import_module(module), attribute)
        assert isinstance(loaded, click.Command)
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[1]) for name, entry in self.entries.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or fail with the nearest names."""
        unknown = args and args[0] not in self.entries and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            ctx.fail(f"No such command: {args[0]}.{_nearest(args[0], self.entries)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Commands from the table alone, then the group's own options."""
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=entry[1])
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


def _nearest(word: str, names: Mapping[str, object]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(names), n=3)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def command(**settings: Any) -> Callable[[Callable[..., Outcome]], click.Command]:
    """Declare a command that returns an Outcome."""
    return click.command(cls=OutcomeCommand, **settings)


def run(group: click.Group, name: str, arguments: list[str]) -> int:
    """Run a command line and return its exit code: 0 ok, 1 failure, 2 usage, 3 bug, 130 ^C."""
    try:
        result = group.main(arguments, prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except Exception as error:  # noqa: BLE001 - the one place where every failure ends
        return _report(_explained(error, name, arguments), name, as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _explained(error: Exception, name: str, arguments: list[str]) -> ClewError:
    if isinstance(error, ClewError):
        return error
    if isinstance(error, click.UsageError):
        return _as_usage_error(error)
    if isinstance(error, click.ClickException):
        return ClewError(error.format_message())
    return _as_bug(error, name, arguments)


def _as_usage_error(error: click.UsageError) -> UsageError:
    where = error.ctx.command_path if error.ctx else None
    return UsageError(error.format_message(), f"See: {where} --help" if where else None)


def _report(error: ClewError, name: str, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps(error_envelope(name, error), ensure_ascii=False, indent=2))
    else:
        print(f"{name}: {error.full_text()}", file=sys.stderr)
    return error.exit_code


def _as_bug(error: Exception, name: str, arguments: list[str]) -> ClewError:
    from clew.cli.crash import write_report

    bug = ClewError(
        f"This is a bug in Clew, not a mistake of yours ({error.__class__.__name__}).",
        f"The report is in {write_report(error, name, arguments)}: please paste it into an issue.",
    )
    bug.code, bug.exit_code = "bug", 3
    return bug


def _silence_stdout() -> None:
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
