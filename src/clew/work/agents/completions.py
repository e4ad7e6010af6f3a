"""Chat completions over HTTP: one question to an OpenAI-compatible service, answered as a stream."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from clew.kit import jsontext
from clew.kit.errors import Invalid, Unavailable
from clew.kit.jsontext import JsonObject

_AGAIN = (408, 429, 500, 502, 503, 504, 529)
_TRIES = 4
_LONGEST_WAIT = 60.0
_SILENCE_SECONDS = 600  # until the first and between two pieces of an answer
_LARGEST_ANSWER = 32 * 1024 * 1024
_LONGEST_REASON = 2000


class ServiceFailed(Unavailable):
    """The service did not answer: the status it sent, and how long it asked to wait."""

    def __init__(
        self, message: str, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


@dataclass
class Usage:
    """The tokens of a conversation, and what it cost where the service says so."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    def add(self, told: Any) -> None:
        """Add what the service says about one answer."""
        if not isinstance(told, dict):
            return
        self.input_tokens += _whole(told.get("prompt_tokens"))
        self.output_tokens += _whole(told.get("completion_tokens"))
        cost = told.get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
            self.cost_usd = (self.cost_usd or 0.0) + cost


@dataclass
class Reply:
    """One answer of the model, put together from its pieces."""

    text: str = ""
    calls: list[JsonObject] = field(default_factory=list)
    finish: str | None = None
    refusal: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the model or its service declined to answer."""
        return self.finish == "content_filter" or bool(self.refusal)

    def message(self) -> JsonObject:
        """The answer as the next request carries it."""
        calls: JsonObject = {"tool_calls": self.calls} if self.calls else {}
        return {"role": "assistant", "content": self.text, **calls}


@dataclass(frozen=True)
class Retry:
    """A wait before the service is asked again."""

    attempt: int
    seconds: float
    status: int | None
    reason: str


@dataclass(frozen=True)
class Service:
    """Where the model is, and who hears of its pieces and of waiting."""

    url: str
    model: str
    key: str | None
    on_text: Callable[[str], None]
    on_retry: Callable[[Retry], None]
    usage: Usage = field(default_factory=Usage)

    def ask(self, messages: list[JsonObject], tools: list[JsonObject]) -> Reply:
        """The model's next message; a service that is busy is asked again."""
        body = {
            "model": self.model,
            "messages": messages,
            "tools": tools,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        for attempt in range(1, _TRIES):
            try:
                return self._asked(body)
            except ServiceFailed as failed:
                wait = 2.0**attempt if failed.retry_after is None else failed.retry_after
                may_recover = failed.status is None or failed.status in _AGAIN
                if not may_recover or wait > _LONGEST_WAIT:
                    raise
                self.on_retry(Retry(attempt, wait, failed.status, str(failed)))
                time.sleep(wait)
        return self._asked(body)

    def _asked(self, body: JsonObject) -> Reply:
        try:
            return self._post(body)
        finally:
            self.on_text("\n")  # what was said is whole, however it ended

    def _post(self, body: JsonObject) -> Reply:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            request = urllib.request.Request(  # noqa: S310 (the scheme was checked)
                self.url, data=jsontext.dumps_bytes(body), headers=headers
            )
            with urllib.request.urlopen(request, timeout=_SILENCE_SECONDS) as answer:  # noqa: S310
                if answer.headers.get_content_type() == "text/event-stream":
                    return self._streamed(_events(answer))
                return self._whole(answer.read(_LARGEST_ANSWER))
        except urllib.error.HTTPError as error:
            raise _refused(error) from None
        except http.client.InvalidURL as error:
            raise Invalid(f"Not an address of a model's service: {error}") from None
        except (OSError, http.client.HTTPException) as error:
            raise ServiceFailed(f"Connection error at {self.url}: {error}") from None

    def _whole(self, data: bytes) -> Reply:
        """An answer in one body, from a service that does not stream."""
        value = _loaded(data)
        choice = _first_choice(value)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise _foreign()
        self.usage.add(value.get("usage"))
        reply = Reply(finish=choice.get("finish_reason"))
        _take(reply, message)
        if reply.text:
            self.on_text(reply.text)
        return reply

    def _streamed(self, events: Iterable[JsonObject | None]) -> Reply:
        reply, is_whole = Reply(), False
        for event in events:
            if event is None:
                is_whole = True
                continue
            self.usage.add(event.get("usage"))
            if event.get("choices") == []:
                continue
            choice = _first_choice(event)
            delta = choice.get("delta")
            before = len(reply.text)
            _take(reply, delta if isinstance(delta, dict) else {})
            if reply.text[before:]:
                self.on_text(reply.text[before:])
            reply.finish = choice.get("finish_reason") or reply.finish
        if not is_whole and reply.finish is None:
            raise ServiceFailed(f"Connection error at {self.url}: the answer was cut off")
        return reply


def _events(lines: Iterable[bytes]) -> Iterator[JsonObject | None]:
    """The values of a stream; None is its regular end."""
    for line in lines:
        name, _, data = line.strip().partition(b":")
        if name != b"data":
            continue
        if data.strip() == b"[DONE]":
            yield None
        else:
            yield _loaded(data)


def _loaded(data: bytes) -> JsonObject:
    try:
        value = jsontext.loads_bytes(data)
    except jsontext.JsonError:
        raise _foreign() from None
    if not isinstance(value, dict):
        raise _foreign()
    error = value.get("error")
    if error:
        said = error.get("message") if isinstance(error, dict) else error
        code = error.get("code") if isinstance(error, dict) else None
        raise ServiceFailed(
            f"The model's service sent an error: {said}", code if isinstance(code, int) else None
        )
    return value


def _first_choice(value: JsonObject) -> JsonObject:
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise _foreign()
    return first


def _take(reply: Reply, part: JsonObject) -> None:
    """Add a message, or a piece of one, to the reply."""
    for name in ("content", "refusal"):
        if isinstance(part.get(name), str):
            attribute = "text" if name == "content" else name
            setattr(reply, attribute, getattr(reply, attribute) + part[name])
    calls = part.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            _take_call(reply, call)


def _take_call(reply: Reply, call: JsonObject) -> None:
    """Add a call, or the next piece of one: only a first piece has a name, not all have an index."""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    given, name, number = function.get("arguments"), function.get("name"), call.get("id")
    text = given if isinstance(given, str) else jsontext.dumps(given or {})
    begun = [known for known in reply.calls if number and known["id"] == number]
    if not begun and not name:
        index = call.get("index")
        place = index if isinstance(index, int) and 0 <= index < len(reply.calls) else -1
        begun = [reply.calls[place]] if reply.calls else []
    if begun:
        begun[0]["function"]["arguments"] += text
    else:
        fresh = str(number or f"call_{len(reply.calls)}")
        named = {"name": str(name or ""), "arguments": text}
        reply.calls.append({"id": fresh, "type": "function", "function": named})


def _refused(error: urllib.error.HTTPError) -> ServiceFailed:
    with error:
        try:
            said = error.read(_LONGEST_REASON).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            said = ""
    wait = _seconds(error.headers.get("Retry-After"))
    told = "" if wait is None else f" (retry-after: {wait:.0f})"
    return ServiceFailed(
        f"The model's service answered {error.code}{told}: {said}", error.code, wait
    )


def _foreign() -> Invalid:
    return Invalid("The model's service sent no chat completion", "Is the endpoint right?")


def _seconds(text: str | None) -> float | None:
    """The wait that a service asked for: a number of seconds, or a date."""
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
