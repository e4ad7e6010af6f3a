"""Syncing history: what is indexed stays whole, and the next sync ends where a clean one does."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from contextlib import closing

import pytest

from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.repositories import register
from tests.history.index import check_text_indexes, content, hits, new_index, sync
from tests.support.client import BIN, StdioServer
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
    unprivileged,
)
from tests.support.proof import amount
from tests.support.repos import generate
from tests.support.waiting import wait_until

QUERIES = ("number7", "word17", "part3", "file5", "body")
CALLS = ("write", "pwrite64", "fsync", "fdatasync", "ftruncate", "unlink")
# A sync in small transactions, so that a fault has many places to hit.
SYNC = """
import sys
from pathlib import Path
from clew.history.sync import ingest
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.sync import bring_up_to_date
ingest._BATCH, ingest._TRANSACTION_COMMITS = 4, 12
store = SqliteHistory.open(Path(sys.argv[1]))
for repo in store.repos():
    bring_up_to_date(store, repo)
store.close()
"""
STOPPED = """
import os, signal, sys
from pathlib import Path
from clew.history.store.sqlite import SqliteHistory
store = SqliteHistory.open(Path(sys.argv[1]))
with store.locked():
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with branches and merges, and what a clean sync makes of it."""
    home = tmp_path_factory.mktemp("clean")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        made = generate(home / "r", 90)
        clean = new_index(home / "db", made)
    made.wanted = (content(clean), hits(clean, *QUERIES))
    clean.close()
    return made


def registered(path, repository):
    store = SqliteHistory.create(path)
    register(store, repository.path, name="r")
    store.close()
    return path


def commitmux(path, *words):
    return [BIN / "commitmux", *words, "--db", path]


def assert_readable(path):
    """What is there can be searched, and its parts agree."""
    store = SqliteHistory.open(path)
    check_text_indexes(store)
    hits(store, *QUERIES)
    store.close()


def assert_like_clean(path, repository):
    """One more sync, and all is as if nothing had happened."""
    store = SqliteHistory.open(path)
    assert sync(store).problems == ()
    assert (content(store), hits(store, *QUERIES)) == repository.wanted
    check_text_indexes(store)
    store.close()


@pytest.mark.parametrize("fault", amount([KILL], [KILL, EIO, ENOSPC]))
def test_a_fault_at_any_step(repository, dice, faults, tmp_path, fault):
    need_strace()
    steps = steps_of(python(SYNC, registered(tmp_path / "db", repository)), tmp_path, calls=CALLS)
    for number, step in enumerate(chosen(dice, steps, amount(1, 6))):
        path = registered(tmp_path / f"db{number}", repository)
        run_with(fault, step, python(SYNC, path))
        assert_readable(path)
        assert_like_clean(path, repository)
        faults.survived()


@pytest.mark.thorough
@pytest.mark.parametrize("fault", [EIO, ENOSPC])
def test_the_command_tells_a_fault_in_words(repository, dice, faults, tmp_path, fault):
    need_strace()
    command = commitmux(registered(tmp_path / "db", repository), "sync")
    steps = steps_of(command, tmp_path, calls=CALLS)
    for number, step in enumerate(chosen(dice, steps, amount(1, 4))):
        path = registered(tmp_path / f"db{number}", repository)
        assert_civil(run_with(fault, step, commitmux(path, "sync")))
        assert_like_clean(path, repository)
        faults.survived()


def test_a_full_disk(repository, tmp_path, faults):
    with small_disk(tmp_path / "disk", 8) as disk:
        for free in amount((100_000,), (0, 60_000, 100_000, 200_000)):
            path = registered(disk.path / f"db{free}", repository)
            disk.leave(free)
            done = run(commitmux(path, "sync"))
            assert_civil(done)
            assert done.returncode == 1 or free >= 200_000, done.stdout
            assert_civil(run(commitmux(path, "search", "body")))
            disk.empty()
            assert_readable(path)
            assert_like_clean(path, repository)
            path.unlink()
            faults.survived()


def test_files_that_may_not_grow(repository, tmp_path, faults):
    path = registered(tmp_path / "db", repository)
    limits = (resource.RLIMIT_FSIZE, (150_000, 150_000))
    done = run(commitmux(path, "sync"), limits=limits)
    assert_civil(done)
    assert done.returncode == 1
    assert_like_clean(path, repository)
    faults.survived()


def test_a_read_only_disk_is_still_searched(repository, tmp_path, faults):
    with small_disk(tmp_path / "disk") as disk:
        path = registered(disk.path / "db", repository)
        assert run(commitmux(path, "sync")).returncode == 0
        with disk.read_only():
            found = run(commitmux(path, "search", "number7"))
            assert found.returncode == 0, found.stderr
            assert "number7" in found.stdout
            refused = run(commitmux(path, "sync"))
            assert_civil(refused)
            assert refused.returncode == 1
        assert_like_clean(path, repository)
        faults.survived()


def test_a_read_only_directory_is_still_searched(repository, tmp_path, faults):
    """By somebody who may read the index, but not make the files beside it that WAL needs."""
    shared = tmp_path / "shared"
    path = registered(shared / "db", repository)
    assert run(commitmux(path, "sync")).returncode == 0
    search = unprivileged(commitmux(path, "search", "number7"))
    with closing(SqliteHistory.open(path)) as owner:
        for is_written in (True, False):
            shared.chmod(0o555)
            assert "number7" in run(search).stdout, is_written
            shared.chmod(0o755)
            owner.close()
            faults.survived()
    shared.chmod(0o555)
    refused = run(unprivileged(commitmux(path, "sync")))
    assert_civil(refused)
    assert "Choose a writable place" in refused.stderr
    shared.chmod(0o755)
    assert_like_clean(path, repository)


@pytest.mark.thorough
def test_a_server_that_may_only_read_sees_what_others_sync(tmp_path, faults):
    made = generate(tmp_path / "r", 5)
    shared = tmp_path / "shared"
    path = registered(shared / "db", made)
    words = [str(word) for word in unprivileged(commitmux(path, "serve"))]
    server = None
    for number in range(3):
        made.commit(f"fresh{number}", {f"{number}.txt": "new"})
        assert run(commitmux(path, "sync")).returncode == 0
        shared.chmod(0o555)
        server = server or StdioServer(words)
        call = {"name": "commitmux_search", "arguments": {"query": f"fresh{number}"}}
        assert f"fresh{number}" in server.result("tools/call", call)["content"][0]["text"]
        shared.chmod(0o755)
        faults.survived()
    server.close()


@pytest.mark.thorough
def test_a_sync_that_stays_stopped_is_named_instead_of_waited_for(repository, tmp_path, faults):
    path = registered(tmp_path / "db", repository)
    stopped = start(python(STOPPED, path))
    wait_until(lambda: is_stopped(stopped.pid))
    done = run(commitmux(path, "sync"))
    assert_civil(done)
    assert done.returncode == 1
    assert f"Process {stopped.pid}, which holds the lock " in done.stderr + done.stdout
    os.kill(stopped.pid, signal.SIGCONT)
    assert ended(stopped) == (0, "")
    assert_like_clean(path, repository)
    faults.survived()


@pytest.mark.thorough
def test_a_stopped_sync_holds_up_no_reader_and_no_later_sync(repository, tmp_path, faults):
    path = registered(tmp_path / "db", repository)
    store = SqliteHistory.open(path)
    syncing = start(python(SYNC, path))
    wait_until(lambda: store.commit_count(1) or syncing.poll() is not None)
    syncing.send_signal(signal.SIGSTOP)
    assert run(commitmux(path, "search", "body")).returncode == 0
    syncing.send_signal(signal.SIGCONT)
    assert ended(syncing) == (0, "")
    syncing = start(python(SYNC, path))
    syncing.send_signal(signal.SIGSTOP)
    syncing.kill()
    ended(syncing)
    store.close()
    assert_like_clean(path, repository)
    faults.survived()


@pytest.mark.thorough
def test_the_clock_jumps_between_syncs(repository, tmp_path, faults):
    path = registered(tmp_path / "db", repository)
    for offset in (10**9, -(10**9), 0):
        done = run(commitmux(path, "sync"), env=clock(offset))
        assert done.returncode == 0, done.stderr
        assert run(commitmux(path, "status"), env=clock(-offset)).returncode == 0
        faults.survived()
    assert_like_clean(path, repository)


def test_two_machines_sync_one_index(repository, tmp_path, faults):
    path = registered(tmp_path / "db", repository)
    machines = [
        start(python(SYNC, path), env={"CLEW_HOME": str(tmp_path / name)})
        for name in ("one", "two")
    ]
    for machine in machines:
        assert ended(machine) == (0, "")
    assert_like_clean(path, repository)
    faults.survived()


def test_a_damaged_index_is_told_and_can_be_built_again(repository, dice, tmp_path, faults):
    path = registered(tmp_path / "db", repository)
    assert run(commitmux(path, "sync")).returncode == 0
    whole = path.read_bytes()
    for _ in range(amount(1, 8)):
        spoilt = bytearray(whole)
        begin = dice.randrange(0, len(whole) - 5000)
        spoilt[begin : begin + 4096] = dice.randbytes(4096)
        path.write_bytes(spoilt)
        for words in (("search", "body"), ("sync",)):
            assert_civil(run(commitmux(path, *words)))
        faults.survived()
    for file in tmp_path.glob("db*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert_like_clean(registered(path, repository), repository)
