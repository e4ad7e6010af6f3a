"""Conversations: every turn that was acknowledged is there, whole, and the next one can be said."""

from __future__ import annotations

import os
import signal

import pytest

from clew.advisors.conversation.store import database_path, opened_store
from tests.support.client import BIN
from tests.support.faults import (
    EIO,
    ENOSPC,
    KILL,
    assert_civil,
    chosen,
    clock,
    ended,
    is_stopped,
    need_strace,
    python,
    run,
    run_with,
    small_disk,
    start,
    steps_of,
)
from tests.support.proof import amount
from tests.support.waiting import wait_until

# Says turns, each upon the last one, and acknowledges each; tries again when others were quicker.
SPEAK = """
import os, signal, sqlite3, sys
from clew.advisors.documents.model import Facts
from clew.advisors.conversation.store import StoredDocument, Turn, opened_store
from clew.kit.errors import ClewError
name, count, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
try:
    with opened_store() as store:
        for number in range(count):
            version = None
            while version is None:
                before = store.load("c")
                said = f"{name}-{number}"
                text = said * 2000
                document = StoredDocument("vision.md", "vision", said, text, text)
                turn = Turn("vision_agent", {"text": said}, said, said, "", Facts(), (document,))
                if mode == "stop":
                    store._database.execute("BEGIN IMMEDIATE")
                    os.kill(os.getpid(), signal.SIGSTOP)
                version = store.save(before, turn)
            print(said, flush=True)
except (ClewError, OSError, sqlite3.OperationalError) as error:
    sys.exit(f"refused: {error}")
"""
# A turn as users make it; stops itself, lock in hand, before it is written.
STOPPED = """
import os, signal
from clew.advisors.conversation.turn import TurnRequest, take_turn
from clew.advisors.conversation.store import ConversationStore
from clew.kit.call import Call
save = ConversationStore.save
def stop_and_save(*words):
    os.kill(os.getpid(), signal.SIGSTOP)
    return save(*words)
ConversationStore.save = stop_and_save
take_turn(TurnRequest("vision_agent", "vision", "A shop.", conversation_id="c", save=False), Call())
"""


def speak(name, count, mode="go"):
    return python(SPEAK, name, count, mode)


def assert_all_there(*acknowledged):
    """What was acknowledged is there; every version is whole, and none is missing."""
    with opened_store() as store:
        found = store.load("c")
        if found.is_new:
            assert not acknowledged
            return
        told = store.export("c")
    summaries = [turn["summary"] for turn in told["turns"]]
    assert set(acknowledged) <= set(summaries)
    assert [turn["version"] for turn in told["turns"]] == list(range(1, found.version + 1))
    assert found.documents["vision.md"].text == found.title * 2000
    assert len(set(summaries)) == len(summaries)


@pytest.mark.parametrize("fault", amount([KILL], [KILL, EIO, ENOSPC]))
def test_a_fault_at_any_step(dice, faults, tmp_path, fault):
    need_strace()
    steps = steps_of(speak("calm", 3), tmp_path)
    said = ["calm-0", "calm-1", "calm-2"]
    for number, step in enumerate(chosen(dice, steps, amount(2, 10))):
        done = run_with(fault, step, speak(f"s{number}", 3))
        assert "Traceback" not in done.stderr, done.stderr
        said += done.stdout.split()
        assert_all_there(*said)
        assert run(speak(f"t{number}", 1)).stdout == f"t{number}-0\n"
        said.append(f"t{number}-0")
        faults.survived()
    assert_all_there(*said)


def test_a_full_and_a_read_only_disk(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk", 4) as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        said = run(speak("before", 2)).stdout.split()
        assert len(said) == 2
        for free in amount((8192,), (0, 8192, 40_000, 120_000)):
            disk.leave(free)
            done = run(speak(f"full{free}", 20))
            assert "Traceback" not in done.stderr
            said += done.stdout.split()
            disk.empty()
            assert_all_there(*said)
            faults.survived()
        with disk.read_only():
            assert "refused" in run(speak("never", 1)).stderr
        said += run(speak("after", 1)).stdout.split()
        assert_all_there(*said)


def test_many_speakers_from_two_machines_with_one_home(faults):
    speakers = [start(speak(name, amount(8, 40))) for name in ("one", "two", "three", "four")]
    assert [ended(speaker) for speaker in speakers] == [(0, "")] * 4
    every = [f"{n}-{i}" for n in ("one", "two", "three", "four") for i in range(amount(8, 40))]
    assert_all_there(*every)
    faults.survived()


def test_a_speaker_that_is_killed_in_a_transaction_holds_up_nobody(faults):
    assert run(speak("first", 1)).stdout == "first-0\n"
    stopped = start(speak("stopped", 1, "stop"))
    wait_until(lambda: is_stopped(stopped.pid))
    with opened_store() as store:
        assert store.load("c").title == "first-0"
    waiting = start(speak("second", 1))
    os.kill(stopped.pid, signal.SIGKILL)
    ended(stopped)
    assert ended(waiting) == (0, "")
    assert_all_there("first-0", "second-0")
    faults.survived()


@pytest.mark.thorough
def test_a_speaker_that_stays_stopped_is_named_instead_of_waited_for(faults):
    stopped = start(python(STOPPED))
    wait_until(lambda: is_stopped(stopped.pid))
    words = [BIN / "clariad", "vision", "A mill.", "--conversation", "c", "--no-save"]
    done = run(words)
    assert_civil(done)
    assert done.returncode == 1
    assert f"Process {stopped.pid}, which holds the lock " in done.stderr
    os.kill(stopped.pid, signal.SIGCONT)
    assert ended(stopped) == (0, "")
    assert run(words).returncode == 0
    with opened_store() as store:
        assert [turn["version"] for turn in store.export("c")["turns"]] == [1, 2]
    faults.survived()


@pytest.mark.thorough
def test_a_speaker_that_stays_stopped_in_a_transaction_is_told(faults):
    assert run(speak("first", 1)).stdout == "first-0\n"
    stopped = start(speak("stopped", 1, "stop"))
    wait_until(lambda: is_stopped(stopped.pid))
    assert run(speak("second", 1)).stderr == "refused: database is locked\n"
    assert_all_there("first-0")
    stopped.kill()
    ended(stopped)
    assert run(speak("third", 1)).stdout == "third-0\n"
    assert_all_there("first-0", "third-0")
    faults.survived()


@pytest.mark.thorough
def test_the_clock_jumps(faults):
    for offset in (10**9, -(10**9), 0):
        assert run(speak(f"at{offset}", 1), env=clock(offset)).stdout == f"at{offset}-0\n"
        faults.survived()
    assert_all_there("at1000000000-0", "at-1000000000-0", "at0-0")


@pytest.mark.thorough
def test_a_damaged_file_is_told(dice, faults):
    assert run(speak("first", 1)).returncode == 0
    for data in (b"", b"rubbish" * 1000, dice.randbytes(8192)):
        for file in database_path().parent.glob("conversations.sqlite3*"):
            file.unlink()
        database_path().write_bytes(data)
        done = run(speak("x", 1))
        assert "Traceback" not in done.stderr or "not a database" in done.stderr
        faults.survived()
