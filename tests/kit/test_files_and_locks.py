"""Atomic files, private directories, locks that end with their holder, secrets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from clew.kit import files
from clew.kit.errors import Conflict
from clew.kit.files import open_regular, private_directory, write_atomic
from clew.kit.locks import locked, try_lock
from clew.kit.project import load_secret


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    write_atomic(path, "one")
    path.chmod(0o640)
    write_atomic(path, b"two")
    assert path.read_text(encoding="utf-8") == "two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_mode_can_be_asked_for(tmp_path):
    write_atomic(tmp_path / "secret", "x", mode=0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_links_stay_links(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old", encoding="utf-8")
    link.symlink_to(real)
    write_atomic(link, "new")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "new"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")

    def fail(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


# Ends itself where the new bytes are on the disk, and the old file is still in its place.
KILLED = """
import os, sys
from pathlib import Path
from clew.kit.files import open_regular, write_atomic
os.fsync = lambda descriptor: os.kill(os.getpid(), 9)
write_atomic(Path(sys.argv[1]), "new")
"""


def test_a_killed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -9
    assert path.read_text(encoding="utf-8") == "old"
    if hasattr(os, "O_TMPFILE"):
        assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_file_system_without_nameless_files_is_written_too(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_NAMELESS", 0)
    write_atomic(tmp_path / "file", "one", mode=0o640)
    write_atomic(tmp_path / "file", "two")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "two"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_reader_never_sees_half_a_file(tmp_path):
    path = tmp_path / "file"
    texts = [letter * 50_000 for letter in "ab"]
    write_atomic(path, texts[0])
    done = threading.Event()
    seen = set()

    def read():
        while not done.is_set():
            seen.add(path.read_text(encoding="utf-8"))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(60):
        write_atomic(path, texts[turn % 2])
    done.set()
    reader.join()
    assert seen <= set(texts)


def test_private_directories_are_private_all_the_way(tmp_path):
    made = private_directory(tmp_path / "a" / "b" / "c")
    for directory in (made, made.parent, made.parent.parent):
        assert directory.stat().st_mode & 0o777 == 0o700
    assert private_directory(made) == made


HOLDER = (
    "import sys, time; from pathlib import Path; from clew.kit.locks import try_lock;"
    "held = try_lock(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
)


def test_a_lock_has_one_holder_and_ends_with_it(tmp_path):
    path = tmp_path / "lock"
    held = try_lock(path)
    assert held is not None
    assert try_lock(path) is None
    held.release()
    held.release()
    again = try_lock(path)
    assert again is not None
    again.release()


def test_a_lock_is_free_when_its_holder_was_killed(tmp_path):
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert try_lock(path) is None
        holder.kill()
        holder.wait()
        lock = try_lock(path)
        assert lock is not None
        lock.release()


def test_a_block_waits_for_its_lock(tmp_path):
    path, order = tmp_path / "lock", []

    def other():
        with locked(path):
            order.append("other")

    with locked(path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


@pytest.mark.parametrize("stopped", [False, True])
def test_a_lock_that_is_not_given_back_is_waited_for_a_while_only(tmp_path, stopped):
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        if stopped:
            holder.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
        with pytest.raises(Conflict) as refused, locked(path, 0.1):
            pytest.fail("two have it")
        holder.kill()
    text = refused.value.full_text()
    assert str(path) in text
    if sys.platform == "linux":
        assert f"rocess {holder.pid}, which holds the lock" in text
        assert ("kill -CONT" in text) == stopped
    with locked(path, 0.1):
        assert try_lock(path) is None


def test_racing_processes_agree_on_a_secret(private_home):
    script = "from clew.kit.project import load_secret; print(load_secret('race').hex())"
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    secrets = {process.communicate(timeout=120)[0] for process in processes}
    assert len(secrets) == 1
    assert secrets == {load_secret("race").hex() + "\n"}
    assert [p.name for p in (private_home / ".clew" / "secrets").iterdir()] == ["race"]


def test_only_regular_files_are_opened(tmp_path):
    plain, link, pipe = (tmp_path / name for name in ("plain", "link", "pipe"))
    plain.write_text("here", encoding="utf-8")
    link.symlink_to(plain)
    os.mkfifo(pipe)
    with open(open_regular(plain), encoding="utf-8") as stream:
        assert stream.read() == "here"
    for other in (link, pipe, tmp_path, tmp_path / "nothing"):
        with pytest.raises(OSError, match=other.name):
            open_regular(other)
