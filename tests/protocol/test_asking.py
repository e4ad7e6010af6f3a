"""Questions in the middle of a call: sealed state for modern clients, live ones for legacy."""

from __future__ import annotations

import time

import pytest

from clew.protocol.errors import RpcError
from clew.protocol.kernel.seal import Seal
from tests.support.client import CLARIAD, EVERYTHING, StdioServer, modern

CAPABLE = {"elicitation": {}, "sampling": {}, "roots": {}}
ALICE = {"action": "accept", "content": {"name": "Alice"}}


def call(name, **extra):
    return modern(CAPABLE, name=name, arguments={}, **extra)


def test_a_question_and_its_answer():
    name = "test_input_required_result_elicitation"
    with StdioServer(EVERYTHING) as server:
        first = server.result("tools/call", call(name))
        assert first["resultType"] == "input_required"
        assert first["inputRequests"]["user_name"]["method"] == "elicitation/create"
        assert "ttlMs" not in first
        retry = call(name, inputResponses={"user_name": ALICE}, requestState=first["requestState"])
        second = server.result("tools/call", retry)
    assert second["resultType"] == "complete"
    assert second["content"][0]["text"] == "Hello, Alice!"


def test_answers_of_earlier_rounds_travel_in_the_sealed_state():
    name = "test_input_required_result_multi_round"
    with StdioServer(EVERYTHING) as server:
        one = server.result("tools/call", call(name))
        two = server.result(
            "tools/call",
            call(name, inputResponses={"step1": ALICE}, requestState=one["requestState"]),
        )
        assert set(two["inputRequests"]) == {"step2"}
        green = {"action": "accept", "content": {"color": "green"}}
        done = server.result(
            "tools/call",
            call(name, inputResponses={"step2": green}, requestState=two["requestState"]),
        )
    assert done["content"][0]["text"] == "Alice likes green"


def test_state_that_is_not_ours_is_refused():
    name = "test_input_required_result_elicitation"
    with StdioServer(EVERYTHING) as server:
        state = server.result("tools/call", call(name))["requestState"]
        body, _, signature = state.partition(".")
        flipped = ("A" if body[0] != "A" else "B") + body[1:]
        wrong = [
            f"{flipped}.{signature}",
            f"{body}.{'0' * len(signature)}",
            body,
            "",
            "x.é",
            5,
        ]
        for bad in wrong:
            retry = call(name, inputResponses={"user_name": ALICE}, requestState=bad)
            assert server.ask("tools/call", retry)["error"]["code"] == -32602
        other = call(
            "test_input_required_result_multi_round",
            inputResponses={"step1": ALICE},
            requestState=state,
        )
        error = server.ask("tools/call", other)["error"]
    assert "another request" in error["message"]


def test_sealed_state_expires_and_belongs_to_one_principal(monkeypatch):
    seal = Seal(b"k" * 32)
    params = {"name": "x", "arguments": {"a": 1}}
    state = seal.close({"q": {"action": "accept"}}, "tools/call", params, "me")
    assert seal.open(state, "tools/call", params, "me") == {"q": {"action": "accept"}}
    for method, given, principal in [
        ("prompts/get", params, "me"),
        ("tools/call", {"name": "x", "arguments": {"a": 2}}, "me"),
        ("tools/call", params, "you"),
    ]:
        with pytest.raises(RpcError, match="another request"):
            seal.open(state, method, given, principal)
    with pytest.raises(RpcError, match="not from this server"):
        Seal(b"j" * 32).open(state, "tools/call", params, "me")
    later = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(RpcError, match="expired"):
        seal.open(state, "tools/call", params, "me")


def test_only_declared_capabilities_are_asked_for():
    with StdioServer(EVERYTHING) as server:
        asked = modern({}, name="test_input_required_result_elicitation", arguments={})
        error = server.ask("tools/call", asked)["error"]
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"elicitation": {}}}
        old = server.result(
            "tools/call", {"name": "test_input_required_result_elicitation", "arguments": {}}
        )
    assert old["isError"] is True
    assert "elicitation" in old["content"][0]["text"]


def test_wrong_answers_are_asked_for_again():
    name = "test_input_required_result_elicitation"
    with StdioServer(EVERYTHING) as server:
        again = server.result("tools/call", call(name, inputResponses={"user_name": 5}))
        assert again["resultType"] == "input_required"
        error = server.ask("tools/call", call(name, inputResponses=[]))["error"]
        assert error["code"] == -32602


@pytest.mark.parametrize(("version", "has_mode"), [("2025-06-18", False), ("2025-11-25", True)])
def test_a_legacy_client_is_asked_live(version, has_mode):
    with StdioServer(EVERYTHING) as server:
        params = {"protocolVersion": version, "capabilities": {"elicitation": {}}}
        server.result("initialize", params)
        request_id = server.request(
            "tools/call", {"name": "test_input_required_result_multi_round", "arguments": {}}
        )
        for answer in ({"name": "Alice"}, {"color": "red"}):
            question = server.wait(lambda m: m.get("method") == "elicitation/create")
            assert ("mode" in question["params"]) is has_mode
            reply = {"action": "accept", "content": answer}
            server.send({"jsonrpc": "2.0", "id": question["id"], "result": reply})
        text = server.answer_to(request_id)["result"]["content"][0]["text"]
    assert text == "Alice likes red"


def test_a_legacy_client_that_refuses_or_leaves_is_no_crash():
    with StdioServer(EVERYTHING) as server:
        capabilities = {"capabilities": {"elicitation": {}}}
        server.result("initialize", {"protocolVersion": "2025-06-18", **capabilities})
        call_params = {"name": "test_input_required_result_elicitation", "arguments": {}}
        request_id = server.request("tools/call", call_params)
        question = server.wait(lambda m: m.get("method") == "elicitation/create")
        refusal = {"code": -32601, "message": "no"}
        server.send({"jsonrpc": "2.0", "id": question["id"], "error": refusal})
        assert server.answer_to(request_id)["result"]["isError"] is True
        request_id = server.request("tools/call", call_params)
        server.wait(lambda m: m.get("method") == "elicitation/create")
        server.process.stdin.close()
        assert server.answer_to(request_id)["result"]["isError"] is True
        assert server.process.wait(120) == 0


def test_state_sealed_by_one_process_opens_in_the_next(private_home):
    from clew.kit.project import load_secret

    first, second = load_secret("state"), load_secret("state")
    assert first == second
    assert len(first) == 32
    assert (private_home / ".clew" / "secrets" / "state").stat().st_mode & 0o777 == 0o600
    assert (private_home / ".clew").stat().st_mode & 0o777 == 0o700


def test_a_tool_that_never_asks_ignores_state_only_when_there_is_none():
    with StdioServer(CLARIAD) as server:
        arguments = {"operation_name": "x", "duration_seconds": 0}
        bad = modern(name="long_running_operation", arguments=arguments, requestState="forged.x")
        assert server.ask("tools/call", bad)["error"]["code"] == -32602
