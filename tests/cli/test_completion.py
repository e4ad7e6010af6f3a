"""Completion: the scripts, and the protocol that they speak with the installed programs."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from clew.catalog.command_table import COMMANDS, summaries
from clew.catalog.faces import FACES
from clew.cli.setup.completion import SHELLS, completion_script

SCRIPTS = Path(sysconfig.get_path("scripts"))


def environment(**more):
    return os.environ | {"PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"} | more


def complete(*words, face="clew", shell="bash", home, cwd=None):
    variables = {
        f"_{face}_COMPLETE".upper(): f"{shell}_complete",
        "COMP_WORDS": "\n".join(words) if shell == "bash" else " ".join(words),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
        "HOME": str(home),
    }
    done = subprocess.run(
        [SCRIPTS / face],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("face", FACES)
def test_every_face_completes_its_commands(face, tmp_path):
    found = complete(face, "", face=face, home=tmp_path)

    domains = ["plain,git", "plain,meta"] if face == "climpt" else []
    assert found == [*(f"plain,{name}" for name in summaries(COMMANDS[face])), *domains]


def test_a_beginning_narrows_the_choice(tmp_path):
    assert complete("clew", "do", home=tmp_path) == ["plain,doctor"]
    assert complete("clew", "zz", home=tmp_path) == [""]


def test_options_and_their_values_complete(tmp_path):
    assert "plain,--fix" in complete("clew", "doctor", "--", home=tmp_path)
    assert complete("clew", "doctor", "--project", "", home=tmp_path) == ["dir,"]
    assert complete("clew", "guide", "o", home=tmp_path) == ["plain,overview"]
    assert complete("clew", "completion", "", home=tmp_path) == [f"plain,{s}" for s in SHELLS]
    assert "plain,--version" in complete("clew", "--", home=tmp_path)


@pytest.mark.parametrize(
    ("face", "words", "expected"),
    [
        ("climpt", ("climpt", "doc"), ["plain,docs"]),
        ("climpt", ("climpt", "docs", ""), ["plain,read", "plain,write"]),
        ("climpt", ("climpt", "docs", "write", "p"), ["plain,page"]),
        ("climpt", ("climpt", "run", "docs", "w"), ["plain,write"]),
        ("climpt", ("climpt", "show", "docs", "write", ""), ["plain,page"]),
        ("clew", ("clew", "command", "run", "docs", ""), ["plain,read", "plain,write"]),
        ("climpt", ("climpt", "docs", "nope", ""), [""]),
    ],
)
def test_addresses_of_prompts_complete(face, words, expected, tmp_path):
    for address in ("docs/write/page", "docs/read/page"):
        path = tmp_path / "project/.agent/climpt/prompts" / address / "f_default.md"
        path.parent.mkdir(parents=True)
        path.write_text("Body", encoding="utf-8")
    home, project = tmp_path / "home", tmp_path / "project"
    assert complete(*words, face=face, home=home, cwd=project) == expected


def test_zsh_and_fish_speak_too(tmp_path):
    line = summaries(COMMANDS["clew"])["doctor"]

    assert complete("clew", "do", shell="zsh", home=tmp_path) == ["plain", "doctor", line]
    assert any("doctor" in row for row in complete("clew", "do", shell="fish", home=tmp_path))


def test_after_an_unknown_command_nothing_is_offered_and_nothing_said(tmp_path):
    assert complete("clew", "nope", "x", home=tmp_path) == [""]


def test_completing_a_command_imports_none(tmp_path):
    program = (
        "import sys\n"
        "from clew.faces import enter\n"
        "try:\n    enter('clew', [])\n"
        "except SystemExit:\n    pass\n"
        "print([m for m in sys.modules if m.startswith('clew.cli.')], file=sys.stderr)\n"
    )
    variables = {"_CLEW_COMPLETE": "bash_complete", "COMP_WORDS": "clew\n", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(**variables, HOME=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "plain,doctor" in done.stdout
    assert set(json.loads(done.stderr.replace("'", '"'))) <= {
        "clew.cli.faces",
        "clew.cli.core",
        "clew.cli.core.app",
        "clew.cli.core.streams",
        "clew.catalog.command_table",
        "clew.cli.core.render",
        "clew.cli.core.terminal",
    }


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("face", "words", "expected"),
    [("clew", ("clew", "gui"), "guide"), ("chant", ("chant", "mc"), "mcp")],
)
def test_the_script_works_in_a_real_bash(face, words, expected, tmp_path):
    quoted = " ".join(f"'{word}'" for word in words)
    program = (
        f'eval "$(clew completion bash --face {face})"\n'
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        f"_{face}_completion {face}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
        f"complete -p {face}\n"
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program],
        env=environment(HOME=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    reply, registered = done.stdout.splitlines()
    assert reply == expected
    assert f"-F _{face}_completion {face}" in registered


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("face", FACES)
def test_every_script_names_its_face_and_variable(shell, face):
    script = completion_script(shell, face)

    assert f"_{face.upper()}_COMPLETE" in script
    assert f"_{face}_completion" in script
    assert shell in script


def run_completion(*words, **variables):
    return subprocess.run(
        [SCRIPTS / "clew", "completion", *words],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_name_the_shell_in_use_counts(tmp_path):
    done = run_completion(SHELL="/usr/local/bin/zsh", HOME=str(tmp_path))

    assert done.returncode == 0
    assert done.stdout.startswith("#compdef clew")


def test_json_carries_the_script(tmp_path):
    done = run_completion("fish", "--face", "clariad", "--json", HOME=str(tmp_path))
    data = json.loads(done.stdout)["data"]

    assert (data["shell"], data["face"]) == ("fish", "clariad")
    assert "complete --no-files --command clariad" in data["script"]


@pytest.mark.parametrize(
    ("words", "shell", "message"),
    [
        ((), "/bin/tcsh", "No completion for the shell tcsh"),
        ((), "", "SHELL is not set"),
        (("powershell",), "/bin/bash", "powershell"),
        (("bash", "--face", "nobody"), "/bin/bash", "nobody"),
    ],
)
def test_what_cannot_be_is_a_usage_error(words, shell, message, tmp_path):
    done = run_completion(*words, SHELL=shell, HOME=str(tmp_path))

    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
