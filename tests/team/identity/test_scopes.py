"""What somebody admitted may do: the scope of the token, the groups, and what is left behind."""

from __future__ import annotations

import json

import pytest

from clew.program import all_tools
from clew.team.identity.needs import SCOPES, need_of
from tests.support.client import modern
from tests.support.http import modern_headers

ADD = {"description": "Swim further"}


def owner(team, scope="admin"):
    return team.token(groups=["owners"], scope=scope, sub="u-2", email="olga@example.com")


@pytest.mark.parametrize("tool", all_tools(), ids=lambda tool: tool.prefixed_name)
def test_every_tool_needs_a_scope_that_fits_what_it_does(tool):
    need = need_of(tool)

    assert need.scope in SCOPES
    assert (need.scope == "read") <= tool.read_only


def test_a_token_without_a_scope_may_nothing(team):
    for token in (team.token(scope=None), team.token(scope="openid email")):
        status, headers, _ = team.send("tools/list", token=token)
        assert status == 403
        assert 'error="insufficient_scope", scope="read"' in headers["www-authenticate"]
        assert "resource_metadata=" in headers["www-authenticate"]


@pytest.mark.parametrize(
    ("tool", "scope"),
    [("chant_add", "write"), ("chant_work_start", "work"), ("climpt_reload", "admin")],
)
def test_the_missing_scope_is_named(team, tool, scope):
    lower = SCOPES[SCOPES.index(scope) - 1]
    for method in ("tools/call", "invoke_tool"):
        status, headers, body = team.send(method, {"name": tool}, token=owner(team, lower))
        assert status == 403
        assert f'error="insufficient_scope", scope="{scope}"' in headers["www-authenticate"]
        assert json.loads(body)["id"] == 1


def test_the_modern_era_is_held_to_the_same(team):
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": modern(None, name="chant_add", arguments=ADD),
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {owner(team, 'read')}", **modern_headers(body)}

    assert team.server.send("POST", body, headers)[0] == 403


def test_a_batch_with_one_forbidden_call_is_refused_whole(team):
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "chant_add"}},
    ]
    status, _, _ = team.server.send(
        "POST", batch, {"Authorization": f"Bearer {owner(team, 'read')}"}
    )

    assert status == 403


def test_groups_limit_what_a_token_allows(team):
    status, headers, body = team.call(team.token(scope="admin"), "climpt_reload")

    assert status == 403
    assert "www-authenticate" not in headers, "another token would not help"
    assert b"groups" in body


def test_the_project_of_the_server_is_for_those_who_see_its_repository(team):
    status, _, _ = team.call(team.token(scope="write"), "chant_spec_list")
    assert status == 403

    status, _, body = team.call(owner(team), "chant_spec_list")
    assert status == 200
    assert b"2026-11-18-001-abc" in body


def test_nobody_names_a_place_on_the_server(team):
    assert team.call(team.token(), "clew_guide", project="/")[0] == 403
    assert team.call(team.token(), "clew_guide")[0] == 200


def test_a_session_belongs_to_whom_it_was_given(team):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    _, headers, _ = team.send("initialize", hello, token=owner(team))
    session = {"Mcp-Session-Id": headers["mcp-session-id"]}

    assert team.send("tools/list", token=owner(team), headers=session)[0] == 200
    assert team.send("tools/list", token=team.token(), headers=session)[0] == 404
    for method in ("GET", "DELETE"):
        mine = {"Authorization": f"Bearer {team.token()}", **session}
        assert team.server.send(method, headers=mine)[0] in (404, 405)
    assert team.send("tools/list", token=owner(team), headers=session)[0] == 200


def test_a_task_belongs_to_whom_it_was_given(team):
    extension = {"extensions": {"io.modelcontextprotocol/tasks": {}}}

    def ask(token, method, **params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": modern(extension, **params)}
        headers = {"Authorization": f"Bearer {token}", **modern_headers(body)}
        return json.loads(team.server.send("POST", body, headers)[2])

    made = ask(
        owner(team), "tools/call", name="long_running_operation",
        arguments={"operation_name": "x", "duration_seconds": 0},
    )  # fmt: skip
    task = made["result"]["taskId"]

    assert ask(owner(team), "tasks/get", taskId=task)["result"]["taskId"] == task
    for method in ("tasks/get", "tasks/cancel"):
        assert "unknown task" in ask(team.token(), method, taskId=task)["error"]["message"]


def test_prompts_and_resources_of_the_server_are_not_offered(team):
    for method in ("prompts/list", "resources/list"):
        answer = json.loads(team.send(method, token=owner(team))[2])
        assert answer["error"]["code"] == -32601


def test_a_write_is_in_the_audit(team):
    status, _, body = team.call(owner(team), "chant_add", **ADD)
    assert (status, b'"isError":true' in body.replace(b" ", b"")) == (200, False), body
    newest = team.records.audit(1)[0]

    assert newest["person"] == "olga@example.com (u-2)"
    assert newest["client"] == "tests"
    assert newest["tool"] == "chant_add"
    assert newest["outcome"] == "done"
    assert json.loads(newest["arguments"])["description"] == ADD["description"]


def test_reading_is_not_in_the_audit(team):
    before = team.records.audit(1000)
    team.call(owner(team), "chant_spec_list")

    assert team.records.audit(1000) == before


def test_a_program_has_a_token_until_it_is_revoked(team):
    token = team.records.make_token("ci", "read", ["makers"], 1, "tests")
    kept = json.dumps(team.records.tokens())

    assert token not in kept
    assert b"demo" in team.call(token, "commitmux_list_repos")[2]
    assert team.call(token, "chant_add", **ADD)[0] == 403
    team.records.revoke_token("ci")
    assert team.call(token, "commitmux_list_repos")[0] == 401


def test_a_token_of_a_program_ends(team):
    token = team.records.make_token("brief", "read", ["makers"], 1e-9, "tests")

    assert team.call(token, "commitmux_list_repos")[0] == 401
