"""The hook that reads a session when it ends: added beside the hooks of others, and taken back."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest

from clew.hosts.capture import CAPTURE, add_hook, remove_hook
from clew.hosts.files.ledger import read_ledger
from clew.hosts.table import HOSTS
from clew.hosts.undo import left_over, undo
from clew.kit.errors import Conflict, UsageError

WITH = [host for host in HOSTS.values() if host.capture]
OTHER = {"hooks": [{"type": "command", "command": "say done"}]}


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / ".clew"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "QWEN_HOME"):
        monkeypatch.delenv(name, raising=False)


def _read(report):
    text = report.path.read_text(encoding="utf-8")
    return tomllib.loads(text) if report.path.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize("host", WITH, ids=lambda host: host.key)
def test_a_hook_comes_and_goes(host, tmp_path):
    report = add_hook(host, tmp_path)
    assert report.status == "written"
    assert report.command[-2:] == ("sessions", "capture")
    held = _read(report)
    for name in host.capture.member:
        held = held[name]
    assert "capture" in json.dumps(held)
    assert add_hook(host, tmp_path).status == "already"
    assert remove_hook(host).status == "deleted"
    assert not report.path.exists()
    assert remove_hook(host).status == "absent"


@pytest.mark.parametrize("host", WITH, ids=lambda host: host.key)
def test_what_was_there_stays(host, tmp_path):
    path = add_hook(host, tmp_path, dry_run=True).path
    path.parent.mkdir(parents=True, exist_ok=True)
    if host.capture.is_command:
        text = '# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "other"\n'
    else:
        before, inner = {"theme": "dark"}, {host.capture.member[1]: [OTHER]}
        text = json.dumps({**before, "hooks": inner}, indent=4)
    path.write_text(text, encoding="utf-8")
    report = add_hook(host, tmp_path)
    held = _read(report)
    if not host.capture.is_command:
        assert held["hooks"][host.capture.member[1]][0] == OTHER
        assert len(held["hooks"][host.capture.member[1]]) == 2
    assert remove_hook(host).status == "restored"
    assert path.read_text(encoding="utf-8") == text


def test_what_came_since_stays(tmp_path):
    host = HOSTS["claude-code"]
    report = add_hook(host, tmp_path)
    held = _read(report)
    held["hooks"]["Stop"].append(OTHER)
    held["theme"] = "dark"
    report.path.write_text(json.dumps(held), encoding="utf-8")
    assert remove_hook(host).status == "removed"
    assert _read(report) == {"hooks": {"Stop": [OTHER]}, "theme": "dark"}


def test_another_program_of_codex_is_not_replaced(tmp_path):
    host = HOSTS["codex"]
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('notify = ["say", "done"]\n', encoding="utf-8")
    with pytest.raises(Conflict, match="another program"):
        add_hook(host, tmp_path)
    assert path.read_text(encoding="utf-8") == 'notify = ["say", "done"]\n'


def test_a_host_without_a_hook_says_so():
    with pytest.raises(UsageError, match="no hook"):
        add_hook(HOSTS["zed"], None)


def test_uninit_takes_the_hook_back(tmp_path):
    project = tmp_path / "shop"
    project.mkdir()
    report = add_hook(HOSTS["gemini"], project)
    assert [one["undo"] for one in left_over([])] == ["clew setup gemini --capture --remove"]
    (done,) = undo(project)
    assert (done["part"], done["status"]) == (CAPTURE, "deleted")
    assert not report.path.exists()
    assert not read_ledger().records


@pytest.mark.parametrize(
    "event", ["", "null", "{", '{"session_id": 7}', '{"transcript_path": "/x"}']
)
def test_the_hook_never_fails_and_says_nothing(event, tmp_path):
    words = [sys.executable, "-m", "clew", "sessions", "capture"]
    for given in ([event], []):
        done = subprocess.run(
            [*words, *given], input=event, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
