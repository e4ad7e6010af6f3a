"""`clew guide` as a real process."""

import json
import os
import subprocess
import sys

import pytest

from clew.guide.topics import topic_names


def run_clew(*words, cwd):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CLEW", "CLAUDE"))}
    return subprocess.run(
        [sys.executable, "-m", "clew", *words],
        cwd=cwd,
        env=environment | {"HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_prints_the_overview(tmp_path):
    done = run_clew("guide", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Clew\n")
    assert "Project: none." in done.stdout


def test_it_lists_the_topics(tmp_path):
    done = run_clew("guide", "--list", cwd=tmp_path)

    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == ["TOPIC", *topic_names()]


def test_json_carries_what_the_tool_answers(tmp_path):
    envelope = json.loads(run_clew("guide", "hosts", "--json", cwd=tmp_path).stdout)

    assert envelope["ok"] is True
    assert envelope["command"] == "clew guide"
    assert envelope["data"]["topic"] == "hosts"
    assert envelope["data"]["text"].startswith("# Agent hosts")


def test_the_json_list_names_the_rooms(tmp_path):
    data = json.loads(run_clew("guide", "--list", "--json", cwd=tmp_path).stdout)["data"]

    assert data["topics"][0] == {"name": "overview", "title": "Clew"}
    assert "guide" in data["rooms"]


@pytest.mark.parametrize(("words", "code"), [(("hostz",), 1), (("a", "b"), 2), (("--nope",), 2)])
def test_wrong_words_fail_plainly(words, code, tmp_path):
    done = run_clew("guide", *words, cwd=tmp_path)

    assert done.returncode == code
    assert done.stderr.startswith("clew: ")
    assert "Traceback" not in done.stderr
