"""Streams that are closed, full, left by their reader, or cannot say a letter; odd homes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

import pytest

from tests.support.client import BIN

COMMANDS = ("version", "doctor", "guide", "tools", "completion bash")


def shell(line, **variables):
    """Run a line of bash in which `clew` is this program."""
    return subprocess.run(
        ("bash", "-o", "pipefail", "-c", line),
        capture_output=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **variables},
    )


def screen(line, columns, **variables):
    """What a line of bash shows on a terminal of this width."""
    mine, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    environment |= {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "TERM": "xterm"}
    running = subprocess.Popen(
        ("bash", "-c", line), stdin=other, stdout=other, stderr=other, env=environment | variables
    )
    os.close(other)
    shown = b""
    while True:
        try:
            piece = os.read(mine, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(mine)
    running.wait(120)
    return shown.decode().replace("\r\n", "\n")


def envelope(done):
    text = done.stdout.decode("ascii")
    found = json.loads(text)
    assert found["exit_code"] == done.returncode, text
    assert found["ok"] == (done.returncode == 0)
    return found


@pytest.mark.parametrize("words", [*COMMANDS, "version --json", "--help", "--version"])
def test_a_full_disk_is_told_in_one_line(words):
    done = shell(f"clew {words} >/dev/full")
    error = done.stderr.decode()
    assert done.returncode == 1, error
    assert error.count("\n") == 1
    assert "cannot be written: No space left on device" in error
    assert "bug" not in error


@pytest.mark.parametrize("words", [*COMMANDS, "version --json", "--help", "--version"])
def test_a_closed_output_is_told_in_one_line(words):
    done = shell(f"clew {words} >&-")
    assert done.returncode == 1
    assert done.stderr == b"clew: Standard output is closed\n"


def test_with_every_stream_closed_the_exit_code_is_left():
    assert shell("clew version <&- >&- 2>&-").returncode == 1


def test_words_for_standard_error_never_move_to_standard_output():
    done = shell("clew nope 2>&-")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_closed_input_is_an_empty_one():
    assert shell("clew version <&-").returncode == 0
    done = shell("clew init <&-")
    assert done.returncode == 2
    assert b"Nothing was selected, so nothing was changed" in done.stderr


@pytest.mark.parametrize("reader", ["true", "head -n 1", "sleep 0"])
@pytest.mark.parametrize("words", ["tools", "tools --all", "tools --json", "--help", "guide"])
def test_a_reader_that_leaves_is_silent_success(words, reader):
    for _ in range(3):
        done = shell(f"clew {words} | {reader}")
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_leaves_does_not_hide_a_failure():
    assert shell("clew nope 2>&1 | true").returncode == 2
    assert shell("clew nope --json | true").returncode == 2
    assert shell("clew doctor --project /nowhere | true").returncode == 1


def test_an_error_as_json_that_cannot_be_written_is_told_on_standard_error():
    done = shell("clew nope --json >/dev/full")
    assert done.returncode == 2
    assert b"No such command: nope" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict", "utf-8"])
def test_every_encoding_can_say_every_answer(encoding):
    found = envelope(shell("clew guide é --json", PYTHONIOENCODING=encoding))
    assert found["error"]["message"] == "No such topic: é"
    found = envelope(shell("clew guide $'\\xff' --json", PYTHONIOENCODING=encoding))
    assert found["error"]["message"] == r"No such topic: \xff"
    plain = shell("clew guide é; clew guide $'\\xff'", PYTHONIOENCODING=encoding)
    assert b"Traceback" not in plain.stderr
    assert rb"No such topic: \xff" in plain.stderr


ODD = {
    "plain": "",
    "home is a file": "export CLEW_HOME=/etc/passwd;",
    "home cannot be made": "export CLEW_HOME=/proc/x;",
    "home of nobody": "export CLEW_HOME='~nosuchuser/x';",
    "no HOME": "unset HOME CLEW_HOME;",
    "empty HOME": "unset CLEW_HOME; export HOME=;",
    "no git": "export PATH=$(dirname $(command -v clew));",
    "directory gone": "mkdir gone; cd gone; rmdir ../gone;",
    "name is no text": "mkdir $'d\\xff'; cd $'d\\xff'; git init -q .;",
    "ascii": "export PYTHONIOENCODING=ascii;",
    "C locale": "export LANG=C LC_ALL=C;",
    "no stdin": "exec <&-;",
    "no stderr": "exec 2>&-;",
    "root directory": "cd /;",
}
CALLS = (
    "version",
    "doctor",
    "guide",
    "guide nope",
    "tools",
    "tools --toolsets nope",
    "completion",
    "completion bash",
    "setup",
    "setup cursor --scope user --dry-run",
    "setup cursor --scope project --print",
    "init",
    "init --dry-run --host cursor",
    "uninit --dry-run",
    "nope",
)


@pytest.mark.parametrize("situation", ODD)
def test_json_is_one_object_in_every_situation(situation, tmp_path):
    for words in CALLS:
        (tmp_path / words).mkdir()
        place = f"cd '{tmp_path / words}';"
        done = shell(f"{place} {ODD[situation]} clew {words} --json")
        assert envelope(done)["exit_code"] in (0, 1, 2), words
        assert b"Traceback" not in done.stderr, words


@pytest.mark.parametrize("words", ["init", "uninit", "setup cursor --scope user"])
def test_a_directory_that_is_gone_is_no_bug(words, tmp_path):
    done = shell(f"mkdir {tmp_path}/gone; cd {tmp_path}/gone; rmdir {tmp_path}/gone; clew {words}")
    assert done.returncode in (0, 1, 2)
    assert b"bug" not in done.stderr
    assert b"Errno" not in done.stderr


def test_a_home_that_is_a_file_is_named_with_the_next_step():
    done = shell("clew setup cursor --scope user", CLEW_HOME="/etc/passwd")
    assert done.returncode == 1
    assert b"/etc/passwd" in done.stderr
    assert b"clew doctor" in done.stderr
    assert b"Errno" not in done.stderr


def test_a_narrow_terminal_gets_a_block_for_each_row():
    shown = screen("clew tools --toolsets guide; clew guide --list", 40, NO_COLOR="1")
    table = shown.partition("2 tools")[0]
    assert max(map(len, table.splitlines())) <= 40
    assert "tool         clew_guide" in table
    assert "which tool answers what" in table


def test_a_wide_terminal_gets_a_table_and_nothing_is_cut_off():
    shown = screen("clew tools --all", 80, NO_COLOR="1")
    assert shown.startswith("tool ")
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown


def test_colour_only_where_it_is_wanted():
    assert "\x1b[" in screen("clew doctor", 80)
    assert "\x1b" not in screen("clew doctor", 80, NO_COLOR="1")
    dumb = screen("clew doctor", 80, TERM="dumb")
    assert dumb.startswith("STATUS  CHECK")
    assert "\x1b" not in dumb
    assert "python" in screen("clew doctor", 80, LANG="C", LC_ALL="C")


def test_lists_join_when_an_option_is_given_again():
    again = "clew tools --tools clew_guide --tools clew_doctor --json"
    names = [tool["name"] for tool in envelope(shell(again))["data"]["tools"]]
    assert names == ["clew_guide", "clew_doctor"]
    less = "clew tools --exclude-tools clew_guide --exclude-tools clew_doctor --json"
    left = [tool["name"] for tool in envelope(shell(less))["data"]["tools"]]
    assert not {"clew_guide", "clew_doctor"} & set(left)
