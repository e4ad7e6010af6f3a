"""What may stand under the name of a file that Clew reads."""

import os

import pytest

from clew.catalog.faces import FACES
from clew.hosts.files import ledger
from clew.hosts.files.instructions import claude_file_note, write_block
from clew.hosts.files.ledger import read_bytes, read_ledger
from clew.hosts.register import check, make_target, register, unregister
from clew.hosts.table import HOSTS
from clew.kit.errors import ClewError, Invalid, Unavailable


def device(path):
    path.symlink_to("/dev/zero")


def directory(path):
    path.mkdir()


ODD = {"device": device, "named pipe": os.mkfifo, "directory": directory}


@pytest.fixture(params=ODD)
def odd(request):
    return request.param, ODD[request.param]


def test_a_plain_file_is_read_also_through_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"x" * 3_000_000)
    (tmp_path / "link").symlink_to("real")
    assert read_bytes(tmp_path / "link") == b"x" * 3_000_000
    assert read_bytes(tmp_path / "none") is None
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(Unavailable, match="cannot be read"):
        read_bytes(tmp_path / "loop")


def test_what_is_no_regular_file_is_refused(tmp_path, odd):
    kind, make = odd
    make(tmp_path / "f")
    with pytest.raises(Invalid, match=f"f is not a regular file but a {kind}"):
        read_bytes(tmp_path / "f")


def test_a_file_that_is_too_large_is_refused(tmp_path):
    with (tmp_path / "f").open("wb") as file:
        file.truncate(ledger.LARGEST + 1)
    with pytest.raises(Invalid, match="larger than 16 MiB"):
        read_bytes(tmp_path / "f")
    os.truncate(tmp_path / "f", ledger.LARGEST)
    assert len(read_bytes(tmp_path / "f")) == ledger.LARGEST


def test_a_file_that_hides_its_size_is_refused_too(monkeypatch):
    from pathlib import Path

    monkeypatch.setattr(ledger, "LARGEST", 10)
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    with pytest.raises(Invalid, match="larger than"):
        read_bytes(Path("/proc/self/status"))


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_an_odd_host_file_is_told_and_left_alone(machine, odd, host):
    target = make_target(HOSTS[host], "project", FACES["clew"], machine.project)
    target.path.parent.mkdir(exist_ok=True)
    odd[1](target.path)
    report = check(target)
    assert report.status == "broken"
    assert "not a regular file" in report.problem
    for action in (register, unregister):
        with pytest.raises(ClewError, match="not a regular file"):
            action(target, force=True)


def test_odd_instructions_and_ledgers_are_told(machine, odd):
    odd[1](machine.project / "AGENTS.md")
    with pytest.raises(ClewError, match="not a regular file"):
        write_block(machine.project, force=True)
    odd[1](machine.project / "CLAUDE.md")
    assert "not a regular file" in claude_file_note(machine.project)
    (machine.home / ".clew" / "ledger.json").unlink(missing_ok=True)
    odd[1](machine.home / ".clew" / "ledger.json")
    with pytest.raises(Invalid, match="not a regular file"):
        read_ledger()
