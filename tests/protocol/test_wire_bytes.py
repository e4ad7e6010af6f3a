"""Messages as bytes: the structured content is written once where the text has it already."""

from __future__ import annotations

import json

import pytest

from clew.kit import jsontext
from clew.kit.answer import Answer, Piece
from clew.protocol.kernel.exchange import wire_bytes
from clew.protocol.kernel.methods import tool_result


def response(answer):
    return {"jsonrpc": "2.0", "id": 1, "result": tool_result(answer)}


@pytest.mark.parametrize("data", [{}, {"a": [1, "}}"]}, [], [{"b": "\u00e9"}], "text", 0])
@pytest.mark.parametrize("make", [Answer.of, Answer.indented])
def test_a_mirrored_answer_is_the_same_message(data, make):
    message = response(make(data))

    assert json.loads(wire_bytes(message)) == json.loads(jsontext.dumps(message))
    assert b"\n" not in wire_bytes(message)


@pytest.mark.parametrize(
    "data", [[], [{"a": None}], [{"a": 'q"\\\n'}, {"b": ["\u00e9\u2028", {"c": 1}]}, "s", 0]]
)
def test_an_answer_of_pieces_is_the_same_message(data):
    listed, whole = Answer.listed([Piece(one) for one in data]), Answer.indented(data)

    assert (listed.text, listed.data) == (whole.text, whole.data)
    assert json.loads(wire_bytes(response(listed))) == json.loads(wire_bytes(response(whole)))
    assert b"\n" not in wire_bytes(response(listed))


def test_mirrored_data_is_not_written_a_second_time(monkeypatch):
    answer = Answer.of({"rows": [1, 2, 3]})
    written = []
    encode = jsontext._encode
    monkeypatch.setattr(jsontext, "_encode", lambda value: written.append(value) or encode(value))
    sent = json.loads(wire_bytes(response(answer)))

    assert sent["result"]["structuredContent"] == {"rows": [1, 2, 3]}
    assert all("structuredContent" not in value["result"] for value in written)


def test_what_json_cannot_say_becomes_an_error():
    for data in ({"a": "\ud800"}, {"a": float("nan")}):
        try:
            message = response(Answer.of(data))
        except jsontext.JsonError:
            message = response(Answer("text", data=data))
        assert json.loads(wire_bytes(message))["error"]["code"] == -32603
