"""What the real programs printed, recorded with their versions, as Clew reads it.

Each directory is a program and its version: what it printed (`.out`, `.err`) with one answer of the
model's service, and how it exited; null is a program that went on trying and was stopped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.work.agents.failures import Watchdog, failure_of
from clew.work.agents.output import StreamReader
from clew.work.agents.programs import AGENTS
from clew.work.agents.usage import Price, Prices
from clew.work.model import Limits

STREAMS = Path(__file__).with_name("streams")
USUAL = {
    "good": None,
    "auth": "auth",
    "quota": "rate_limit",
    "overload": "overload",
    "error500": "network",
    "context": "context",
    "drop": "network",
    "refuse": "refusal",
    "garbage": "network",
}
# Where the program itself tells less, or gets over it.
OTHERWISE = {
    ("claude", "drop"): None,
    ("copilot", "refuse"): None,
    ("aider", "drop"): None,
    ("aider", "refuse"): None,
    ("qwen", "refuse"): None,
    ("qwen", "quota"): "idle",
    ("qwen", "overload"): "idle",
}
RECORDED = sorted(
    (directory.name, mode)
    for directory in STREAMS.iterdir()
    for mode in json.loads((directory / "exits.json").read_text(encoding="utf-8"))
)


def read(name, mode, prices=None):
    """The reader after all lines, and why the agent failed."""
    directory = STREAMS / name
    reader = StreamReader(AGENTS[name.rpartition("-")[0]].stream, prices=prices)
    for line in (directory / f"{mode}.out").read_text(encoding="utf-8").splitlines():
        reader.read(line)
    list(reader.rest())
    errors = directory / f"{mode}.err"
    lines = errors.read_text(encoding="utf-8").splitlines() if errors.exists() else []
    for line in lines:
        reader.read_error(line)
    code = json.loads((directory / "exits.json").read_text(encoding="utf-8"))[mode]
    if code is None:
        return reader, Watchdog(Limits(idle_seconds=0)).broken(reader)
    return reader, failure_of(code, reader, "\n".join(lines))


def recorded(program):
    """The name of a program's directory."""
    return next(name for name, _ in RECORDED if name.startswith(f"{program}-"))


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_every_ending_has_its_class(name, mode):
    _, failure = read(name, mode)
    program = name.rpartition("-")[0]
    expected = OTHERWISE.get((program, mode), USUAL[mode])
    assert (None if failure is None else str(failure.kind)) == expected


@pytest.mark.parametrize("name", sorted({name for name, _ in RECORDED}))
def test_good_streams_tell_what_was_done(name):
    reader, _ = read(name, "good")
    if name.startswith("aider"):
        assert reader.tokens.output > 0
        return
    assert reader.tool_calls == (3 if "ToolSearch" in stream_text(name) else 2)
    assert "Nothing is open" in (reader.final_text or reader.last_text)
    assert reader.trouble is None
    if not name.startswith("copilot"):
        assert reader.session_id
        assert (reader.tokens.input, reader.tokens.output) in {(3000, 150), (4000, 200)}


def stream_text(name):
    """The good stream of a program."""
    return (STREAMS / name / "good.out").read_text(encoding="utf-8")


def test_a_price_table_turns_tokens_into_costs_where_only_those_are_told():
    table = {"codex": Price(1.0, 10.0), "gpt": Price(9.0, 9.0)}
    reader, _ = read(recorded("codex"), "good", Prices(table, ("codex",)))
    assert reader.cost_usd == pytest.approx(0.0045)
    reader, _ = read(recorded("codex"), "good")
    assert reader.cost_usd is None


def test_a_cost_that_an_agent_tells_is_kept_whatever_a_table_says():
    reader, _ = read(recorded("claude"), "good", Prices({"claude": Price(99.0, 99.0)}, ("claude",)))
    assert reader.cost_usd == pytest.approx(0.02)


def test_the_cache_has_a_price_of_its_own():
    reader = StreamReader("codex", prices=Prices({"m": Price(2.0, 4.0, 0.5)}, ("m",)))
    usage = {"input_tokens": 1_000_000, "cached_input_tokens": 400_000, "output_tokens": 500_000}
    reader.read(json.dumps({"type": "turn.completed", "usage": usage}))
    assert reader.cost_usd == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.5 * 4)
