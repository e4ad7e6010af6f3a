"""The five commands on PATH, and the optional parts."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from clew.doctor import machine
from clew.doctor.model import Subject

SCRIPTS = sysconfig.get_path("scripts")


def test_this_installation_first_on_path_is_good(monkeypatch):
    monkeypatch.setenv("PATH", SCRIPTS)

    assert machine.commands(Subject()).status == "ok"


def test_links_to_this_installation_are_good(tmp_path, monkeypatch):
    for name in machine.FACES:
        (tmp_path / name).symlink_to(Path(SCRIPTS, name))
    monkeypatch.setenv("PATH", str(tmp_path))

    assert machine.commands(Subject()).status == "ok"


def test_commands_not_on_path_are_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    check = machine.commands(Subject())

    assert check.status == "warn"
    assert "clew, chant, commitmux, climpt, clariad not on PATH" in check.summary
    assert check.fix == f'export PATH={SCRIPTS}:"$PATH"'


def test_another_program_of_the_same_name_is_named(program, monkeypatch):
    folder = program("chant", "echo I am another chant")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{SCRIPTS}")
    check = machine.commands(Subject())

    assert check.status == "warn"
    assert f"another program comes first: chant is {folder / 'chant'}" in check.summary
    monkeypatch.setenv("PATH", f"{SCRIPTS}{os.pathsep}{folder}")
    assert machine.commands(Subject()).status == "ok"


def test_a_run_from_source_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.sysconfig, "get_path", lambda *_: str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "clew")])

    assert "not installed" in machine.commands(Subject()).summary


def test_an_installed_extra_is_told(monkeypatch):
    monkeypatch.setattr(machine, "EXTRAS", {"tests": ("the tests", ("pytest",))})
    [check] = machine.extras(Subject())

    assert (check.name, check.summary) == ("extra tests", "Installed, for the tests")


@pytest.mark.parametrize("modules", [("no_such_module",), ("pytest", "no_such_module")])
def test_a_missing_extra_is_no_fault(modules, monkeypatch):
    monkeypatch.setattr(machine, "EXTRAS", {"more": ("more things", modules)})
    [check] = machine.extras(Subject())

    assert (check.status, check.fix) == ("ok", None)
    assert "Not installed" in check.summary
    assert "pip install 'clew[more]'" in check.detail
