"""kill -9 and removal from outside: at moments that the programs themselves do not choose."""

from __future__ import annotations

import os
import signal
import site
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from clew.advisors.conversation.store import database_path
from clew.work.processes.identity import processes_of_run
from clew.work.runs.reconcile import reconcile
from tests.support.client import BIN
from tests.support.faults import assert_civil, run, start
from tests.support.proof import amount
from tests.support.repos import Repository
from tests.support.waiting import wait_until
from tests.work.conftest import end_runs
from tests.work.runs.conftest import House

ROOT = Path(__file__).parents[2]
PHASES = ("prepared", "worktree", "started", "agent_exited")
VICTIMS = ("command", "owner", "both")
PAIRS = [(phase, victim) for phase in PHASES for victim in VICTIMS]


@pytest.mark.parametrize(("phase", "victim"), amount(PAIRS[1::4], PAIRS))
def test_work_is_killed_from_outside(tmp_path, faults, phase, victim):
    """The command that started a run, the owner of the run, or both, once it is in a phase."""
    house = House(tmp_path / "house")
    house.spec("001", "edit a.txt", "commit a.txt", "tick", checks=["test -e a.txt"])
    words = [BIN / "chant", "work", "001", "--no-watch", "--no-merge", "--project", house.root]
    command = start(words)
    with house.work:
        wait_until(lambda: command.poll() is not None or has_reached(house, phase), 120)
        kill(command, house, victim)
        out, errors = command.communicate(timeout=120)
        assert "Traceback" not in out + errors
        latest = house.latest("001")
        wait_until(lambda: reconcile(house.work) or not house.run(latest.run_id).is_open, 120)
        if victim != "command":
            assert processes_of_run(latest.run_id) == []
        if house.status("001") != "completed":
            assert_civil(run(words))
        assert house.status("001") == "completed"
        assert "a.txt" in house.repo.text("ls-tree", "--name-only", "chant/001").split()
        house.repo.git("fsck", "--no-dangling")
        end_runs(house.work)
    faults.survived()


def has_reached(house, phase):
    """Whether the spec's run is that far, or further."""
    found = house.paths.journal.exists() and house.latest("001")
    return found and (found.phase not in PHASES or PHASES.index(found.phase) >= PHASES.index(phase))


def kill(command, house, victim):
    if victim in ("command", "both"):
        command.kill()
    owner = house.latest("001").owner
    if victim in ("owner", "both") and owner is not None:
        try:
            os.kill(owner.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


@pytest.mark.parametrize("turn", range(amount(2, 12)))
def test_a_conversation_is_killed_from_outside(tmp_path, faults, turn):
    """A turn as users make it is there whole or not at all, and the next one goes on with it."""
    project = Repository(tmp_path / "r").path
    words = [BIN / "clew", "advise", "vision", "--project", project, "--conversation", "c"]
    assert run([*words, "A shop for books. Users can search."]).returncode == 0
    before = turns()
    speaker = start([*words, "Users can also order books by post."])
    database, seen = database_path(), marks(project)
    # From one turn to the next a little later: the first change of a file, the second, ...
    wait_until(lambda: speaker.poll() is not None or len(marks(project) - seen) >= turn, 120)
    speaker.kill()
    out, errors = speaker.communicate(timeout=60)
    assert "Traceback" not in out + errors
    assert turns() in (before, before + 1)
    assert_civil(run([*words, "Users can pay by invoice."]))
    assert turns() > before
    assert_civil(run([BIN / "clew", "advise", "check", "--project", project]))
    with closing(sqlite3.connect(database)) as found:
        assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    faults.survived()


def turns():
    """How many turns the conversation has."""
    with closing(sqlite3.connect(database_path())) as database:
        return database.execute("SELECT count(*) FROM turns").fetchone()[0]


def marks(project):
    """What files there are, in which state."""
    places = [database_path().parent, project / "docs", project / ".clew", project]
    found = (file for place in places if place.is_dir() for file in place.iterdir())
    states = set()
    for file in found:
        with suppress(FileNotFoundError):  # one that is written anew under another name
            states.add((file, file.stat().st_mtime_ns))
    return states


def test_a_real_uninstall_leaves_what_was_there_before(tmp_path, faults, private_home):
    """Installed by pip into an empty environment, used, undone, uninstalled."""
    place, project = tmp_path / "venv", Repository(tmp_path / "r")
    project.commit("first", {"AGENTS.md": "Mine.\n"})
    environment(place, tmp_path / "wheel")
    before, mine = files(place), files(project.path) | files(private_home)
    pip(place, "install", "--no-deps", "--no-index", *(tmp_path / "wheel").glob("clew-*.whl"))
    for words in (
        ("clew", "init", "--host", "claude-code", "--host", "codex", "--yes"),
        ("chant", "init", "--name", "demo"),
        ("commitmux", "init"),
        ("commitmux", "add-repo", ".", "--name", "r"),
        ("commitmux", "sync"),
        ("commitmux", "install-hook", "r"),
        ("clew", "uninit", "--all"),
    ):
        done = run([place / "bin" / words[0], *words[1:]], cwd=project.path)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    pip(place, "uninstall", "--yes", "clew")
    assert files(place) == before
    left = files(project.path) | files(private_home)
    assert {file.name for file, _ in mine - left} == {"config"}  # git's, with the merge driver
    project.git("config", "--remove-section", "merge.chant-spec")
    assert mine <= files(project.path) | files(private_home)
    data = {".chant", ".clew", ".commitmux", ".git", ".gitattributes"}
    assert {file for file, _ in left - mine if not data & set(file.parts)} == set()
    project.commit("second", {"a.txt": "1\n"})
    assert project.text("log", "-1", "--format=%s") == "second"
    faults.survived()


def environment(place, wheel):
    """An environment without Clew that finds what Clew needs, and Clew as a wheel."""
    build = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", wheel, ROOT)
    assert run([sys.executable, "-m", "pip", "wheel", *build], timeout=600).returncode == 0
    assert run([sys.executable, "-m", "venv", "--without-pip", place]).returncode == 0
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(f"{site.getsitepackages()[0]}\n", encoding="utf-8")


def pip(place, *words):
    """Run pip for another environment."""
    pip_words = [sys.executable, "-m", "pip", "--python", place / "bin" / "python"]
    done = run([*pip_words, *words, "--disable-pip-version-check"], timeout=600)
    assert done.returncode == 0, done.stderr


def files(place):
    """The files below a place and what is in them."""
    found = (
        file for file in place.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
    return {(file, file.read_bytes()) for file in found}
