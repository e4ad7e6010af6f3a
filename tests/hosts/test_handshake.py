import os
import time
from pathlib import Path

import pytest

from clew.catalog.faces import FACES
from clew.hosts.handshake import HandshakeFailed, shake_hands
from clew.hosts.model import ServerWords
from tests.hosts.conftest import REAL_PYTHON


def test_a_server_is_greeted_and_its_tools_are_listed(machine):
    greeting = shake_hands(ServerWords("clew", ("serve",)))
    assert (greeting.name, greeting.version) == ("clew", "9.9")
    assert greeting.tools == ("one", "two", "three")
    assert greeting.protocol == "2025-11-25"
    assert "3 tools" in greeting.line


def test_every_page_of_tools_is_read(machine):
    machine.server("clew", "pages")
    assert len(shake_hands(ServerWords("clew", ("serve",))).tools) == 3


def test_lines_that_are_no_messages_are_passed_over(machine):
    machine.server("clew", "noise")
    assert shake_hands(ServerWords("clew", ("serve",))).name == "clew"


def test_the_entrys_environment_reaches_the_server(machine, monkeypatch):
    monkeypatch.setenv("WHICH", "four")
    words = ServerWords("clew", ("serve",), {"CLEW_EXTRA_TOOL": "${WHICH:-five}"})
    assert shake_hands(words).tools[-1] == "four"
    words = ServerWords("clew", ("serve",), {"CLEW_EXTRA_TOOL": "${MISSING:-five}"})
    assert shake_hands(words).tools[-1] == "five"


def test_a_desktop_host_does_not_find_a_program_of_the_shells_path(machine):
    with pytest.raises(HandshakeFailed, match="not find the program `clew`"):
        shake_hands(ServerWords("clew", ("serve",)), desktop=True)
    absolute = str(machine.programs / "clew")
    assert shake_hands(ServerWords(absolute, ("serve",)), desktop=True).name == "clew"


def test_a_crash_is_told_with_the_servers_last_words(machine):
    machine.server("clew", "crash")
    with pytest.raises(HandshakeFailed, match="ended with code 7") as caught:
        shake_hands(ServerWords("clew", ("serve",)))
    assert "no such module: whatever" in caught.value.message


def test_a_refusal_is_told_in_the_servers_words(machine):
    machine.server("clew", "refuse")
    with pytest.raises(HandshakeFailed, match="refused initialize: not today"):
        shake_hands(ServerWords("clew", ("serve",)))


def test_silence_ends_in_time_and_the_server_is_ended(machine):
    pid_file = machine.home / "pid"
    machine.program("clew", f"#!/bin/sh\necho $$ > {pid_file}\nexec sleep 600\n")
    for seconds in (1, 10, 100):  # as long as it takes here to start a program
        with pytest.raises(HandshakeFailed, match="did not answer initialize in time"):
            shake_hands(ServerWords("clew", ("serve",)), timeout=seconds)
        if pid_file.exists() and pid_file.read_text():
            break
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_a_server_that_stays_after_its_input_ends_is_ended(machine):
    machine.server("clew", "stay")
    started = time.monotonic()
    assert shake_hands(ServerWords("clew", ("serve",))).name == "clew"
    assert time.monotonic() - started < 300, "it would have stayed for ten minutes"


@pytest.mark.parametrize("face", FACES.values(), ids=lambda face: face.name)
def test_every_real_server_answers_a_desktop_host(machine, face):
    program = Path(REAL_PYTHON).parent / face.name
    words = ServerWords(str(program), (face.serve_command,))
    assert shake_hands(words, desktop=True).name == face.server_name
