"""The commands that say who may do what."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from clew.team.history.store import PostgresHistory


def clew(*words):
    """A finished command."""
    command = [sys.executable, "-m", "clew", *words]
    return subprocess.run(command, capture_output=True, check=False, text=True)


@pytest.fixture
def team_cli(team_database):
    PostgresHistory.create(team_database).close()

    def run(*words, code=0):
        done = clew("team", *words, "--database", team_database, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    return run


def test_groups_are_granted_and_withdrawn(team_cli):
    team_cli("grant", "makers", "de*", "x", "--scope", "write")
    team_cli("grant", "makers", "a*")
    assert team_cli("groups")["data"]["groups"] == [
        {"name": "makers", "patterns": ["a*"], "scope": "read"}
    ]
    team_cli("withdraw", "makers")
    assert team_cli("groups")["data"]["groups"] == []
    team_cli("withdraw", "makers", code=1)


def test_a_token_is_shown_once(team_cli):
    team_cli("token", "create", "ci", "--group", "makers", code=1)
    team_cli("grant", "makers", "de*")
    token = team_cli("token", "create", "ci", "--group", "makers")["data"]["token"]
    team_cli("token", "create", "ci", code=1)
    assert token not in json.dumps(team_cli("token", "list"))
    team_cli("token", "revoke", "ci")
    assert team_cli("token", "list")["data"]["tokens"][0]["revoked_at"]
    deeds = [one["tool"] for one in team_cli("audit")["data"]["audit"]]
    assert deeds == ["team token revoke", *["team token create"] * 2, "team grant", "team token create"]  # fmt: skip
    assert token not in json.dumps(team_cli("audit"))


def test_sign_in_is_set_up_shown_and_ended(team_cli):
    assert team_cli("sign-in")["data"]["signIn"] is None
    team_cli("sign-in", "--issuer", "https://idp.example", code=2)
    team_cli("sign-in", "--issuer", "http://idp.example", "--resource", "https://x/mcp", code=1)
    team_cli("sign-in", "--issuer", "https://idp.example", "--resource", "https://x.example/mcp")
    found = team_cli("sign-in")["data"]["signIn"]
    assert found["audiences"] == ["https://x.example/mcp"]
    team_cli("sign-in", "--off")
    assert team_cli("sign-in")["data"]["signIn"] is None


def test_a_server_with_sign_in_has_no_token_of_its_own(team_cli, team_database):
    team_cli("sign-in", "--issuer", "https://idp.example", "--resource", "https://x.example/mcp")
    done = clew("serve", "--http", "--no-auth", "--database", team_database)

    assert done.returncode == 2
    assert "sign in" in done.stderr
