"""The frame of every command: exit codes, the JSON envelope, errors with the next step."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import click
import pytest

from clew import __version__
from clew.catalog.command_table import COMMANDS, summaries
from clew.cli.core import app as frame
from clew.cli.core.app import LazyGroup, command, run
from clew.cli.core.crash import report_text
from clew.cli.core.render import plain_table
from clew.cli.faces import build_group
from clew.kit.errors import Conflict
from clew.kit.outcome import Outcome, Table
from clew.program import all_tools
from tests.support.client import BIN

ENVELOPE = {"clew", "command", "ok", "exit_code", "data", "error"}


def clew(*words, name="clew", **settings):
    return subprocess.run(
        (str(BIN / name), *words),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
        **settings,
    )


REFUSALS = {
    "closed": PermissionError(13, "Permission denied", "/some/file"),
    "full": OSError(28, "No space left on device", "/some/file"),
    "taken": FileExistsError(17, "File exists", "/some/file"),
    "slow": TimeoutError("It took too long"),
    "misused": io.UnsupportedOperation("fileno"),
    "elsewhere": BrokenPipeError(32, "Broken pipe"),
}


@command()
@click.option("--how", default="well")
def act(how):
    """Do something, in a way that can be chosen."""
    if how == "badly":
        raise Conflict("It exists already", "Choose another name.")
    if how == "wrongly":
        raise ZeroDivisionError("secret detail")
    if how in REFUSALS:
        raise REFUSALS[how]
    if how == "interrupted":
        raise KeyboardInterrupt
    if how == "partly":
        return Outcome({"done": 1}, ("one of two",), exit_code=1)
    return Outcome({"how": how}, ("done " + how,))


@pytest.fixture
def group(monkeypatch):
    monkeypatch.setattr(frame, "_probe", act, raising=False)
    return LazyGroup(name="prog", entries={"act": ("clew.cli.core.app:_probe", "Do something.")})


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["act"], 0, "done well", ""),
        (["act", "--how", "partly"], 1, "one of two", ""),
        (["act", "--how", "badly"], 1, "", "It exists already\nChoose another name."),
        (["act", "--nope"], 2, "", "No such option"),
        (["atc"], 2, "", "Did you mean act?"),
        (["act", "--how", "interrupted"], 130, "", "Stopped."),
        (["act", "--how", "closed"], 1, "", "Permission denied: /some/file\nCheck its permissions"),
        (["act", "--how", "full"], 1, "", "No space left on device: /some/file\nFree some space"),
        (["act", "--how", "taken"], 1, "", "File exists: /some/file\nThe name is taken"),
        (["act", "--how", "slow"], 1, "", "prog: It took too long\n"),
        (["act", "--how", "misused"], 3, "", "This is a bug in Clew"),
        (["act", "--how", "elsewhere"], 1, "", "prog: Broken pipe\n"),
    ],
)
def test_exit_codes_and_where_words_go(group, capsys, words, code, out, err):
    assert run(group, "prog", words) == code
    printed = capsys.readouterr()
    assert out in printed.out
    assert err in printed.err
    assert bool(printed.err) == bool(err)


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["act", "--json"], 0, None),
        (["act", "--how", "partly", "--json"], 1, None),
        (["act", "--how", "badly", "--json"], 1, "conflict"),
        (["act", "--nope", "--json"], 2, "usage"),
        (["nope", "--json"], 2, "usage"),
        (["act", "--how", "wrongly", "--json"], 3, "bug"),
        (["act", "--how", "closed", "--json"], 1, "unavailable"),
        (["act", "--how", "interrupted", "--json"], 130, "cancelled"),
    ],
)
def test_json_is_one_envelope_whatever_happens(group, capsys, words, code, error):
    assert run(group, "prog", words) == code
    envelope = json.loads(capsys.readouterr().out)
    assert set(envelope) == ENVELOPE
    assert envelope["clew"] == 1
    assert envelope["exit_code"] == code
    assert envelope["ok"] == (code == 0)
    assert (envelope["error"] or {}).get("code") == error


def test_a_bug_leaves_a_report_and_shows_no_traceback(group, capsys, private_home):
    assert run(group, "prog", ["act", "--how", "wrongly"]) == 3
    shown = capsys.readouterr().err
    assert "ZeroDivisionError" in shown
    assert "secret detail" not in shown
    (report,) = (private_home / ".clew" / "crashes").iterdir()
    text = report.read_text(encoding="utf-8")
    assert "secret detail" in text
    assert "`prog act --how wrongly`" in text
    assert str(private_home) not in text
    assert report.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("home", ["/etc/passwd", "/proc/x", "~nosuchuser/x"])
def test_a_bug_without_a_place_for_its_report_is_still_reported(group, capsys, home, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", home)
    assert run(group, "prog", ["act", "--how", "wrongly"]) == 3
    shown = capsys.readouterr().err
    assert "### prog crashed: ZeroDivisionError" in shown
    assert "secret detail" in shown
    assert "The report could not be written (" in shown
    assert "Errno" not in shown
    assert run(group, "prog", ["act", "--how", "wrongly", "--json"]) == 3
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"]["code"] == "bug"
    assert "### prog crashed: ZeroDivisionError" in printed.err


def test_a_report_can_hold_words_that_are_no_text():
    assert r"`prog \xff`" in report_text(ZeroDivisionError("x"), "prog", ["\udcff"])
    assert r"\ud800" in report_text(ZeroDivisionError("\ud800"), "prog", [])


def test_json_behind_two_dashes_is_a_word(group, capsys):
    assert run(group, "prog", ["act", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_of_every_face_has_help(name):
    group = build_group(name)
    context = click.Context(group, info_name=name)
    for entry in group.list_commands(context):
        loaded = group.get_command(context, entry)
        assert loaded.help, entry
        assert summaries(COMMANDS[name])[entry].endswith(".")
        for parameter in loaded.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{entry} {parameter.name}"


def all_commands(group, prefix=""):
    """Every command below a group, by the words that call it."""
    context = click.Context(group)
    for entry in group.list_commands(context):
        loaded = group.get_command(context, entry)
        if isinstance(loaded, click.Group):
            yield from all_commands(loaded, f"{prefix}{entry} ")
        else:
            yield f"{prefix}{entry}", loaded


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_that_answers_takes_json(name):
    for words, loaded in all_commands(build_group(name)):
        options = {o for p in loaded.params for o in p.opts}
        assert ("--json" in options) == (words not in ("serve", "mcp")), words


def test_version_and_help_as_real_processes():
    assert clew("--version").stdout == f"clew {__version__}\n"
    for name in COMMANDS:
        done = clew("version", "--json", name=name)
        assert done.returncode == 0
        assert json.loads(done.stdout)["data"]["clew"] == __version__
        shown = "Understand code:" if name == "clew" else "Commands:"
        assert shown in clew(name=name).stdout


def test_a_reader_that_leaves_is_no_error():
    done = subprocess.run(
        f"{BIN / 'clew'} tools --all | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith("TOOL")
    assert done.stderr == ""


def test_tables_are_aligned_in_a_pipe():
    table = Table(("name", "size"), (("a", "1"), ("longer", "22")), title="Things")
    assert plain_table(table) == "Things\nNAME    SIZE\na       1\nlonger  22"


def test_tables_are_drawn_on_a_terminal():
    script = f"import pty, sys; sys.exit(pty.spawn([{str(BIN / 'clew')!r}, 'tools']))"
    done = subprocess.run(
        (sys.executable, "-c", script),
        capture_output=True,
        timeout=120,
        check=False,
        env={"TERM": "xterm", "PATH": "/usr/bin:/bin", "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
    )
    assert b"clew_guide" in done.stdout
    assert b"\x1b[2mtoolset" in done.stdout


def test_listing_commands_imports_none_of_them():
    script = (
        "import sys; from clew.cli.faces import run_face; run_face('clew', ['--help']);"
        "bad = [m for m in sys.modules if m in ('clew.cli.setup.register', 'clew.cli.setup.doctor', 'rich')];"
        "sys.exit(repr(bad) if bad else 0)"
    )
    done = subprocess.run(
        (sys.executable, "-c", script), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_tools_command_tells_what_a_server_offers():
    data = json.loads(clew("tools", "--json").stdout)["data"]
    assert [t["name"] for t in data["tools"]][:2] == ["clew_guide", "clew_doctor"]
    full = json.loads(clew("tools", "--all", "--json").stdout)["data"]
    assert len(full["tools"]) == len(all_tools())
    assert clew("tools", "--toolsets", "nope").returncode == 2
