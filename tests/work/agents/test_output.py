"""What agents print, as events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.paths import ProjectPaths
from clew.work.agents.failures import Watchdog, failure_of
from clew.work.agents.output import _READERS, StreamReader
from clew.work.agents.trouble import retry_after, trouble_of
from clew.work.journal.run_log import Event, EventKind, RunLog, log_state, read_events
from clew.work.model import Limits

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


def test_a_number_alone_is_no_rate_limit():
    for said in ("Fixed 429 lines", "see issue 429", "took 503 ms", "ticket 401 is open"):
        assert failure_of(1, StreamReader("plain"), said).kind == "agent", said


def test_what_an_agent_talks_about_is_no_reason_where_it_has_fields_for_errors():
    reader = StreamReader("codex")
    item = {"type": "agent_message", "text": "I added a rate limit and quota tests."}
    reader.read(json.dumps({"type": "item.completed", "item": item}))
    assert failure_of(1, reader, "").kind == "crash"


@pytest.mark.parametrize(
    ("code", "kind"), [(-11, "crash"), (-6, "crash"), (-15, "killed"), (2, "crash")]
)
def test_a_program_that_ends_without_a_last_word_has_crashed(code, kind):
    assert failure_of(code, StreamReader("claude"), "").kind == kind


def api_retry(status, error, delay):
    line = {"type": "system", "subtype": "api_retry", "error_status": status, "error": error}
    return json.dumps({**line, "retry_delay_ms": delay})


@pytest.mark.parametrize(
    ("status", "error", "delay", "kind", "wait"),
    [
        (429, "rate_limit", 3_600_000, "rate_limit", 3600),
        (429, "rate_limit", 39_000, "rate_limit", None),
        (529, "overloaded", 500, "overload", None),
        (401, "authentication_failed", 3_600_000, "auth", None),
        (500, "server_error", 500, "network", None),
        (None, "unknown", 500, "network", None),
    ],
)
def test_an_idle_agent_fails_with_the_last_error_it_told(status, error, delay, kind, wait):
    reader = StreamReader("claude")
    reader.read(api_retry(status, error, delay))
    assert reader.is_stuck
    failure = Watchdog(Limits(idle_seconds=0)).broken(reader)
    assert (failure.kind, failure.retry_after) == (kind, wait)
    assert "Its last error: " in failure.message


def test_an_agent_that_would_wait_longer_than_it_may_is_ended_at_once():
    reader = StreamReader("claude")
    watchdog = Watchdog(Limits(idle_seconds=1800))
    reader.read(api_retry(429, "rate_limit", 600_000))
    assert watchdog.broken(reader) is None
    reader.read(api_retry(429, "rate_limit", 7_200_000))
    failure = watchdog.broken(reader)
    assert (failure.kind, failure.retry_after) == ("rate_limit", 7200)


def test_an_error_that_an_agent_got_over_is_forgotten():
    reader = StreamReader("claude")
    reader.read(api_retry(529, "overloaded", 500))
    reader.read(json.dumps(CURSOR[3]))
    assert (reader.trouble, reader.is_stuck) == (None, False)
    assert Watchdog(Limits(idle_seconds=0)).broken(reader).kind == "idle"


def test_an_agent_whose_answers_keep_breaking_off_is_ended_though_it_talks():
    said = json.dumps({"type": "text", "part": {"text": "I write the file and"}})
    cut = json.dumps({"type": "step_finish", "part": {"reason": "unknown"}})
    done = json.dumps({"type": "tool_use", "part": {"tool": "write", "state": {"status": "done"}}})
    reader, watchdog = StreamReader("opencode"), Watchdog(Limits(idle_seconds=1800))
    for line in [said, cut] * 9 + [said, done] + [said, cut] * 9:
        reader.read(line)
        assert watchdog.broken(reader) is None
    reader.read(said)
    reader.read(cut)
    failure = watchdog.broken(reader)
    assert failure.kind == "network"
    assert "broke off 10 times in a row" in failure.message


def test_the_services_own_error_is_found_inside_an_agents_words():
    inner = json.dumps({"error": {"code": "context_length_exceeded", "message": "too big"}})
    outer = json.dumps({"error": {"code": 400, "message": inner, "status": "INVALID"}})
    trouble = trouble_of(f"[API Error: {outer}]")
    assert (trouble.kind, trouble.message, trouble.status) == ("context", "too big", 400)
    assert trouble_of("{not json}").message == "{not json}"


def test_a_budget_that_the_program_itself_keeps_is_a_limit_of_cost():
    line = {"type": "result", "subtype": "error_max_budget_usd", "is_error": True}
    more = {"terminal_reason": "budget_exhausted", "errors": ["Reached maximum budget ($1)"]}
    reader, _, _ = read_all("claude", [{**line, **more}])
    failure = failure_of(1, reader, "")
    assert (failure.kind, "Reached maximum budget ($1)" in failure.message) == ("cost", True)


def test_answers_of_tools_are_told_by_codex():
    item = {"type": "mcp_tool_call", "server": "chant", "tool": "chant_check"}
    content = {"content": [{"type": "text", "text": "ticked"}]}
    for answer, said, ok in (
        ({"result": content, "error": None}, "ticked", True),
        ({"result": None, "error": {"message": "no such spec"}}, "no such spec", False),
    ):
        line = {"type": "item.completed", "item": {**item, **answer}}
        _, _, events = read_all("codex", [line])
        assert [(event.text, event.data["ok"]) for event in events] == [(said, ok)]


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
