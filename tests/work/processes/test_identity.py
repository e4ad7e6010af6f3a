"""Process identity: pids are given again, machines are restarted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

from clew.work.processes.identity import (
    RUN_VARIABLE,
    identity_of,
    is_alive,
    own_identity,
    processes_of_run,
    send_signal,
    stop_processes_of_run,
    wait_until_gone,
)
from tests.support.waiting import wait_until

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('deaf', flush=True); time.sleep(600)"
)


def test_a_process_is_itself():
    me = own_identity()
    assert me.pid == os.getpid()
    assert is_alive(me)
    assert identity_of(me.pid) == me


def test_a_reused_pid_is_another_process():
    assert not is_alive(replace(own_identity(), started="ticks-1"))


def test_after_a_restart_nobody_is_alive():
    assert not is_alive(replace(own_identity(), boot="another"))
    assert not is_alive(None)


def test_a_zombie_is_dead():
    child = subprocess.Popen(SLEEP)
    identity = identity_of(child.pid)
    child.kill()
    try:
        assert wait_until_gone(identity, 20)
    finally:
        child.wait()
    assert identity_of(child.pid) is None


def test_a_signal_never_reaches_another_process_of_the_same_pid():
    assert not send_signal(replace(own_identity(), started="ticks-1"), signal.SIGKILL)


def test_everything_of_a_run_is_found_and_ended_even_what_is_deaf():
    run_id = "20260101T000000-0badcafe"
    environment = {**os.environ, RUN_VARIABLE: run_id}
    deaf = subprocess.Popen(
        [sys.executable, "-c", DEAF],
        env=environment, start_new_session=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    plain = subprocess.Popen(SLEEP, env=environment)
    with deaf.stdout as out:
        assert out.readline() == b"deaf\n"
    wait_until(lambda: len(processes_of_run(run_id)) == 2)
    assert stop_processes_of_run(run_id, 0.3) == 2
    assert (deaf.wait(120), plain.wait(120)) == (-signal.SIGKILL, -signal.SIGTERM)
    assert stop_processes_of_run(run_id, 0.3) == 0
