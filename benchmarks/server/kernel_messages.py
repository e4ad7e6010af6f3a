"""The kernel alone, in this process: time per message, and how it grows with the message."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement.messages import call_echo, request
from benchmarks.measurement.sampling import (
    Sample,
    Series,
    compare,
    interleave,
    no_collection,
    summarize,
)
from benchmarks.results.report import Claim, Figure
from clew.kit import jsontext
from clew.kit.answer import Answer
from clew.protocol.kernel.connection import Connection
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.service import Service

NAME = "kernel_messages"
TITLE = "Kernel: time per message, in process"
FULL = {"rounds": 40, "messages": 2000, "bytes": 8 << 20}
QUICK = {"rounds": 5, "messages": 500, "bytes": 2 << 20}

SIZES = {"64 B": 64, "1 KiB": 1 << 10, "16 KiB": 16 << 10, "256 KiB": 256 << 10, "1 MiB": 1 << 20}
SMALLEST = next(iter(SIZES))
AT_ONCE = 8
WAYS_NOTE = (
    "`handle` takes a parsed message and an empty `send`; `receive` takes bytes, and its `send` "
    "encodes the answer, as transports do. `plain` does the same with the standard json and no "
    "protocol: for `handle` and ping it only builds the answer, for `receive` it also parses the "
    "bytes and encodes the answer."
)
THREADS_NOTE = f"tools/call is given {AT_ONCE} calls at a time and waited for; ping runs at once."
NOTES = [WAYS_NOTE, THREADS_NOTE]

Message = dict[str, Any]


class Echo(Service):
    """One tool that says what it was told."""

    def check_call(self, name: str, arguments: Message, call: object) -> Message:
        """Everything is right."""
        return arguments

    def call_tool(self, name: str, arguments: Message, call: object) -> Answer:
        """What was said."""
        return Answer(arguments["text"], data={"result": arguments["text"]})


def run(bench: Bench) -> Claim:
    """Measure ping and tools/call through the kernel against plain json, in turns."""
    kernel = Kernel(Echo())
    variants: dict[str, Callable[[], Sample]] = {
        "ping": partial(_ping, bench["messages"], partial(_handle_one, kernel, Connection(_drop))),
        "plain ping": partial(_ping, bench["messages"], _plain_ping),
    }
    for title, size in SIZES.items():
        messages, lines = _parsed(bench, size), _encoded(bench, size)
        variants[f"handle {title}"] = partial(_handle, kernel, messages)
        variants[f"plain handle {title}"] = partial(_plain_handle, messages)
        variants[f"receive {title}"] = partial(_receive, kernel, lines)
        variants[f"plain receive {title}"] = partial(_plain_receive, lines)
    for variant in variants.values():
        variant()
    with no_collection():
        series = interleave(variants, bench["rounds"], say=bench.say)
    return Claim(NAME, TITLE, _rates(series), NOTES, {}, _figures(series))


def _parsed(bench: Bench, size: int) -> list[Message]:
    """As many messages as a round takes, all with the same text."""
    text = "x" * size
    messages = [json.loads(call_echo(number, "")) for number in range(bench["messages"])]
    for message in messages:
        message["params"]["arguments"]["text"] = text
    return messages


def _encoded(bench: Bench, size: int) -> list[bytes]:
    """As many lines as a round's bytes allow; few different ones, to spare memory."""
    count = min(bench["messages"], max(AT_ONCE, bench["bytes"] // size))
    lines = [call_echo(number, "x" * size) for number in range(AT_ONCE)]
    return [lines[number % AT_ONCE] for number in range(count)]


def _drop(message: object) -> None:
    """Where answers go."""


def _encode(message: object) -> None:
    jsontext.dumps_bytes(message)


def _sample(begun: float, count: int) -> Sample:
    return {"us": (time.perf_counter() - begun) * 1e6 / count}


def _ping(count: int, answer: Callable[[Message], None]) -> Sample:
    messages = [json.loads(request(number, "ping")) for number in range(count)]
    begun = time.perf_counter()
    for message in messages:
        answer(message)
    return _sample(begun, count)


def _handle_one(kernel: Kernel, connection: Connection, message: Message) -> None:
    kernel.handle(message, connection, _drop)


def _plain_ping(message: Message) -> None:
    if message["method"] == "ping":
        _drop({"jsonrpc": "2.0", "id": message["id"], "result": {}})


def _in_groups(
    items: list[Any], take: Callable[[Any, Connection], None], connection: Connection
) -> Sample:
    begun = time.perf_counter()
    for start in range(0, len(items), AT_ONCE):
        for item in items[start : start + AT_ONCE]:
            take(item, connection)
        connection.wait_idle(None)
    return _sample(begun, len(items))


def _handle(kernel: Kernel, messages: list[Message]) -> Sample:
    return _in_groups(
        messages,
        lambda message, connection: kernel.handle(message, connection, _drop),
        Connection(_drop),
    )


def _plain_handle(messages: list[Message]) -> Sample:
    begun = time.perf_counter()
    for message in messages:
        _drop(_plain_answer(message))
    return _sample(begun, len(messages))


def _receive(kernel: Kernel, lines: list[bytes]) -> Sample:
    return _in_groups(
        lines,
        lambda line, connection: kernel.receive(line, connection, _encode),
        Connection(_encode),
    )


def _plain_receive(lines: list[bytes]) -> Sample:
    begun = time.perf_counter()
    for line in lines:
        answer = _plain_answer(json.loads(line))
        json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
    return _sample(begun, len(lines))


def _plain_answer(message: Message) -> Message:
    text = message["params"]["arguments"]["text"]
    content = [{"type": "text", "text": text}]
    result = {"content": content, "isError": False, "structuredContent": {"result": text}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _rates(series: dict[str, Series]) -> dict[str, str]:
    """Messages per second at the medians, which is how people say it."""
    rates: dict[str, str] = {}
    for name in ("ping", f"handle {SMALLEST}", f"receive {SMALLEST}"):
        median = summarize([sample["us"] for sample in series[name].values()]).median
        rates[f"{name}, messages per second"] = f"{1e6 / median:.0f}"
    return rates


def _figures(series: dict[str, Series]) -> list[Figure]:
    """Against plain json, and how `handle` grows: it should not."""
    against_plain = ["ping", f"handle {SMALLEST}", *(f"receive {title}" for title in SIZES)]
    figures = [_figure(series, name, f"plain {name}") for name in against_plain]
    grown = [f"handle {title}" for title in SIZES if title != SMALLEST]
    return figures + [_figure(series, name, f"handle {SMALLEST}") for name in grown]


def _figure(series: dict[str, Series], name: str, baseline: str) -> Figure:
    compared = compare(series[name], series[baseline], "us")
    return Figure(
        "growth" if "plain" not in baseline else "message", name, baseline, "us", compared
    )
