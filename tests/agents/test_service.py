"""The scripted model, judged by the makers' own clients; and the record that the page is made of."""

from __future__ import annotations

import importlib
import json
import urllib.error
import urllib.request

import pytest

from tests.agents import record
from tests.agents.install import PINS
from tests.agents.rows import ROWS
from tests.agents.setups import AGENTS, set_up
from tests.support.models import failures
from tests.support.models.conversation import Tool
from tests.support.models.script import Answer
from tests.support.models.service import FOREIGN, model_service

PROMPT = "You are the worker for spec 001 of demo. Tick it, or edit /tmp/specs/001.md. Go on."
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


@pytest.fixture(scope="module")
def service():
    with model_service() as running:
        yield running


@pytest.fixture
def anthropic():
    """The maker's package, imported for these tests only: it takes a second."""
    return importlib.import_module("anthropic")


@pytest.fixture
def openai():
    """The other maker's."""
    return importlib.import_module("openai")


@pytest.fixture
def claude(service, anthropic):
    with anthropic.Anthropic(base_url=service.url("c"), api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(service, openai):
    address = f"{service.url('c')}/v1"
    with openai.OpenAI(base_url=address, api_key="k", max_retries=0) as client:
        yield client


def ask(client, text=PROMPT, **more):
    tools = [{"name": "Bash", "input_schema": SHELL}]
    said = [{"role": "user", "content": text}]
    return client.messages.create(model="m", max_tokens=9, messages=said, tools=tools, **more)


def test_anthropics_client_reads_answers_and_streams(service, claude):
    case = service.case("c")
    whole = ask(claude)
    assert (whole.stop_reason, whole.content[1].name) == ("tool_use", "Bash")
    assert "git commit" in whole.content[1].input["command"]
    assert "sed -i" in whole.content[1].input["command"], "without a tool the file is edited"
    said = [{"role": "user", "content": PROMPT}]
    tools = [{"name": "Bash", "input_schema": SHELL}]
    with claude.messages.stream(model="m", max_tokens=9, messages=said, tools=tools) as stream:
        streamed = stream.get_final_message()
    assert streamed.content[1].input == whole.content[1].input
    assert case.worked[0].spec == "001"


def test_openais_client_reads_chat_answers_and_streams(service, gpt):
    case = service.case("c")
    function = {"name": "shell", "parameters": SHELL}
    given = {
        "model": "m",
        "messages": [{"role": "user", "content": PROMPT}],
        "tools": [{"type": "function", "function": function}],
    }
    whole = gpt.chat.completions.create(**given)
    call = whole.choices[0].message.tool_calls[0]
    assert (whole.choices[0].finish_reason, call.function.name) == ("tool_calls", "shell")
    chunks = list(gpt.chat.completions.create(**given, stream=True))
    pieces = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    text = "".join(piece.content or "" for piece in pieces)
    arguments = [c.function.arguments for piece in pieces for c in piece.tool_calls or []]
    assert text == whole.choices[0].message.content
    assert "".join(arguments) == call.function.arguments
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens == 1050
    case.answers.append(Answer("No.", stop="length"))
    assert gpt.chat.completions.create(**given).choices[0].finish_reason == "length"


def test_openais_client_reads_responses_and_streams(service, gpt):
    service.case("c")
    tools = [{"type": "function", "name": "shell", "parameters": SHELL, "strict": False}]
    given = {"model": "m", "input": PROMPT, "tools": tools}
    whole = gpt.responses.create(**given)
    assert whole.output[1].name == "shell"
    with gpt.responses.stream(**given) as stream:
        streamed = stream.get_final_response()
    assert streamed.output[1].arguments == whole.output[1].arguments
    assert streamed.output_text == whole.output_text == "I write the file and commit it."


def gemini(service, *, stream):
    body = {
        "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
        "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parameters": SHELL}]}],
    }
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    address = f"{service.url('c')}/v1beta/models/m:{verb}"
    request = urllib.request.Request(address, data=json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    events = [line.removeprefix("data: ") for line in lines if line]
    return [json.loads(event)["candidates"][0] for event in events]


def test_geminis_answers_come_whole_and_in_pieces(service):
    service.case("c")
    (whole,) = gemini(service, stream=False)
    *pieces, last = gemini(service, stream=True)
    text = "".join(piece["content"]["parts"][0]["text"] for piece in pieces)
    assert text == whole["content"]["parts"][0]["text"]
    assert last["content"]["parts"] == whole["content"]["parts"][1:]
    assert last["finishReason"] == "STOP"


@pytest.mark.parametrize("mode", failures.MODES)
def test_faults_are_what_the_clients_know(service, anthropic, openai, claude, gpt, mode):
    service.case("c", mode)
    kinds = {"auth": "AuthenticationError", "rate": "RateLimitError", "quota": "RateLimitError",
             "overload": "OverloadedError", "error500": "InternalServerError",
             "context": "BadRequestError"}  # fmt: skip
    with pytest.raises(anthropic.APIStatusError) as caught:
        ask(claude)
    assert type(caught.value).__name__ in (kinds[mode], "InternalServerError")
    retry = caught.value.response.headers.get("retry-after")
    assert retry == (str(failures.RETRY_SECONDS) if mode == "rate" else None)
    with pytest.raises(openai.APIStatusError) as told:
        gpt.responses.create(model="m", input=PROMPT)
    assert type(told.value).__name__ in (kinds[mode], "InternalServerError")
    with pytest.raises(urllib.error.HTTPError):
        gemini(service, stream=True)


def test_refusals_drops_and_foreign_bodies(service, openai, claude, gpt):
    case = service.case("c", "refuse")
    assert ask(claude).stop_reason == "refusal"
    assert gpt.responses.create(model="m", input=PROMPT).output[0].content[0].type == "refusal"
    assert ask(claude, text="A title, please").stop_reason == "end_turn", "not about a spec"
    case.mode = "drop"
    with pytest.raises(openai.APIConnectionError):
        gpt.responses.create(model="m", input=PROMPT)
    case.mode = "garbage"
    assert gpt.responses.create(model="m", input=PROMPT).to_dict() == FOREIGN


def test_a_slow_model_waits_after_the_first_step(service, claude):
    case = service.case("c", "slow")
    assert ask(claude).stop_reason == "tool_use"
    assert not case.held.is_set(), "the first step is answered at once"
    case.released.set()
    done = {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}
    said = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": [done]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}]},
    ]
    tools = [{"name": "Bash", "input_schema": SHELL}]
    answer = claude.messages.create(model="m", max_tokens=9, messages=said, tools=tools)
    assert (answer.stop_reason, case.held.is_set()) == ("end_turn", True)
    assert case.worked[-1].called == ["Bash"]


