"""`clew doctor` as a real process: the table, the exit code, the repairs."""

import json
import os
import subprocess
import sys
import sysconfig

import pytest

SCRIPTS = sysconfig.get_path("scripts")


@pytest.fixture
def doctor(tmp_path):
    """Run `clew doctor` at home in an empty directory."""
    home = tmp_path / "home"
    home.mkdir()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CLEW", "CLAUDE", "XDG"))}

    def run(*words, **variables):
        environment = inherited | {
            "HOME": str(home),
            "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            [sys.executable, "-m", "clew", "doctor", *words],
            cwd=home,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    run.home = home
    return run


def test_a_table_with_the_repairs_below(doctor):
    done = doctor()

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("STATUS")
    table, repairs = done.stdout.split("To repair:\n")
    assert "warn    git identity" in table
    assert 'git config --global user.name "Your Name"' in repairs
    assert repairs.rstrip().endswith("no failures.")


def test_a_failure_is_exit_code_1(doctor, tmp_path):
    done = doctor("--project", str(tmp_path / "nowhere"))

    assert done.returncode == 1
    assert "fail    project" in done.stdout
    assert "1 failure." in done.stdout


def test_json_has_every_check(doctor):
    envelope = json.loads(doctor("--json").stdout)

    assert envelope["command"] == "clew doctor"
    assert envelope["data"]["ok"] is envelope["ok"] is True
    assert envelope["data"]["repaired"] == []
    names = {check["name"] for check in envelope["data"]["checks"]}
    assert {"python", "git", "sqlite", "home", "project", "commands"} <= names


def test_json_of_a_failure_keeps_the_checks(doctor, tmp_path):
    done = doctor("--json", "--project", str(tmp_path / "nowhere"))
    envelope = json.loads(done.stdout)

    assert (envelope["ok"], envelope["exit_code"]) == (False, 1)
    assert envelope["data"]["checks"]


def test_fix_closes_the_home_and_checks_again(doctor):
    place = doctor.home / ".clew"
    place.mkdir()
    place.chmod(0o755)
    (place / "http-token").write_text("x")
    (place / "http-token").chmod(0o644)
    assert doctor().returncode == 1

    done = doctor("--fix")

    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("Restricted ~/.clew (mode 0700)\nRestricted ~/.clew/http-token")
    assert place.stat().st_mode & 0o777 == 0o700
    assert "git config --global" in done.stdout, "what is not safe is still printed as a command"
    assert not (doctor.home / ".gitconfig").exists()


def test_without_fix_nothing_is_changed(doctor):
    place = doctor.home / ".clew"
    place.mkdir()
    place.chmod(0o755)
    done = doctor()

    assert "`clew doctor --fix`" in done.stdout
    assert place.stat().st_mode & 0o777 == 0o755


def test_no_git_at_all_is_a_finding_and_not_a_crash(doctor, tmp_path):
    done = doctor(PATH=str(tmp_path))

    assert done.returncode == 1
    assert "git is not installed" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("words", [("--nope",), ("extra",), ("--project",)])
def test_wrong_words_are_usage_errors(words, doctor):
    done = doctor(*words)

    assert done.returncode == 2
    assert done.stderr.startswith("clew: ")
    assert done.stdout == ""
