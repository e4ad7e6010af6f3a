"""The watch: killed, stopped or forged, there is never more than one, and the next one starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from clew.kit.errors import Conflict, NotFound
from clew.work.identity import identity_of, is_alive, send_signal
from clew.work.watched import is_watched, start_watch, stop_watch, watch_status
from tests.support.faults import eventually, is_stopped, small_disk
from tests.support.proof import amount
from tests.work_merging.making import Shop


@pytest.fixture
def shop(tmp_path):
    made = Shop(tmp_path / "shop")
    made.configure("watch:", "  poll_interval_ms: 100")
    yield made
    if is_watched(made.places):
        stop_watch(made.places, 10)


def kill(pid):
    """kill -9, and wait for the end."""
    process = identity_of(pid)
    send_signal(process, signal.SIGKILL)
    eventually(lambda: not is_alive(process))


def test_a_killed_watch_is_replaced(shop, faults):
    for _ in range(amount(1, 5)):
        pid = start_watch(shop.places)
        assert watch_status(shop.places)["watch_running"]
        kill(pid)
        assert not watch_status(shop.places)["watch_running"]
        with pytest.raises(NotFound, match="Watch is not running"):
            stop_watch(shop.places)
        faults.survived()
    shop.finished("001", {"new.txt": "new\n"})
    start_watch(shop.places)
    eventually(lambda: "new.txt" in shop.repo.text("ls-tree", "--name-only", "main"))


@pytest.mark.thorough
def test_a_watch_that_is_killed_while_it_merges_loses_nothing(shop, dice, faults):
    for number in range(amount(1, 6)):
        shop.finished(f"{number:03}", {f"{number}.txt": "new\n"})
        pid = start_watch(shop.places)
        eventually(lambda n=number: shop.entry(f"{n:03}"))
        kill(pid)
        start_watch(shop.places)
        name = f"{number}.txt"
        eventually(lambda n=name: n in shop.repo.text("ls-tree", "--name-only", "main").split())
        stop_watch(shop.places, 10)
        assert shop.repo.git("status", "--porcelain") == b""
        faults.survived()


@pytest.mark.thorough
def test_a_stopped_watch_is_still_the_one_watch(shop, faults):
    pid = start_watch(shop.places)
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: is_stopped(pid))
    with pytest.raises(Conflict, match="already running"):
        start_watch(shop.places)
    os.kill(pid, signal.SIGCONT)
    stop_watch(shop.places, 10)
    eventually(lambda: not is_watched(shop.places))
    faults.survived()


def test_the_pid_of_an_innocent_process_is_never_signalled(shop, faults):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent:
        for text in (str(innocent.pid), "1", "-1", "0", "999999999", "x", ""):
            shop.places.watch_pid.write_text(text)
            assert not watch_status(shop.places)["watch_running"]
            with pytest.raises(NotFound, match="Watch is not running"):
                stop_watch(shop.places)
            faults.survived()
        assert innocent.poll() is None
        innocent.stdin.close()
    assert innocent.returncode == 1


def test_a_full_disk_does_not_end_the_watch(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        shop = Shop(disk.path / "shop")
        shop.configure("watch:", "  poll_interval_ms: 100")
        pid = start_watch(shop.places)
        process = identity_of(pid)
        disk.leave(0)
        for _ in range(20):
            assert is_alive(process), (shop.places.store / "watch.stderr").read_text()
            time.sleep(0.05)
        disk.empty()
        shop.finished("001", {"new.txt": "new\n"})
        eventually(lambda: "new.txt" in shop.repo.text("ls-tree", "--name-only", "main"))
        stop_watch(shop.places, 10)
        eventually(lambda: not is_alive(process))
        faults.survived()