def test_every_program_is_pinned_and_set_up(tmp_path):
    assert {name for name in PINS if name != "node"} < set(AGENTS)
    for name in AGENTS:
        environment = set_up(name, tmp_path / name, "http://127.0.0.1:1/case")
        files = [p.read_text("utf-8") for p in (tmp_path / name).rglob("*") if p.is_file()]
        texts = [*environment.values(), *files]
        assert any("http://127.0.0.1:1/case" in text for text in texts), name


def test_the_record_shows_what_is_red_and_what_was_not_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FILE", tmp_path / "proven.json")
    kept = record.read()
    record.add(kept, "claude", "1", "good", ["of another version"], [])
    record.add(kept, "claude", "2", "good", [], ["cost"])
    record.add(kept, "claude", "2", "rate", ["failure class is agent, not rate_limit"], [])
    kept["together"] = {"agents": ["claude"], "date": "2026-01-01", "wrong": []}
    kept["repeated"] = {"runs": 3, "wrong": 0, "agents": {"claude": 3}, "date": "2026-01-01"}
    record.write(kept)
    text = record.tables(ROWS)
    assert "| Claude Code | 2 |" in text
    cells = {row: f"| `{row}` | {record.OPEN} |" for row in ROWS}
    cells |= {"good": f"| `good` | {record.GREEN} |", "rate": f"| `rate` | {record.RED} |"}
    assert [line for line in text.splitlines() if line in cells.values()] == list(cells.values())
    assert "- Claude Code, `rate`: failure class is agent" in text
    assert "all merged" in text
    assert "3 times in a row" in text


def test_tools_are_found_by_the_end_of_their_name():
    from tests.support.models.conversation import Conversation

    said = Conversation("chat", {}, tools=[Tool("mcp__chant__chant_check", {})])
    assert said.tool("nothing", "chant_check").name == "mcp__chant__chant_check"
    assert said.tool("check_it") is None
