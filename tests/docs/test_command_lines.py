"""Command lines in the documents: each parses, and those that a newcomer types are run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from clew.catalog.command_table import WORK_COMMANDS
from clew.cli.faces import build_group
from tests.docs.foreign import make_foreign_repository
from tests.docs.pages import (
    PAGES,
    ROOT,
    blocks,
    inline_commands,
    name_of,
    our_commands,
    shell_lines,
    steps,
    text_of,
)
from tests.support.each import for_each

RUN = [
    ROOT / "README.md",
    ROOT / "docs" / "first-five-minutes.md",
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "how-to" / "from-a-mail.md",
    ROOT / "docs" / "how-to" / "from-a-decision.md",
    ROOT / "docs" / "how-to" / "talk-to-the-server.md",
]
PLACEHOLDERS = {
    "HOST": "codex",
    "ORDER": "1",
    "TOPIC": "hosts",
    "NAME": "chant",
    "FILE": "x",
    "DIRECTORY": "x",
}


def parse(words):
    """Parse a command line without running it."""
    face, *rest = [PLACEHOLDERS.get(word, word) for word in words]
    name, command, arguments, context = face, build_group(face), list(rest), None
    try:
        while isinstance(command, click.Group):
            context = command.make_context(name, arguments, parent=context)
            words = [*context._protected_args, *context.args]
            name, command, arguments = command.resolve_command(context, words)
        command.make_context(name, arguments, parent=context).close()
    except click.exceptions.Exit:
        pass  # --help and --version end here


@for_each(PAGES, name_of)
def test_command_lines_parse(path):
    for line in shell_lines(path):
        for words in our_commands(line):
            parse(words)


@for_each(PAGES, name_of)
def test_commands_in_the_text_exist(path):
    for face, *rest in inline_commands(path):
        group = build_group(face)
        context = click.Context(group)
        if rest[0].startswith("-"):
            known = {"--help", "--version", "-h"}
        else:
            command = group
            for word in rest:
                if isinstance(command, click.Group) and not word.startswith("-"):
                    command = command.get_command(context, word.partition("|")[0])
                    assert command is not None, f"{face} {' '.join(rest)}"
            known = {word for p in command.params for word in (*p.opts, *p.secondary_opts)}
        for word in rest:
            if word.startswith("--"):
                assert word.partition("=")[0] in {*known, "--help"}, f"{face} {' '.join(rest)}"


def test_the_parser_of_command_lines_notices_mistakes():
    assert our_commands("echo '{}' | clew serve && chant mcp --http; ls") == [
        ["clew", "serve"],
        ["chant", "mcp", "--http"],
    ]
    for words in (["clew", "nope"], ["clew", "tools", "--nope"], ["clew", "setup", "nobody"]):
        with pytest.raises(click.UsageError):
            parse(words)


class Shell:
    """Runs commands one after the other, as a person in one terminal does."""

    def __init__(self, place, home):
        self.place = place
        self.environment = {
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "GIT_CONFIG_GLOBAL": os.environ["GIT_CONFIG_GLOBAL"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, command):
        """What the command prints; it must succeed."""
        done = subprocess.run(
            ["bash", "-c", f"{command} && pwd > .here"],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, command):
        """Run a command; `cd` lasts."""
        if command.startswith("cd "):
            self.place = self.place / command[3:]
            assert self.place.is_dir(), command
            return ""
        output = self.run(command)
        (self.place / ".here").unlink()
        return output


def matches(shown, printed):
    """Whether the output is what the document shows, with `...` for anything."""
    pattern = ".*".join(map(re.escape, shown.rstrip("\n").split("...")))
    return re.fullmatch(pattern, printed.rstrip("\n"), re.DOTALL) is not None


@pytest.mark.parametrize("path", RUN, ids=name_of)
def test_what_a_newcomer_types_works_as_shown(path, tmp_path, private_home):
    shell = Shell(tmp_path, private_home)
    if path.name == "README.md":
        shell.run("git init --quiet . && echo '# Shop' > README.md && git add README.md")
        shell.run("git commit --quiet --message 'Say what it is'")

    if path.name == "first-five-minutes.md":
        make_foreign_repository(tmp_path)

    for step in steps(path):
        printed = shell.follow(step.command)

        assert matches(step.output, printed), f"$ {step.command}\n{printed}"


def test_output_is_compared_at_all():
    assert matches("a ... c", "a b c")
    assert matches("a\n...", "a\nb\nc")
    assert not matches("a", "a b")
    assert len(steps(ROOT / "docs" / "tutorial.md")) > 10


def json_rows():
    """The commands and keys that the JSON reference promises."""
    text = text_of(ROOT / "docs" / "reference" / "json.md")
    rows = re.findall(r"^\| `(clew [^`]+)` \| (`.*`) \|$", text, re.MULTILINE)
    return {command: re.findall(r"`(\w+)`", keys) for command, keys in rows}


HARMLESS = {
    "clew init": "clew init --host codex --dry-run --json",
    "clew uninit": "clew uninit --all --dry-run --json",
    "clew setup": "clew setup codex --dry-run --json",
    "clew setup --check": "clew setup codex --check --json || true",
    "clew setup --print": "clew setup codex --print --json",
    "clew completion": "clew completion bash --json",
}


@pytest.mark.parametrize("command", json_rows())
def test_json_data_has_the_keys_that_are_promised(command, tmp_path, private_home):
    shell = Shell(tmp_path, private_home)

    envelope = json.loads(shell.follow(HARMLESS.get(command, f"{command} --json")))

    assert list(envelope) == ["clew", "command", "ok", "exit_code", "data", "error"]
    assert sorted(envelope["data"]) == sorted(json_rows()[command])


# What these answer is what their rooms' tools answer, and is tested there.
OF_ROOMS = {
    *WORK_COMMANDS, "why", "brief", "recall", "trace", "web", "board", "search", "log", "show",
    "grep", "blame", "owners", "co-change", "culprit", "hunks", "pickaxe", "worker", "add", "list",
    "ready", "edit",
}  # fmt: skip


def test_every_command_with_json_is_in_the_json_reference():
    group = build_group("clew")
    context = click.Context(group)
    for name in set(group.list_commands(context)) - OF_ROOMS:
        options = {word for p in group.get_command(context, name).params for word in p.opts}
        assert (f"clew {name}" in json_rows()) == ("--json" in options), name


def test_console_blocks_are_only_where_they_are_run():
    for path in PAGES:
        assert path in RUN or not blocks(path, "console"), f"{name_of(path)}: use sh, or run it"
