"""Our own agent, against a service on this machine that answers from a script."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from clew.work.agents.builtin import LoopTools, tool_schemas
from clew.work.agents.completions import Reply, Service, ServiceFailed, Usage, _take
from tests.support.models.conversation import Tool
from tests.support.models.failures import Refusal
from tests.support.models.script import Answer
from tests.support.models.service import model_service


def call(name, text="", **given):
    return Answer(text, [(Tool(name, {}), given)])


BUSY = Refusal(429, {"error": {"message": "busy"}}, {"Retry-After": "0"})


@pytest.fixture
def model():
    """A case of the scripted service whose answers a test lays out."""
    with model_service() as service:
        case = service.case("c")
        case.url = service.url("c")
        yield case


def loop(model, tmp_path, *options):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "clew.work.agents.builtin", "--model", "m", *options,
         "--endpoint", model.url],
        input="Make a file.", capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_model_works_through_tools_until_it_says_so(model, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    model.answers += [
        BUSY,
        call("write_file", path="sub/a.txt", content="hello"),
        Answer("I think\nabout it"),
        call("run_command", "Now I look.", command="cat sub/a.txt"),
        call("task_complete", summary="Made it"),
    ]
    code, lines = loop(model, tmp_path)
    assert code == 0
    assert (tmp_path / "sub/a.txt").read_text(encoding="utf-8") == "hello"
    assert [line["type"] for line in lines] == [
        "system", "system", "assistant", "user", "assistant", "assistant", "assistant", "assistant",
        "user", "assistant", "result",
    ]  # fmt: skip
    texts = [
        line["message"]["content"][0].get("text") for line in lines if line["type"] == "assistant"
    ]
    assert texts == [None, "I think", "about it", "Now I look.", None, None], "line by line"
    tokens = {"input_tokens": 4000, "output_tokens": 200}
    assert lines[-1] == {"type": "result", "is_error": False, "result": "Made it", "usage": tokens}
    asked = model.asked[-1]
    assert (asked.body["model"], asked.body["stream"]) == ("m", True)
    assert asked.turns[-1].text == "exit 0\nhello"
    assert model.headers[-1]["Authorization"] == "Bearer k"


def test_ollama_is_asked_at_its_own_address_without_a_key(model, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    model.answers.append(call("task_complete", summary="ok"))
    assert loop(model, tmp_path, "--api", "ollama")[0] == 0
    assert "Authorization" not in model.headers[0]


def test_a_model_that_only_talks_is_asked_three_times(model, tmp_path):
    model.answers += [Answer("hm")] * 3 + [Answer("All is done already.")]
    code, lines = loop(model, tmp_path)
    assert (code, lines[-1]["result"]) == (0, "All is done already.")
    assert len(model.asked) == 4, "three nudges, no more"
    model.answers += [Answer("hm")] * 2
    code, lines = loop(model, tmp_path, "--max-turns", "2")
    assert (code, "Maximum turns" in lines[-1]["result"]) == (1, True)


def test_an_answer_that_was_cut_off_is_not_carried_out(model, tmp_path):
    half = {
        "id": "1", "type": "function",
        "function": {"name": "write_file", "arguments": '{"path": "a", "content": "ha'},
    }  # fmt: skip
    message = {"role": "assistant", "content": None, "tool_calls": [half]}
    model.answers += [
        {"choices": [{"message": message, "finish_reason": "length"}]},
        Answer("so long", stop="length"),
        call("task_complete", summary="ok"),
    ]
    assert loop(model, tmp_path)[0] == 0
    assert not (tmp_path / "a").exists()
    for asked in model.asked[1:]:
        assert "cut off" in asked.turns[-1].text


def test_a_refusal_ends_the_work(model, tmp_path):
    model.answers.append(Answer("Not this.", stop="refusal"))
    code, lines = loop(model, tmp_path)
    assert (code, lines[-1]["is_error"], lines[-1]["stop_reason"]) == (1, True, "refusal")
    assert lines[-1]["result"] == "The model refused: Not this."


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (Refusal(401, {"error": {"message": "who?"}}), 401, "answered 401: "),
        (Refusal(429, {}, {"Retry-After": "3600"}), 429, "(retry-after: 3600)"),
        ({"error": {"message": "no such model", "code": 400}}, 400, "no such model"),
    ],
)
def test_what_waiting_does_not_mend_is_told_at_once(model, tmp_path, answer, status, words):
    model.answers.append(answer)
    code, lines = loop(model, tmp_path)
    assert (code, lines[-1]["is_error"], lines[-1]["api_error_status"]) == (1, True, status)
    assert words in lines[-1]["result"]
    assert len(model.asked) == 1


@pytest.mark.parametrize("body", [{"hello": []}, [], "text", {"choices": []}, {"choices": [{}]}])
def test_a_foreign_body_is_an_error_and_no_crash(model, tmp_path, body):
    model.answers.append(body)
    code, lines = loop(model, tmp_path)
    assert (code, lines[-1]["result"]) == (1, "The model's service sent no chat completion")


def asking(model, waits, **more):
    said = []
    service = Service(
        f"{model.url}/v1/chat/completions", "m", None, said.append, waits.append, **more
    )
    return service, said


def test_a_stream_that_breaks_off_is_asked_for_again(model, monkeypatch):
    monkeypatch.setattr("clew.work.agents.completions.time.sleep", lambda _: None)
    model.mode = "drop"
    waits = []
    service, _ = asking(model, waits)
    prompt = {"role": "user", "content": "You are the worker for spec 1 of demo"}
    with pytest.raises(ServiceFailed, match="Connection error at "):
        service.ask([prompt], [])
    assert [(wait.attempt, wait.status) for wait in waits] == [(1, None), (2, None), (3, None)]
    assert len(model.asked) == 4


def test_a_date_says_when_to_ask_again(model, monkeypatch):
    slept = []
    monkeypatch.setattr("clew.work.agents.completions.time.sleep", slept.append)
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    model.answers += [Refusal(503, {}, {"Retry-After": soon}), Refusal(503, {}), Answer("ok")]
    service, said = asking(model, [])
    assert service.ask([{"role": "user", "content": "hi"}], []).text == "ok"
    assert 0 < slept[0] <= 50
    assert slept[1:] == [4.0], "without a word from the service, longer each time"
    assert "".join(said).split() == ["ok"]


def test_the_cost_that_a_service_tells_is_added_up():
    usage = Usage()
    for told in (
        {"prompt_tokens": 5, "completion_tokens": 1, "cost": 0.25},
        {"cost": 0.5},
        None,
        3,
    ):
        usage.add(told)
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (5, 1, 0.75)


def test_pieces_of_calls_find_their_call():
    reply = Reply()
    for piece in (
        {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{"}},
        {"index": 0, "function": {"arguments": "}"}},
        {"index": 0, "id": "b", "function": {"name": "y", "arguments": {"k": 1}}},  # as Ollama does
        "nonsense",
    ):
        _take(reply, {"tool_calls": [piece]})
    named = [(one["id"], one["function"]) for one in reply.calls]
    assert named == [
        ("a", {"name": "x", "arguments": "{}"}),
        ("b", {"name": "y", "arguments": '{"k":1}'}),
    ]


def test_files_outside_are_out_of_reach(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (top / "link").symlink_to(tmp_path / "secret")
    tools = LoopTools(top, read_only=False)
    for path in ("../secret", "/etc/passwd", "link", ".git/config", "a\0b"):
        ok, said = tools.call("read_file", {"path": path})
        assert not ok, said
    assert not tools.call("write_file", {"path": "link", "content": "y"})[0]
    assert tools.call("read_file", {"path": "gone"}) == (
        False,
        f"No such file or directory: {top / 'gone'}",
    )


def test_read_only_has_no_tools_that_write(tmp_path):
    names = [schema["function"]["name"] for schema in tool_schemas(read_only=True)]
    assert names == ["read_file", "list_files", "task_complete"]
    tools = LoopTools(tmp_path, read_only=True)
    assert tools.call("run_command", {"command": "touch x"}) == (
        False,
        "There is no tool run_command",
    )
    assert tools.call("read_file", {}) == (False, "Missing: path")
    (tmp_path / "a").write_text("1", encoding="utf-8")
    assert tools.call("list_files", {"path": "."}) == (True, "a")
