"""A repository that the group may not see is invisible: every tool, with every way to ask for it."""

from __future__ import annotations

import json

import pytest

from clew.program import all_tools
from clew.team.identity.needs import INDEX, PROJECT, need_of
from tests.team.test_visibility import MARK, SECRET

SECRET_SHA = SECRET[0].meta.sha
# What is sent for a parameter of that name: what finds the secret if anything does. Of every other
# parameter that is a text, or a list of texts, it is the secret's mark.
VALUES = {
    "task": f"Tune {MARK}", "operation_name": "x",
    "duration_seconds": 0, "topic": "start", "path_glob": "**", "path": f"{MARK}/core.py",
    "paths": [f"{MARK}/*"], "repo": "secret", "repos": ["secret"], "sha": SECRET_SHA[:12],
    "shas": [SECRET_SHA], "issue": "#1", "target": f"{MARK}/core.py:1",
    "diff": f"--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+alpha {MARK}\n", "limit": 50, "start": 1, "end": 1,
}  # fmt: skip
LEFT_OUT = {
    "since",
    "until",
    "status",
    "ref",
    "in",
    "sort",
    "cursor",
    "mode",
    "direction",
    "rev",
    "project",
}
MARKS = {"string": MARK, "array": [MARK]}
NOWHERE = {"repo": "no-such", "repos": ["no-such"]}
TOOLS = [tool for tool in all_tools() if need_of(tool).reach == INDEX]
BOUND = [tool for tool in all_tools() if need_of(tool).reach != INDEX]
# Of these, whoever may see everything hears of the secret: so the questions above do ask for it.
TELLING = (
    "commitmux_search", "commitmux_touches", "commitmux_get_commit", "commitmux_get_patch",
    "commitmux_find", "commitmux_list_repos", "commitmux_pickaxe", "commitmux_file_history",
    "commitmux_owners", "commitmux_hotspots", "commitmux_hunks", "commitmux_by_issue",
)  # fmt: skip


def ways(tool):
    """Arguments that ask for the secret: by every parameter, by those required, and of any repository."""
    every = {}
    for name, schema in tool.declared_schema["properties"].items():
        value = VALUES.get(name, MARKS.get(schema["type"]))
        if name not in LEFT_OUT and value is not None and "enum" not in schema:
            every[name] = value
    needed = {name: every[name] for name in tool.input_schema.get("required", ())}
    anywhere = {name: value for name, value in every.items() if name not in ("repos", "paths")}
    return [every, needed, anywhere]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.prefixed_name)
def test_the_rest_is_invisible(team, tool):
    for arguments in ways(tool):
        status, said = answer(team, tool, arguments)
        assert status == 200, said
        for value in (MARK, SECRET_SHA):  # what the caller said itself may be repeated
            assert said.count(value) <= 2 * json.dumps(arguments).count(value), said
        other = {name: NOWHERE.get(name, value) for name, value in arguments.items()}
        assert answer(team, tool, other) == (status, said), "a name of nothing is told apart"


def answer(team, tool, arguments):
    """Status and text of an answer, the name of the repository that was asked for left out."""
    status, _, body = team.call(team.token(), tool.prefixed_name, **arguments)
    return status, body.decode().replace("secret", "NAME").replace("no-such", "NAME")


@pytest.mark.parametrize("name", TELLING)
def test_whoever_may_see_it_does(team, name):
    tool = next(tool for tool in TOOLS if tool.prefixed_name == name)
    token = team.token(groups=["owners"], scope="read")
    answers = [team.call(token, name, **arguments) for arguments in ways(tool)]

    assert any(MARK in body.decode() or "secret" in body.decode() for _, _, body in answers)


@pytest.mark.parametrize("tool", BOUND, ids=lambda tool: tool.prefixed_name)
def test_what_is_on_the_server_is_closed(team, tool):
    for scope in ("read", "admin"):
        status, _, body = team.call(team.token(scope=scope), tool.prefixed_name)
        assert status == 403
        assert MARK not in body.decode()


@pytest.mark.parametrize(
    "tool",
    [tool for tool in BOUND if need_of(tool).reach == PROJECT and tool.toolset == "thread"],
    ids=lambda tool: tool.prefixed_name,
)
def test_whoever_sees_the_project_is_let_in(team, tool):
    token = team.token(groups=["owners"], scope="admin")

    assert team.call(token, tool.prefixed_name, **VALUES)[0] == 200


def test_somebody_without_a_group_sees_nothing(team):
    for groups in ([], ["guests"], ["nobody-knows"], None, "makers2", {"a": 1}):
        token = team.token(groups=groups)
        status, _, body = team.call(token, "commitmux_list_repos")
        assert status == 200
        assert b"demo" not in body
        assert b"secret" not in body


def test_a_caller_cannot_widen_its_view(team):
    params = {
        "name": "commitmux_list_repos", "arguments": {}, "_meta": {"dev.clew/sees": "*"},
    }  # fmt: skip
    body = team.send("tools/call", params, token=team.token())[2]

    assert b"demo" in body
    assert b"secret" not in body


def test_the_lists_of_the_server_tell_nothing(team):
    for method in ("tools/list", "list_tools", "server/discover"):
        assert MARK.encode() not in team.send(method, token=team.token())[2]
