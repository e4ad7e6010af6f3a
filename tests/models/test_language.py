"""A language model over the wire: whatever a service answers, it is text or a plain failure."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from clew.kit.call import Call
from clew.kit.errors import Unavailable
from clew.models import language
from clew.models.language import Clock, load_language_model
from tests.support.models.script import Answer
from tests.support.models.service import FOREIGN, model_service

FOREIGN_BODIES = [
    FOREIGN, {}, [], None, 7, "text", b"<html>", b"", b'{"half": ',
    {"choices": []}, {"choices": [{"message": {}}]}, {"choices": [{"message": {"content": 5}}]},
    {"content": None}, {"content": [{"type": "text"}]}, {"content": [{"type": "unheard of"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "text", "text": 5}]},
    {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
]  # fmt: skip


@pytest.fixture(scope="module")
def service():
    with model_service() as running:
        yield running


@pytest.fixture(params=["openai", "anthropic"])
def asked(service, request):
    """A case of the service, and a model of each provider that asks it."""
    suffix = "/v1" if request.param == "openai" else ""
    environment = {
        "CLEW_MODEL": f"{request.param}:scripted-1",
        "CLEW_MODEL_URL": service.url(request.param) + suffix,
        "OPENAI_API_KEY": "k",
        "ANTHROPIC_API_KEY": "k",
    }
    return service.case(request.param), load_language_model(environment)


def write(model, seconds=120.0):
    return model.write("Be short.", "hello", clock=Clock(seconds), call=Call())


def test_an_answer_is_its_text(asked):
    case, model = asked
    case.answers.append(Answer("Good morning."))
    assert write(model) == "Good morning."


@pytest.mark.parametrize("body", FOREIGN_BODIES, ids=repr)
def test_a_foreign_answer_is_a_plain_failure(asked, body):
    case, model = asked
    case.answers += [body, body]
    try:
        said = write(model).strip()
    except Unavailable as error:
        said = error.message
    assert said == "" or said.startswith(f"{model.name} failed: ")


@pytest.mark.parametrize("mode", ["auth", "rate", "overload", "error500", "context", "drop"])
def test_every_fault_of_a_service_is_a_plain_failure(asked, mode):
    case, model = asked
    case.mode = mode
    prompt = "You are the worker for spec 1 of demo"
    with pytest.raises(Unavailable, match=f"{model.name} failed: "):
        model.write("Be short.", prompt, clock=Clock(120), call=Call())


def test_the_clock_stands_still_while_libraries_load(asked, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(language, "time", SimpleNamespace(monotonic=lambda: now[0]))
    case, model = asked
    load = model._loaded

    def slowly(seconds):
        now[0] += 1000
        return load(seconds)

    monkeypatch.setattr(model, "_loaded", slowly)
    case.answers.append(Answer("In time."))
    clock = Clock(60)
    assert model.write("Be short.", "hello", clock=clock, call=Call()) == "In time."
    assert clock.left() == 60
    now[0] += 61
    assert clock.left() == 0
