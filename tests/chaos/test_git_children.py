"""Git and what it starts end with Clew, however Clew ends."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from contextlib import contextmanager

import psutil
import pytest

from tests.support.client import BIN
from tests.support.faults import run, start
from tests.support.repos import Repository
from tests.support.waiting import wait_until


@contextmanager
def silent_server():
    """A server that takes connections and says nothing; gives its port and whether one came."""
    came = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve():
            try:
                while True:
                    held.append(server.accept()[0])
                    came.set()
            except OSError:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for one in held:
            one.close()


def below(process):
    """What a process started, and what that started."""
    return psutil.Process(process.pid).children(recursive=True)


def assert_gone(children):
    wait_until(lambda: not [child for child in children if _runs(child)])


def _runs(child):
    try:
        return child.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_clone_ends_with_the_command_that_asked_for_it(tmp_path, number):
    database = tmp_path / "db"
    assert run([BIN / "commitmux", "init", "--db", database]).returncode == 0
    with silent_server() as (port, came):
        url = f"git://127.0.0.1:{port}/x"
        command = [BIN / "commitmux", "add-repo", "--url", url, "--name", "x", "--db", database]
        process = start(command)
        assert came.wait(60)
        children = below(process)
        assert [child for child in children if child.name() == "git"]
        process.send_signal(number)
        process.communicate(timeout=60)
        assert_gone(children)
    refused = run([*command[:3], "git://127.0.0.1:1/x", *command[4:]])
    assert refused.returncode == 1
    assert not list(tmp_path.glob("clones/%partial*"))  # by the next clone at the latest


READING = """
import sys, time
from pathlib import Path
from clew.history.git.stream import DiffReader, read_commits
repository = Path(sys.argv[1])
reader, commits = DiffReader(repository), read_commits(repository, [sys.argv[2]])
reader.send([next(commits)])
print("reading", flush=True)
time.sleep(600)
"""


def test_readers_of_history_end_with_the_process_that_reads(tmp_path):
    """They write to nobody, and their input ends."""
    repository = Repository(tmp_path / "r")
    repository.commit("first", {"a": "1"})
    for _ in range(8):  # more than pipes hold, so that git is not done
        repository.commit("x" * 500_000)
    process = start([sys.executable, "-c", READING, repository.path, repository.head()])
    assert process.stdout.readline() == "reading\n"
    children = below(process)
    assert len(children) == 2
    process.kill()
    process.communicate(timeout=60)
    assert_gone(children)
