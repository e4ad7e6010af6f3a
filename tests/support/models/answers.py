"""An answer in the words of each API: as one body, and as the events of a stream."""

from __future__ import annotations

import itertools
import json
import re
import time

_IDS = itertools.count(1)
_MODEL = "scripted-1"
_STOPS = {
    "anthropic": {"end": "end_turn", "calls": "tool_use", "refusal": "refusal", "length": "max_tokens"},
    "chat": {"end": "stop", "calls": "tool_calls", "refusal": "content_filter", "length": "length"},
    "gemini": {"end": "STOP", "calls": "STOP", "refusal": "SAFETY", "length": "MAX_TOKENS"},
}  # fmt: skip


def body_of(api, answer, model=None):
    """The whole answer as one JSON body."""
    return _BODIES[api](answer, model or _MODEL)


def events_of(api, answer, model=None):
    """The answer as events: (name or None, data), with the text in pieces."""
    yield from _STREAMS[api](answer, body_of(api, answer, model))


def _new(prefix):
    return f"{prefix}{next(_IDS):08d}"


def _stop(api, answer):
    known = _STOPS[api]
    return known["calls" if answer.calls and answer.stop == "end" else answer.stop]


def _pieces(text):
    return re.findall(r".{1,20}", text, re.DOTALL)


def _anthropic(answer, model):
    blocks = [{"type": "text", "text": answer.text}] if answer.text else []
    for tool, given in answer.calls:
        blocks.append({"type": "tool_use", "id": _new("toolu_"), "name": tool.name, "input": given})
    asked, said = answer.usage
    return {
        "id": _new("msg_"), "type": "message", "role": "assistant", "model": model,
        "content": blocks, "stop_reason": _stop("anthropic", answer), "stop_sequence": None,
        "usage": {"input_tokens": asked, "output_tokens": said},
    }  # fmt: skip


def _anthropic_events(answer, body):
    opening = {**body, "content": [], "stop_reason": None}
    yield "message_start", {"type": "message_start", "message": opening}
    for index, block in enumerate(body["content"]):
        is_text = block["type"] == "text"
        empty = {"type": "text", "text": ""} if is_text else {**block, "input": {}}
        kind = "content_block_start"
        yield kind, {"type": kind, "index": index, "content_block": empty}
        deltas = (
            [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
            if is_text
            else [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        )
        for delta in deltas:
            kind = "content_block_delta"
            yield kind, {"type": kind, "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ending, "usage": body["usage"]}
    yield "message_stop", {"type": "message_stop"}


def _chat(answer, model):
    message = {"role": "assistant", "content": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": _new("call_"),
                "type": "function",
                "function": {"name": tool.name, "arguments": json.dumps(given)},
            }
            for tool, given in answer.calls
        ]
    asked, said = answer.usage
    return {
        "id": _new("chatcmpl-"), "object": "chat.completion", "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": _stop("chat", answer)}],
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }  # fmt: skip


def _chat_events(answer, body):
    choice = body["choices"][0]

    def chunk(delta, stop=None):
        choices = [{"index": 0, "delta": delta, "finish_reason": stop}]
        rest = {key: body[key] for key in ("id", "created", "model")}
        return None, {**rest, "object": "chat.completion.chunk", "choices": choices}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(answer.text):
        yield chunk({"content": piece})
    for index, call in enumerate(choice["message"].get("tool_calls", [])):
        named = {**call["function"], "arguments": ""}
        yield chunk({"tool_calls": [{**call, "index": index, "function": named}]})
        given = {"arguments": call["function"]["arguments"]}
        yield chunk({"tool_calls": [{"index": index, "function": given}]})
    yield chunk({}, choice["finish_reason"])
    last = chunk({})[1]
    yield None, {**last, "choices": [], "usage": body["usage"]}
    yield None, "[DONE]"


def _responses(answer, model):
    content = (
        {"type": "refusal", "refusal": answer.text}
        if answer.stop == "refusal"
        else {"type": "output_text", "text": answer.text, "annotations": []}
    )
    items = [
        {"type": "message", "id": _new("msg_"), "status": "completed", "role": "assistant",
         "content": [content]},
    ]  # fmt: skip
    items += [_responses_call(tool, given) for tool, given in answer.calls]
    asked, said = answer.usage
    return {
        "id": _new("resp_"), "object": "response", "created_at": int(time.time()),
        "status": "completed", "model": model, "output": items,
        "usage": {
            "input_tokens": asked, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": said, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + said,
        },
    }  # fmt: skip


def _responses_call(tool, given):
    common = {"id": _new("fc_"), "call_id": _new("call_"), "status": "completed"}
    if tool.name == "tool_search":
        return {**common, "type": "tool_search_call", "execution": "client", "arguments": given}
    if isinstance(given, str):  # a tool that takes a text and no object
        return {**common, "type": "custom_tool_call", "name": tool.name, "input": given}
    named = {"name": tool.name, "arguments": json.dumps(given)}
    if tool.namespace:
        named["namespace"] = tool.namespace
    return {**common, "type": "function_call", **named}


def _responses_events(answer, body):
    numbers = itertools.count()

    def event(kind, **data):
        return kind, {"type": kind, "sequence_number": next(numbers), **data}

    opening = {**body, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=opening)
    for index, item in enumerate(body["output"]):
        begun = {**item, "status": "in_progress"}
        if item["type"] == "message":
            begun["content"] = []
        yield event("response.output_item.added", output_index=index, item=begun)
        if item["type"] == "message":
            part = item["content"][0]
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            empty = {key: "" if key in ("text", "refusal") else part[key] for key in part}
            yield event("response.content_part.added", **place, part=empty)
            kind = part["type"]
            for piece in _pieces(answer.text):
                yield event(f"response.{kind}.delta", **place, delta=piece)
            whole = {"text" if kind == "output_text" else "refusal": answer.text}
            yield event(f"response.{kind}.done", **place, **whole)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=body)


def _gemini(answer, model):
    parts = [{"text": answer.text}] if answer.text and answer.stop != "refusal" else []
    parts += [{"functionCall": {"name": tool.name, "args": given}} for tool, given in answer.calls]
    asked, said = answer.usage
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"content": content, "finishReason": _stop("gemini", answer), "index": 0}],
        "usageMetadata": {
            "promptTokenCount": asked, "candidatesTokenCount": said, "totalTokenCount": asked + said,
        },
        "modelVersion": model, "responseId": _new("r"),
    }  # fmt: skip


def _gemini_events(answer, body):
    if answer.stop != "refusal":
        for piece in _pieces(answer.text):
            content = {"role": "model", "parts": [{"text": piece}]}
            yield None, {"candidates": [{"content": content, "index": 0}]}
    last = {**body["candidates"][0]}
    calls = [part for part in last["content"]["parts"] if "text" not in part]
    last["content"] = {"role": "model", "parts": calls}
    yield None, {**body, "candidates": [last]}


_BODIES = {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "gemini": _gemini}
_STREAMS = {
    "anthropic": _anthropic_events,
    "chat": _chat_events,
    "responses": _responses_events,
    "gemini": _gemini_events,
}
