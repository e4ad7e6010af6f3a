"""Every command that takes a name or a path, found in the commands themselves, with hostile ones."""

from __future__ import annotations

import subprocess

import click
import pytest

from clew.catalog.command_table import COMMANDS
from clew.cli.faces import build_group
from tests.support.client import BIN
from tests.support.faults import assert_civil
from tests.support.proof import amount

# What goes on until it is stopped, writes where the caller says, or takes over the file that the
# caller names, which is its purpose.
LEFT_OUT = {"serve", "mcp", "web", "watch", "board", "chat", "snapshot", "completion", "import"}
WRITES_THERE = {"output", "out", "destination", "dest", "file", "project", "db", "directory"}
VALUES = (
    "../outside/canary.md",
    "--upload-pack=touch ../outside/pwned",
    "-c core.fsmonitor=touch\n../outside/pwned",
    "'; DROP TABLE commits; -- NEAR( \" * {{x}}",
)
SHARES = 6


def text_arguments(command):
    """The arguments of a command that take any text, in order."""
    return [
        one
        for one in command.params
        if isinstance(one, click.Argument) and not isinstance(one.type, click.Choice)
    ]


def leaves(group, words):
    """Each command below a group with its words, except what is left out."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if name in LEFT_OUT or command is None:
            continue
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        elif any(one.name not in WRITES_THERE for one in text_arguments(command)):
            yield (*words, name), command


def attacks():
    """Each command once, whatever the number of its faces, with a value for each try."""
    seen = set()
    for face in COMMANDS:
        for words, command in leaves(build_group(face), (face,)):
            if command.callback not in seen:
                seen.add(command.callback)
                taken = [one for one in text_arguments(command) if one.nargs == 1 or one.required]
                yield words, len(taken) or 1


ATTACKS = sorted(attacks())


def test_the_commands_are_found():
    assert len(ATTACKS) > 40
    assert {"advise", "command", "history", "spec", "why", "work"} <= {w[1] for w, _ in ATTACKS}


@pytest.mark.parametrize("share", range(amount(1, SHARES)))
def test_no_command_line_leads_outside(ground, share, record_property):
    """A short run takes every sixth command with one value; a full run takes all with all."""
    count = 0
    for words, number in ATTACKS[share::SHARES]:
        for value in VALUES[: amount(1, len(VALUES))]:
            given = [value] * min(number, 3)
            command = [BIN / words[0], *words[1:], "--", *given]
            done = subprocess.run(
                command,
                cwd=ground.root,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=60,
                check=False,
            )
            assert_civil(done)
            assert ground.secret not in done.stdout + done.stderr, command[1:]
            count += 1
        ground.assert_untouched()
    record_property("hostile calls", count)
