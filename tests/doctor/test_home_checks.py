"""Clew's own directory: missing, open, shared, in the way, and repaired."""

import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from clew.doctor.checks import run_repairs
from clew.doctor.home import close_home, disk, home, secrets
from clew.doctor.machine import sqlite
from clew.doctor.model import Subject
from clew.kit.errors import Conflict

SUBJECT = Subject()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_home_is_fine_and_can_be_made(own_home):
    check = home(SUBJECT)
    assert check.status == "ok"

    assert run_repairs([check], SUBJECT) == ["Created ~/.clew (mode 0700)"]
    assert mode(own_home / ".clew") == 0o700
    assert home(SUBJECT).repair is None


def test_a_home_open_to_others_warns_and_is_closed(own_home):
    (own_home / ".clew").mkdir()
    (own_home / ".clew").chmod(0o755)
    check = home(SUBJECT)

    assert check.status == "warn"
    assert "mode 0755" in check.summary
    assert check.fix == "chmod 700 ~/.clew"
    assert run_repairs([check], SUBJECT) == ["Restricted ~/.clew (mode 0700)"]
    assert home(SUBJECT).status == "ok"


def test_a_home_elsewhere_is_named_safely_for_the_shell(tmp_path, monkeypatch):
    place = tmp_path / "my clew"
    place.mkdir()
    place.chmod(0o750)
    monkeypatch.setenv("CLEW_HOME", str(place))

    assert home(SUBJECT).fix == f"chmod 700 '{place}'"


def test_a_file_in_its_place_fails(own_home):
    (own_home / ".clew").write_text("")
    check = home(SUBJECT)

    assert (check.status, check.repair) == ("fail", None)
    assert check.fix == "mv ~/.clew ~/.clew.old"


def test_a_home_that_cannot_be_made_fails(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "file" / "clew"))
    check = home(SUBJECT)

    assert check.status == "fail"
    assert "cannot be created" in check.summary
    assert check.repair is None


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no directory that refuses root")
def test_a_home_that_refuses_files_fails(monkeypatch):
    monkeypatch.setenv("CLEW_HOME", "/proc/self/fd")
    check = home(SUBJECT)

    assert check.status == "fail"
    assert check.summary == "/proc/self/fd is not writable: No such file or directory"
    assert sqlite(SUBJECT).status == "ok"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_home_that_is_not_writable_fails_and_is_repaired(own_home):
    (own_home / ".clew").mkdir(mode=0o500)
    check = home(SUBJECT)

    assert check.status == "fail"
    run_repairs([check], SUBJECT)
    assert home(SUBJECT).status == "ok"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_home_of_another_user_fails(own_home):
    (own_home / ".clew").mkdir(mode=0o700)
    os.chown(own_home / ".clew", 12345, -1)
    check = home(SUBJECT)

    assert check.status == "fail"
    assert "another user" in check.summary
    assert check.fix.startswith("sudo chown")


@pytest.mark.parametrize("where", [".", ".."])
def test_a_directory_of_other_things_is_never_closed(where, own_home, monkeypatch):
    place = (own_home / where).resolve()
    place.chmod(0o755)
    monkeypatch.setenv("CLEW_HOME", str(place))
    check = home(SUBJECT)

    assert (check.status, check.repair) == ("fail", None)
    with pytest.raises(Conflict):
        close_home(SUBJECT)
    assert mode(place) == 0o755


def test_a_sticky_directory_counts_as_shared(tmp_path, monkeypatch):
    place = tmp_path / "like-tmp"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setenv("CLEW_HOME", str(place))

    assert home(SUBJECT).status == "fail"
    assert run_repairs([home(SUBJECT)], SUBJECT) == []


def test_a_repair_that_fails_is_told(own_home):
    check = home(SUBJECT)
    (own_home / ".clew").write_text("in the way")

    assert run_repairs([check], SUBJECT)[0].startswith("Not repaired: home: ")


def test_no_secrets_is_good():
    assert secrets(SUBJECT).status == "ok"


def test_an_open_secret_fails_and_is_closed(own_home):
    folder = own_home / ".clew" / "http"
    folder.mkdir(parents=True)
    for name in ("http-token", "keyboard.md"):
        (folder / name).write_text("x")
        (folder / name).chmod(0o644)
    check = secrets(SUBJECT)

    assert check.status == "fail"
    assert check.fix == "chmod 600 ~/.clew/http/http-token"
    run_repairs([check], SUBJECT)
    assert mode(folder / "http-token") == 0o600
    assert mode(folder / "keyboard.md") == 0o644
    assert secrets(SUBJECT).status == "ok"


def test_a_token_file_elsewhere_is_looked_at(tmp_path, monkeypatch):
    place = tmp_path / "elsewhere"
    place.write_text("x")
    place.chmod(0o640)
    monkeypatch.setenv("CLEW_TOKEN_FILE", str(place))

    assert secrets(SUBJECT).status == "fail"
    place.chmod(0o600)
    assert secrets(SUBJECT).status == "ok"


def test_everything_in_a_directory_of_secrets_is_one(own_home, monkeypatch):
    folder = own_home / ".clew" / "secrets"
    folder.mkdir(parents=True)
    (folder / "seal").write_text("x")
    (folder / "seal").chmod(0o644)
    (folder / "link").symlink_to(own_home / "elsewhere")

    assert secrets(SUBJECT).summary == "Readable by other users: ~/.clew/secrets/seal"


def test_files_of_worktrees_and_clones_are_none_of_its_business(own_home):
    """Sources may be named like secrets; their modes are git's."""
    for place in ("worktrees/shop-1/2026-01-01-001-abc", "clones/r/secrets", "texts"):
        folder = own_home / ".clew" / place
        folder.mkdir(parents=True)
        for name in ("keys.py", "token", "secret.txt"):
            (folder / name).write_text("x")
            (folder / name).chmod(0o644)
    check = secrets(SUBJECT)
    assert check.status == "ok"
    assert check.repair is None


def test_a_full_disk_is_named(monkeypatch):
    assert disk(SUBJECT).status == "ok"
    monkeypatch.setattr("shutil.disk_usage", lambda _place: SimpleNamespace(total=1e9, free=5e6))
    check = disk(SUBJECT)
    assert check.status == "fail"
    assert "The disk is almost full" in check.summary
    assert "5 MB free" in check.summary


def test_a_disk_that_takes_nothing_is_named(own_home, monkeypatch):
    (own_home / ".clew").mkdir(mode=0o700)

    def refuse(**_settings):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    check = home(SUBJECT)
    assert check.summary == "~/.clew is not writable: No space left on device"
    assert check.fix == "df -h ~/.clew"
    assert check.repair is None
