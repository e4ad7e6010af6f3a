"""The watch: killed, stopped or forged, there is never more than one, and the next one starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from clew.kit.errors import Conflict, NotFound
from clew.work.processes.identity import identity_of, is_alive, own_identity, send_signal
from clew.work.scheduling.start import start_watch
from clew.work.scheduling.watch import (
    is_watched,
    stop_watch,
    watch_lock,
    watch_status,
)
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
    run,
    run_with,
    small_disk,
    start,
    steps_of,
    turn,
)
from tests.support.proof import amount
from tests.support.waiting import wait_until
from tests.work.merging.making import Shop


def watch(root, *words):
    return [BIN / "chant", "watch", *words, "--project", root]


@pytest.fixture
def shop(tmp_path):
    made = Shop(tmp_path / "shop")
    made.configure("watch:", "  poll_interval_ms: 100")
    yield made
    if is_watched(made.paths):
        stop_watch(made.paths, 120)


def kill(pid):
    """kill -9, and wait for the end."""
    process = identity_of(pid)
    send_signal(process, signal.SIGKILL)
    wait_until(lambda: not is_alive(process))


def test_a_killed_watch_is_replaced(shop, faults):
    for _ in range(amount(1, 5)):
        pid = start_watch(shop.work)
        assert watch_status(shop.paths)["watch_running"]
        kill(pid)
        wait_until(lambda: not watch_status(shop.paths)["watch_running"])
        with pytest.raises(NotFound, match="Watch is not running"):
            stop_watch(shop.paths)
        faults.survived()
    shop.finished("001", {"new.txt": "new\n"})
    start_watch(shop.work)
    wait_until(lambda: "new.txt" in shop.repo.text("ls-tree", "--name-only", "main"))


@pytest.mark.thorough
def test_a_watch_that_is_killed_while_it_merges_loses_nothing(shop, dice, faults):
    for number in range(amount(1, 6)):
        shop.finished(f"{number:03}", {f"{number}.txt": "new\n"})
        pid = start_watch(shop.work)
        wait_until(lambda n=number: shop.entry(f"{n:03}"))
        kill(pid)
        start_watch(shop.work)
        name = f"{number}.txt"
        wait_until(lambda n=name: n in shop.repo.text("ls-tree", "--name-only", "main").split())
        stop_watch(shop.paths, 120)
        assert shop.repo.git("status", "--porcelain") == b""
        faults.survived()


@pytest.mark.thorough
def test_a_stopped_watch_is_still_the_one_watch_and_can_be_ended(shop, faults):
    pid = start_watch(shop.work)
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid))
    with pytest.raises(Conflict, match="already running"):
        start_watch(shop.work)
    stop_watch(shop.paths, 120)
    wait_until(lambda: not is_watched(shop.paths))
    faults.survived()


def test_the_pid_of_an_innocent_process_is_never_signalled(shop, faults):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent:
        for text in (str(innocent.pid), "1", "-1", "0", "999999999", "x", ""):
            shop.paths.watch_pid.write_text(text)
            assert not watch_status(shop.paths)["watch_running"]
            with pytest.raises(NotFound, match="Watch is not running"):
                stop_watch(shop.paths)
            faults.survived()
        assert innocent.poll() is None
        innocent.stdin.close()
    assert innocent.returncode == 1


@pytest.mark.thorough
def test_a_watch_that_runs_elsewhere_is_told_and_no_innocent_is_signalled(shop, faults):
    """In a container or on another machine its pid is that of some other process here."""
    own, lock = own_identity(), watch_lock(shop.paths)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent:
        pid, started = innocent.pid, identity_of(innocent.pid).started
        shop.paths.watch_pid.write_text(str(pid))
        for named in ("", str(pid), f"{pid} ticks-1 {own.boot}", f"{pid} {started} elsewhere"):
            (shop.paths.store / "watch.lock").write_text(named)
            with pytest.raises(Conflict, match="not as a process that can be seen from here"):
                stop_watch(shop.paths)
            faults.survived()
        assert innocent.poll() is None
        innocent.stdin.close()
    lock.release()


@pytest.mark.thorough
@pytest.mark.parametrize("homes", [("one", "two"), ("one", "one")])
def test_of_two_machines_that_share_a_checkout_one_watches(shop, tmp_path, faults, homes):
    for turns in range(3):
        machines = [
            start(watch(shop.root, "--background"), env={"CLEW_HOME": str(tmp_path / name)})
            for name in homes
        ]
        codes, told = zip(*map(ended, machines), strict=True)
        assert sorted(codes) == [0, 1]
        assert "Watch is already running" in "".join(told)
        stopping = start(watch(shop.root, "--stop"), env={"CLEW_HOME": str(tmp_path / "three")})
        assert ended(stopping) == (0, "")
        assert not is_watched(shop.paths), turns
        faults.survived()


@pytest.mark.thorough
@pytest.mark.parametrize("fault", [KILL, EIO, ENOSPC])
def test_a_fault_at_any_step_of_a_look(tmp_path, dice, faults, fault):
    need_strace()
    calm = Shop(tmp_path / "calm")
    calm.finished("001", {"new.txt": "new\n"})
    steps = steps_of(watch(calm.root, "--once"), tmp_path)
    for number, step in enumerate(chosen(dice, steps, 5)):
        shop = Shop(tmp_path / f"shop{number}")
        shop.finished("001", {"new.txt": "new\n"})
        done = run_with(fault, step, watch(shop.root, "--once"))
        # Where the fault hits a pipe of its own, which never fails elsewhere, Python says so.
        assert "Traceback" not in done.stderr.partition("Exception ignored")[0], done.stderr
        shop.repo.git("fsck", "--no-dangling")
        assert run(watch(shop.root, "--once")).returncode == 0
        assert shop.shown("new.txt") == "new\n"
        assert shop.repo.git("status", "--porcelain") == b""
        faults.survived()


@pytest.mark.thorough
def test_the_clock_jumps_while_it_watches(shop, tmp_path, faults, monkeypatch):
    shift = turn(tmp_path / "clock", 0)
    for name, value in clock(shift).items():
        monkeypatch.setenv(name, value)
    process = identity_of(start_watch(shop.work))
    for number, seconds in enumerate((10**9, -(10**9), 0)):
        turn(shift, seconds)
        shop.finished(f"{number:03}", {f"{number}.txt": "new\n"})
        name = f"{number}.txt"
        wait_until(lambda n=name: n in shop.repo.text("ls-tree", "--name-only", "main").split())
        assert is_alive(process)
        faults.survived()


@pytest.mark.thorough
def test_a_read_only_disk_is_told_and_does_not_end_the_watch(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        shop = Shop(disk.path / "shop")
        shop.configure("watch:", "  poll_interval_ms: 100")
        shop.finished("001", {"new.txt": "new\n"})
        with disk.read_only():
            refused = run(watch(shop.root, "--background"))
            assert_civil(refused)
            assert "Read-only file system" in refused.stderr
        old = shop.main()
        process = identity_of(start_watch(shop.work))
        wait_until(lambda: shop.main() != old)
        with disk.read_only():
            for _ in range(20):
                assert is_alive(process), (shop.paths.store / "watch.log").read_text()
                time.sleep(0.05)
            assert watch_status(shop.paths)["watch_running"]
            refused = run(watch(shop.root, "--background"))
            assert_civil(refused)
            assert refused.returncode == 1
        shop.finished("002", {"more.txt": "new\n"})
        wait_until(lambda: "more.txt" in shop.repo.text("ls-tree", "--name-only", "main"))
        stop_watch(shop.paths, 120)
        wait_until(lambda: not is_alive(process))
        faults.survived()


def test_a_full_disk_does_not_end_the_watch(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        shop = Shop(disk.path / "shop")
        shop.configure("watch:", "  poll_interval_ms: 100")
        pid = start_watch(shop.work)
        process = identity_of(pid)
        disk.leave(0)
        for _ in range(20):
            assert is_alive(process), (shop.paths.store / "watch.log").read_text()
            time.sleep(0.05)
        disk.empty()
        shop.finished("001", {"new.txt": "new\n"})
        wait_until(lambda: "new.txt" in shop.repo.text("ls-tree", "--name-only", "main"))
        stop_watch(shop.paths, 120)
        wait_until(lambda: not is_alive(process))
        faults.survived()
