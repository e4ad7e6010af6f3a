"""What agents print, as events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.paths import ProjectPaths
from clew.work.agents.failures import failure_of, retry_after
from clew.work.agents.output import _READERS, StreamReader
from clew.work.journal.run_log import Event, EventKind, RunLog, log_state, read_events

CODEX = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "turn.started"},
    {"type": "item.started", "item": {"type": "command_execution", "command": "ls"}},
    {
        "type": "item.completed",
        "item": {"type": "command_execution", "aggregated_output": "a", "exit_code": 1},
    },
    {"type": "item.completed", "item": {"type": "agent_message", "text": "Done"}},
    {"type": "turn.completed", "usage": {"output_tokens": 3}},
]
GEMINI = [
    {"type": "init", "session_id": "g-1", "model": "flash"},
    {"type": "message", "role": "user", "content": "the prompt"},
    {"type": "tool_use", "tool_name": "ls", "tool_id": "1", "parameters": {"path": "."}},
    {"type": "tool_result", "tool_id": "1", "status": "success", "output": "a"},
    {"type": "message", "role": "assistant", "content": "Done", "delta": True},
    {"type": "result", "status": "success", "stats": {"total_tokens": 3}},
]
OPENCODE = [
    {"type": "step_start", "sessionID": "o-1", "part": {}},
    {
        "type": "tool_use",
        "sessionID": "o-1",
        "part": {
            "tool": "bash",
            "state": {"status": "completed", "input": {"command": "ls"}, "output": "a"},
        },
    },
    {"type": "text", "sessionID": "o-1", "part": {"text": "Done"}},
    {"type": "step_finish", "sessionID": "o-1", "part": {"cost": 0.1}},
    {"type": "step_finish", "sessionID": "o-1", "part": {"cost": 0.2}},
]
CURSOR = [
    {"type": "system", "subtype": "init", "session_id": "c-1", "model": "m"},
    {
        "type": "tool_call",
        "subtype": "started",
        "tool_call": {"readToolCall": {"args": {"path": "a"}}},
    },
    {
        "type": "tool_call",
        "subtype": "completed",
        "tool_call": {"readToolCall": {"result": {"ok": 1}}},
    },
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done"}]}},
    {"type": "result", "is_error": False, "result": "Done"},
]


def read_all(form, lines):
    reader = StreamReader(form)
    events = [event for line in lines for event in reader.read(json.dumps(line))]
    return reader, [str(event.kind) for event in events], events


@pytest.mark.parametrize(
    ("form", "lines", "session", "kinds"),
    [
        ("codex", CODEX, "t-1", ["state", "tool", "result", "text", "cost", "result"]),
        ("gemini", GEMINI, "g-1", ["state", "tool", "result", "text", "cost", "result"]),
        ("opencode", OPENCODE, "o-1", ["tool", "result", "text", "cost", "cost"]),
        ("claude", CURSOR, "c-1", ["state", "tool", "result", "text", "result"]),
    ],
)
def test_every_stream_gives_the_same_kinds_of_events(form, lines, session, kinds):
    reader, found, _ = read_all(form, lines)
    assert (reader.session_id, reader.last_text, reader.tool_calls) == (session, "Done", 1)
    assert reader.error_text is None
    assert found == kinds


def test_costs_add_up_where_an_agent_tells_them_by_step():
    reader, _, _ = read_all("opencode", OPENCODE)
    assert reader.cost_usd == pytest.approx(0.3)


def test_errors_that_agents_report_are_taken_up():
    for form, line in (
        ("claude", {"type": "result", "is_error": True, "result": "Prompt is too long"}),
        ("codex", {"type": "turn.failed", "error": {"message": "context window exceeded"}}),
        ("gemini", {"type": "result", "status": "error", "error": {"message": "maximum context"}}),
        (
            "opencode",
            {"type": "error", "error": {"name": "X", "data": {"message": "context length"}}},
        ),
    ):
        reader, _, _ = read_all(form, [line])
        failure = failure_of(0, reader, "")
        assert failure.kind == "context", form


def test_aider_tells_its_cost_in_words():
    reader = StreamReader("aider")
    reader.read("Tokens: 2k sent. Cost: $0.01 message, $0.05 session.")
    assert reader.cost_usd == 0.05


def test_any_program_may_print_text_or_the_common_stream():
    reader = StreamReader("either")
    assert reader.read('{"type": "mine"}')[0].kind is EventKind.TEXT
    assert reader.read("plain")[0].text == "plain"
    reader.read('{"type": "result", "result": "ok", "total_cost_usd": 1}')
    assert (reader.final_text, reader.cost_usd) == ("ok", 1.0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = ("message", "part", "item", "tool_call", "error", "usage", "result", "content", "session_id")
KINDS = tuple({line["type"] for lines in (CODEX, GEMINI, OPENCODE, CURSOR) for line in lines})


@given(
    st.sampled_from(sorted(_READERS)),
    st.sampled_from((*KINDS, "error", "turn.failed")),
    st.dictionaries(st.sampled_from(KEYS), JSON),
)
def test_no_stream_however_odd_breaks_a_reader(form, kind, rest):
    StreamReader(form).read(json.dumps({"type": kind, **rest}))


@given(st.sampled_from(sorted(_READERS)), st.text())
def test_no_text_breaks_a_reader(form, line):
    StreamReader(form).read(line)


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        (1, "HTTP 429 Too Many Requests", "rate_limit"),
        (1, "You've hit your usage limit", "rate_limit"),
        (1, "Invalid API key · Please run /login", "auth"),
        (1, "getaddrinfo ENOTFOUND api.example.com", "network"),
        (1, "assertion failed", "agent"),
        (-9, "", "killed"),
    ],
)
def test_failures_have_a_class(code, said, kind):
    assert failure_of(code, StreamReader("plain"), said).kind == kind


def test_success_is_no_failure_whatever_was_said_on_the_way():
    reader = StreamReader("plain")
    reader.read("error: 429 rate limit")
    assert failure_of(0, reader, "warning: 500") is None


def test_waiting_times_are_read():
    assert retry_after("Retry-After: 30") == 30
    assert retry_after("please try again in 5m") == 300
    assert retry_after("nothing of the kind") is None
    assert retry_after("retry-after: 999999") == 86400


def test_a_line_cut_off_by_a_kill_does_not_spoil_the_next(tmp_path):
    paths = ProjectPaths(tmp_path)
    log_state(paths, "001", "r", "first")
    for path in (paths.log_file("001"), paths.events_file("001")):
        with path.open("ab") as stream:
            stream.write(b'{"torn')
    log_state(paths, "001", "r", "second")
    assert [event["text"] for event in read_events(paths.events_file("001"))] == ["first", "second"]
    assert (
        paths.log_file("001").read_text(encoding="utf-8").splitlines()[-1].endswith("state: second")
    )


def test_odd_bytes_and_numbers_are_written_as_something_readable(tmp_path):
    paths = ProjectPaths(tmp_path)
    log = RunLog(paths, "001", "r")
    log.add(Event(EventKind.TEXT, "a\nb\udc80"))
    log.add(Event(EventKind.TOOL, "t", {"input": float("inf")}))
    log.close()
    assert len(read_events(paths.events_file("001"))) == 2
    assert paths.log_file("001").read_text(encoding="utf-8").count("\n") == 3
