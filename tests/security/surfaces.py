"""Every command of every face, called in this process with usual arguments."""

from __future__ import annotations

import click

from clew.catalog.command_table import COMMANDS
from clew.cli.core.app import run
from clew.cli.faces import build_group

# What goes on until it is stopped; `edit` opens an editor, which is the user's own.
ENDLESS = {"serve", "mcp", "web", "watch", "edit"}
# Called after all others, which need what these take away.
LAST = {"remove-repo", "uninit", "cancel", "archive", "delete"}
# More ways to ask, each with another path through the code.
VARIANTS = (
    ("commitmux", "sync", "--full"),
    ("commitmux", "gc", "--dry-run"),
    ("chant", "merge", "--list"),
    ("chant", "merge", "--dry-run", "--all"),
    ("chant", "cleanup", "--dry-run"),
    ("chant", "split", "{id}", "--dry-run"),
    ("chant", "watch", "--dry-run", "--once"),
    ("chant", "list", "{text}"),
    ("chant", "export", "--format", "markdown"),
    ("clariad", "review", "{id}", "--range", "HEAD~2..HEAD"),
    ("clew", "why", "{sha}"),
    ("commitmux", "culprit", "{repo}", "{sha}"),
    ("commitmux", "fixed-by", "{repo}", "{sha}"),
    ("commitmux", "hunks", "{repo}", "{sha}"),
    ("clew", "trust", "--all"),
    ("clew", "doctor", "--fix"),
)


def leaves(group, words):
    """Each command below a group with its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        elif command is not None:
            yield (*words, name), command


def command_lines(usual, left_out=ENDLESS):
    """Each command once, whatever the number of its faces, with a value for each argument."""
    lines = list(_command_lines(usual, left_out))
    return sorted(lines, key=lambda words: bool(LAST & set(words[:3])))


def _command_lines(usual, left_out):
    seen = set()
    for face in COMMANDS:
        for words, command in leaves(build_group(face), (face,)):
            if command.callback in seen or left_out & set(words):
                continue
            seen.add(command.callback)
            yield (*words, *_given(command, usual))
    for words in VARIANTS:
        if not left_out & set(words) or words[-1] == "--once":
            yield tuple(word.format(**usual) for word in words)


def _given(command, usual):
    """Values for what a command takes."""
    given = []
    for one in command.params:
        if isinstance(one, click.Argument) and (one.required or one.name in usual):
            given.append(str(usual.get(one.name, usual["text"])))
        elif isinstance(one, click.Option) and one.required:
            given += [one.opts[0], usual.get(one.name, "x")]
    return given


def call(words):
    """Run a command line here; its exit code."""
    return run(build_group(words[0]), words[0], list(words[1:]))
