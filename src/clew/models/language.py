"""A language model that writes text: named by the user, loaded when used, bounded in time."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clew.kit.errors import Invalid, Unavailable
from clew.kit.text.display import clipped, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

    from clew.kit.call import Call

    _Client = AsyncOpenAI | AsyncAnthropic

MODEL, URL, SECONDS = "CLEW_MODEL", "CLEW_MODEL_URL", "CLEW_MODEL_SECONDS"
INSTALL = "Install them: pip install 'clew[models]'"
DEFAULT_SECONDS = 25.0
LONGEST_SECONDS = 600.0
_LONGEST_IMPORT = 120.0
_OLLAMA = "http://localhost:11434/v1"
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "ollama": "OLLAMA_API_KEY"}
_NO_KEY = "none-needed"
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_MOST_TOKENS = 8000


class TooSlow(Unavailable):
    """The model did not answer within the time it had."""


class Clock:
    """The time that the models of one call have together; it stands still while libraries load."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left; 0 when none are."""
        return max(self._until - time.monotonic(), 0.0)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """What is done in here takes none of the time."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._until += time.monotonic() - began


@dataclass
class Spent:
    """What the calls of a model took: tokens as its service counts them, dollars where known."""

    calls: int = 0
    asked: int = 0
    answered: int = 0
    dollars: float = 0.0

    def __str__(self) -> str:
        calls = f"{self.calls} call{'s' if self.calls != 1 else ''}"
        price = f", {self.dollars:.4f} USD" if self.dollars else ""
        return f"{calls}, {self.asked} tokens in, {self.answered} out{price}"


def load_language_model(environment: Mapping[str, str] | None = None) -> LanguageModel | None:
    """The model that the environment names, or None; nothing is imported or asked yet."""
    given = os.environ if environment is None else environment
    named = given.get(MODEL, "").strip()
    if not named:
        return None
    provider, _, model = named.partition(":")
    if provider not in _KEYS or not model:
        raise Invalid(
            f"{MODEL} is not a model's name: {clipped(shown_text(named))}",
            "Use openai:NAME (any OpenAI-compatible server, with CLEW_MODEL_URL), "
            "anthropic:NAME or ollama:NAME.",
        )
    return LanguageModel(provider, model, given)


def seconds_allowed(environment: Mapping[str, str] | None = None) -> float:
    """How long the models of one call may take together."""
    given = os.environ if environment is None else environment
    text = given.get(SECONDS, "").strip()
    if not text:
        return DEFAULT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise Invalid(
            f"{SECONDS} is not a time: {clipped(shown_text(text))}",
            f"Use a number of seconds up to {LONGEST_SECONDS:g}.",
        )
    return seconds


class LanguageModel:
    """A model of one of the known providers; `spent` is what its calls took so far."""

    def __init__(self, provider: str, model: str, environment: Mapping[str, str]) -> None:
        self._provider = provider
        self._model = model
        self._url = environment.get(URL, "").strip()
        if provider == "ollama" and not self._url:
            self._url = environment.get("OLLAMA_BASE_URL", "").strip() or _OLLAMA
        self._key = environment.get(_KEYS[provider], "").strip()
        self.spent = Spent()
        self._check()

    @property
    def name(self) -> str:
        """Provider and model, as documents record it."""
        return f"{self._provider}:{self._model}"

    def _check(self) -> None:
        if not self._url:
            if not self._key:
                variable = _KEYS[self._provider]
                raise Invalid(f"{MODEL} is set, but {variable} is not", f"Set {variable}.")
            return
        address = urlsplit(self._url)
        if address.scheme not in {"http", "https"} or not address.hostname or address.username:
            raise Invalid(
                f"{URL} is not a web address: {clipped(shown_text(self._url))}",
                "Use something like http://localhost:8000/v1.",
            )
        if self._key and address.scheme == "http" and address.hostname not in _THIS_MACHINE:
            raise Invalid(
                f"A key is not sent to {address.hostname} by plain HTTP", f"Use https in {URL}."
            )

    def write(self, instructions: str, prompt: str, *, clock: Clock, call: Call) -> str:
        """Its answer, asked for in a thread of its own, so that time and cancellation are kept."""
        return _Asking(lambda ask: self._asked(instructions, prompt, clock, ask)).result(
            clock, call
        )

    async def _asked(self, instructions: str, prompt: str, clock: Clock, ask: _Asking) -> str:
        with clock.stopped():
            try:
                from pydantic_ai.direct import model_request
                from pydantic_ai.messages import ModelRequest

                model, client = self._loaded(max(clock.left(), 0.1))
            except ImportError as error:
                raise Unavailable("Language models need additional packages", INSTALL) from error
        ask.loaded.set()
        left = max(clock.left(), 0.1)
        try:
            async with asyncio.timeout(left), client:
                answer = await model_request(
                    model,
                    [ModelRequest.user_text_prompt(prompt, instructions=instructions)],
                    model_settings={"max_tokens": _MOST_TOKENS, "timeout": left},
                )
                self._count(answer)
                return answer.text or ""
        except TimeoutError:
            raise _too_slow(self.name) from None
        except Exception as error:  # noqa: BLE001 - the libraries trip over a foreign answer in many ways
            reason = clipped(shown_text(" ".join(str(error).split())), 300)
            raise Unavailable(f"{self.name} failed: {reason or type(error).__name__}") from None

    def _count(self, answer: ModelResponse) -> None:
        self.spent.calls += 1
        self.spent.asked += answer.usage.input_tokens
        self.spent.answered += answer.usage.output_tokens
        with suppress(Exception):  # the price of a model that nobody listed is not known
            self.spent.dollars += float(answer.cost().total_price)

    def _loaded(self, seconds: float) -> tuple[Model, _Client]:
        local = urlsplit(self._url).hostname in _THIS_MACHINE
        # No redirects: they could carry the key elsewhere. No proxy on the way to this machine.
        http = {
            "follow_redirects": False, "trust_env": not local, "timeout": seconds,
            "event_hooks": {"response": [_without_wait]},
        }  # fmt: skip
        given: dict[str, Any] = {
            "base_url": self._url or None, "api_key": self._key or _NO_KEY, "max_retries": 1
        }  # fmt: skip
        return (_anthropic if self._provider == "anthropic" else _openai)(self._model, given, http)


async def _without_wait(response: Any) -> None:
    """Drop how long a busy service wants us to wait: the library would sleep all our time away."""
    for name in ("retry-after", "retry-after-ms"):
        response.headers.pop(name, None)


def _openai(model: str, given: dict[str, Any], http: dict[str, Any]) -> tuple[Model, _Client]:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(**given, http_client=DefaultAsyncHttpxClient(**http))
    return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)), client


def _anthropic(model: str, given: dict[str, Any], http: dict[str, Any]) -> tuple[Model, _Client]:
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(**given, http_client=DefaultAsyncHttpxClient(**http))
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client)), client


class _Asking:
    """One question on its way: a thread that imports, asks, and can be left behind."""

    def __init__(self, question: Callable[[_Asking], Coroutine[Any, Any, str]]) -> None:
        self._question = question
        self.loaded = threading.Event()
        self._done = threading.Event()
        self._answer = ""
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[str] | None = None

    def result(self, clock: Clock, call: Call) -> str:
        """The answer, a failure, or the end of time or patience, whichever is first."""
        threading.Thread(target=self._run, daemon=True, name="language-model").start()
        call.on_cancel(self._stop)
        self.loaded.wait(_LONGEST_IMPORT)
        self._done.wait(clock.left() + 0.5)
        call.check()
        if not self._done.is_set():
            self._stop()
            raise _too_slow("The language model")
        if self._failure is not None:
            raise self._failure
        return self._answer

    def _run(self) -> None:
        try:
            self._answer = asyncio.run(self._awaited(self._question(self)))
        except BaseException as error:  # noqa: BLE001 - raised again where the answer is awaited
            self._failure = error
        finally:
            self._end()

    async def _awaited(self, question: Coroutine[Any, Any, str]) -> str:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(question)
        return await self._task

    def _stop(self) -> None:
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            with suppress(RuntimeError):  # the loop has just ended by itself
                loop.call_soon_threadsafe(task.cancel)
        self._end()

    def _end(self) -> None:
        self._done.set()
        self.loaded.set()


def _too_slow(name: str) -> TooSlow:
    return TooSlow(f"{name} did not answer in time", f"Raise {SECONDS}, or choose a faster model.")
