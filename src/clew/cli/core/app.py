"""The frame of every command: lazy groups, `--json`, exit codes, one error handler."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import click

from clew.catalog.command_table import find, load, summaries
from clew.catalog.faces import FACES
from clew.cli.core.render import json_text, print_outcome
from clew.cli.core.streams import (
    OutputFailed,
    prepare_streams,
    reader_left,
    say,
    settle_out,
    silence_stdout,
    write_out,
)
from clew.cli.core.terminal import wrapped
from clew.kit.errors import Cancelled, ClewError, NotFound, Unavailable, UsageError
from clew.kit.outcome import Outcome, error_envelope
from clew.kit.text.display import os_reason, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from click.shell_completion import CompletionItem

    from clew.catalog.command_table import Table

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


_QUIET = "clew.quiet"


def be_quiet(ctx: click.Context, _parameter: click.Parameter, value: object) -> None:
    """Have the commands of this run print no results."""
    ctx.meta[_QUIET] = bool(value)


class OutcomeCommand(click.Command):
    """A command that returns an Outcome and takes `--json`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings = {**_HELP, **self.context_settings}
        self.params.append(
            click.Option(
                ["--json", "as_json"], is_flag=True, help="Print the result as one JSON object."
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and print what it returns."""
        as_json = ctx.params.pop("as_json", False)
        outcome = super().invoke(ctx)
        if isinstance(outcome, Outcome):
            if as_json or not ctx.meta.get(_QUIET):
                print_outcome(outcome, ctx.command_path, as_json=as_json)
            ctx.exit(outcome.exit_code)
        return outcome


class LazyGroup(click.Group):
    """A group whose commands are named in a table and imported when they are called."""

    def __init__(
        self,
        *args: Any,
        entries: Table,
        sections: Mapping[str, tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings = {**_HELP, **self.context_settings}
        self.entries = entries
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the table's order."""
        return list(summaries(self.entries))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        found = find(self.entries, cmd_name)
        if found is None:
            return None
        if not isinstance(found, str):
            from clew.cli.core.tool_commands import command_of

            return command_of(found)
        loaded = load(found)
        assert isinstance(loaded, click.Command)
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table alone, all or those of the sections."""
        lines = summaries(self.entries)
        for title, names in (self.sections or {"Commands": tuple(lines)}).items():
            with formatter.section(title):
                formatter.write_dl([(name, lines[name]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or fail with the nearest names."""
        unknown = args and find(self.entries, args[0]) is None and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            ctx.fail(f"No such command: {args[0]}.{self._instead(args[0])}")
        return super().resolve_command(ctx, args)

    def _instead(self, word: str) -> str:
        """What may have been meant: a word of a group at this door, or one that looks like it."""
        from clew.catalog.wording import grouped_words

        if self.sections and word in (known := grouped_words()):
            return f" Did you mean {self.name} {known[word]} {word}?"
        return _nearest(word, summaries(self.entries))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Commands from the table alone, then the group's own options."""
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=line)
            for name, line in summaries(self.entries).items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


def _nearest(word: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(names), n=3)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def command(**settings: Any) -> Callable[[Callable[..., Outcome]], click.Command]:
    """Declare a command that returns an Outcome."""
    return click.command(cls=OutcomeCommand, **settings)


def run(group: click.Group, name: str, arguments: list[str]) -> int:
    """Run a command line and return its exit code: 0 ok, 1 failure, 2 usage, 3 bug, 130 ^C."""
    path, as_json = _command_path(group, name, arguments), _wants_json(arguments)
    try:
        prepare_streams(is_server=_is_server(name, arguments))
        code = _called(group, name, arguments)
    except (KeyboardInterrupt, click.Abort):
        return _stopped(path, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - the one place where every failure ends
        if reader_left(error):
            silence_stdout()
            return 0
        return _report(_explained(error, name, arguments), path, as_json=as_json)
    failure = settle_out()
    return _report(failure, path, as_json=as_json) if failure else code


def _called(group: click.Group, name: str, arguments: list[str]) -> int:
    """Call the command. Not by `main`, which ends the program when a reader leaves."""
    if os.environ.get(f"_{name}_COMPLETE".upper()):
        group.main(arguments, prog_name=name, standalone_mode=False)  # answers the shell, and exits
    try:
        with group.make_context(name, list(arguments)) as context:
            result = group.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    return result if isinstance(result, int) else 0


def _command_path(group: click.Group, name: str, arguments: list[str]) -> str:
    """The command's path for the JSON envelope."""
    first = arguments[0] if arguments else ""
    known = isinstance(group, LazyGroup) and find(group.entries, first) is not None
    return f"{name} {first}" if known else name


def _wants_json(arguments: list[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _is_server(name: str, arguments: list[str]) -> bool:
    return name in FACES and arguments[:1] == [FACES[name].serve_command]


def _explained(error: Exception, name: str, arguments: list[str]) -> ClewError:
    if isinstance(error, ClewError):
        return error
    if isinstance(error, click.UsageError):
        return _as_usage_error(error)
    if isinstance(error, click.ClickException):
        return ClewError(error.format_message())
    if isinstance(error, OSError) and not isinstance(error, ValueError):
        return _as_refusal(error)
    from clew.kit.system_errors import refusal

    return refusal(error) or _as_bug(error, name, arguments)


def _as_usage_error(error: click.UsageError) -> UsageError:
    where = error.ctx.command_path if error.ctx else None
    return UsageError(error.format_message(), f"See: {where} --help" if where else None)


def _as_refusal(error: OSError) -> ClewError:
    """What the system refused: a file, a directory, a full disk."""
    if isinstance(error, FileNotFoundError) and not error.filename and not _is_somewhere():
        return NotFound("The working directory is gone", "Change to one that exists.")
    if _is_from_printing(error):
        silence_stdout()
        return OutputFailed(f"The output cannot be written: {os_reason(error)}")
    if _is_about_home(error.filename):
        hint = "Clew keeps its files there: `clew doctor` shows what is wrong with it."
        return Unavailable(os_reason(error), hint)
    from clew.kit.system_errors import next_step

    return Unavailable(os_reason(error), next_step(error))


def _is_from_printing(error: OSError) -> bool:
    """Whether click could not print; help and versions are printed by it."""
    codes = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    return bool(codes) and codes[-1] is click.echo.__code__


def _is_somewhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _is_about_home(name: object) -> bool:
    """Whether a file is Clew's directory, in it, or above it."""
    from clew.kit.project import clew_home

    try:
        home, place = clew_home().absolute(), Path(str(name)).absolute()
    except (ClewError, OSError):
        return False
    return bool(name) and (place.is_relative_to(home) or home.is_relative_to(place))


def _stopped(command_path: str, *, as_json: bool) -> int:
    stopped = Cancelled("Stopped.")
    stopped.exit_code = 130
    if as_json:
        return _report(stopped, command_path, as_json=True)
    say("\nStopped.")
    return stopped.exit_code


def _report(error: ClewError, command_path: str, *, as_json: bool) -> int:
    from clew.catalog.wording import commands_of, message_of

    face = command_path.split(maxsplit=1)[0]
    error.message = message_of(face, error.message)
    error.hint = commands_of(face, error.hint) if error.hint else error.hint
    if as_json and not isinstance(error, OutputFailed):
        try:
            write_out(json_text(error_envelope(command_path, error)))
        except OutputFailed as failure:
            say(f"{command_path}: {failure.full_text()}")
        else:
            return error.exit_code
    say(wrapped(f"{command_path.split(maxsplit=1)[0]}: {error.full_text()}", stream=sys.stderr))
    return error.exit_code


def _as_bug(error: Exception, name: str, arguments: list[str]) -> ClewError:
    bug = ClewError(
        f"This is a bug in Clew, not a mistake of yours ({error.__class__.__name__}).",
        _kept_report(error, name, arguments),
    )
    bug.code, bug.exit_code = "bug", 3
    return bug


def _kept_report(error: Exception, name: str, arguments: list[str]) -> str:
    """Where the report is: in a file, or on standard error where none can be written."""
    from clew.cli.core.crash import report_text, write_report

    try:
        path = shown_path(write_report(error, name, arguments))
    except Exception as trouble:  # noqa: BLE001 - the first error must not be lost to a second one
        reason = os_reason(trouble) if isinstance(trouble, OSError) else str(trouble)
        say(report_text(error, name, arguments))
        return (
            f"The report could not be written ({reason}). It is on standard error: please paste "
            "it into an issue."
        )
    return f"The report is in {path}: please paste it into an issue."
