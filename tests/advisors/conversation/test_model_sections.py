"""A language model as the writer: one that behaves, and ones that do not."""

from __future__ import annotations

import os
import time

import pytest

from clew.advisors.conversation.model_sections import MOST_ROUNDS
from clew.advisors.documents.document import parse, render
from clew.kit.call import Call
from clew.kit.errors import Cancelled, Invalid
from clew.models.language import Clock, TooSlow, load_language_model, seconds_allowed
from tests.advisors.conftest import Advisor


def test_a_good_model_writes_sections_and_says_so(homeless, fake):
    said = homeless.vision()

    assert said.writer == "model openai:fake"
    assert said.document.section("background").text.startswith("Restaurants lose evenings")
    assert said.authors["background"] == "model openai:fake"
    added = next(item for item in said.document.items("BO") if "10 minutes" in item.text)
    assert added.source == "model openai:fake", "what a model added is not taken for said"
    assert said.document.item("BO-1").source.startswith("text:"), "what was said keeps its source"
    assert parse(render(said.document), "vision") == said.document
    assert fake.keys[0] in (None, "Bearer none-needed")


def test_what_a_model_added_is_known_to_the_next_advisor(homeless, fake):
    first = homeless.vision()

    second = homeless.architecture(conversation=first.conversation.id, use_model=False)

    added = next(item for item in first.document.items("BO") if "10 minutes" in item.text)
    assert added.id in second.document.section("context").text


def test_a_model_that_loses_statements_is_asked_again_twice_and_then_replaced(homeless, fake):
    plain = homeless.vision(use_model=False)
    fake.manners = ["forgetful"]

    said = homeless.vision()

    assert len(fake.prompts) == MOST_ROUNDS
    assert "it loses BO-1" in fake.prompts[1], "the model is told why"
    assert said.document.section("objectives") == plain.document.section("objectives")
    assert any("objectives" in one and "builder" in one for one in said.skipped)
    assert said.writer == "builder"


def test_a_second_try_can_succeed(homeless, fake):
    fake.manners = ["forgetful", "good"]

    said = homeless.vision()

    assert said.writer == "model openai:fake"
    assert len(fake.prompts) == 2 or "Objectives" in fake.prompts[1]
    assert any("10 minutes" in item.text for item in said.document.items("BO"))


@pytest.mark.parametrize(
    "manner", ["chatter", "empty", "hostile", "broken", "busy", "refused", "gone", "elsewhere"]
)
def test_a_bad_model_leaves_the_builders_document(homeless, fake, manner):
    plain = homeless.vision(use_model=False)
    fake.manners = [manner]

    said = homeless.vision()

    assert said.writer == "builder"
    assert said.document.sections == plain.document.sections
    assert said.skipped


@pytest.mark.parametrize("manner", ["slow", "busy"])
def test_time_is_bounded_and_the_result_says_degraded(homeless, fake, monkeypatch, manner):
    homeless.vision()  # the library is imported once, which is slow by itself
    monkeypatch.setenv("CLEW_MODEL_SECONDS", "1.5")
    fake.manners = [manner]
    started = time.monotonic()

    said = homeless.vision()

    assert time.monotonic() - started < 60
    assert said.skipped[0].startswith("degraded: ")
    assert said.writer == "builder"


def test_nobody_listens(homeless, monkeypatch):
    monkeypatch.setenv("CLEW_MODEL", "ollama:tiny")
    monkeypatch.setenv("CLEW_MODEL_URL", "http://127.0.0.1:9/v1")

    said = homeless.vision()

    assert said.skipped[0].startswith("degraded: ollama:tiny failed")
    assert said.document.items("FE")


def test_a_cancelled_call_stops_and_writes_nothing(homeless, fake):
    fake.manners = ["slow"]
    homeless.call = Call()
    homeless.call.report_progress = lambda *_: homeless.call.cancel()

    with pytest.raises(Cancelled):
        homeless.vision(conversation="c")

    assert Advisor().vision(conversation="c", use_model=False).conversation.is_new


def test_what_people_wrote_is_kept_from_the_model(project, fake):
    advisor = Advisor(project)
    advisor.vision(use_model=False)
    path = project / "docs" / "vision.md"
    text = path.read_text("utf-8")
    start = text.index("### Background\n\n") + len("### Background\n\n")
    end = text.index("\n\n### Problem")
    path.write_text(f"{text[:start]}Written by Ada.{text[end:]}", encoding="utf-8")

    said = advisor.vision(text="Guests can cancel.")

    assert said.document.section("background").text == "Written by Ada."
    assert said.authors["background"] == "human"
    assert "Background." not in fake.prompts[0].partition("The draft")[0]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"CLEW_MODEL": "gpt"}, "not a model's name"),
        ({"CLEW_MODEL": "nobody:x"}, "not a model's name"),
        ({"CLEW_MODEL": "openai:"}, "not a model's name"),
        ({"CLEW_MODEL": "openai:x"}, "OPENAI_API_KEY is not"),
        ({"CLEW_MODEL": "anthropic:x"}, "ANTHROPIC_API_KEY is not"),
        ({"CLEW_MODEL": "openai:x", "CLEW_MODEL_URL": "file:///etc"}, "not a web address"),
        ({"CLEW_MODEL": "openai:x", "CLEW_MODEL_URL": "http://u:p@h/v1"}, "not a web address"),
        (
            {"CLEW_MODEL": "openai:x", "CLEW_MODEL_URL": "http://h/v1", "OPENAI_API_KEY": "k"},
            "not sent to h by plain HTTP",
        ),
    ],
)
def test_wrong_settings_are_told(environment, words):
    with pytest.raises(Invalid, match=words):
        load_language_model(environment)


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "1e9"])
def test_a_wrong_time_is_told(text):
    with pytest.raises(Invalid, match="is not a time"):
        seconds_allowed({"CLEW_MODEL_SECONDS": text})


def test_without_settings_there_is_no_model():
    assert load_language_model({}) is None
    assert seconds_allowed({}) == 25.0


def test_a_model_answers_or_is_too_slow(fake):
    fake.answer = lambda prompt: prompt.upper()
    model = load_language_model()
    answer = model.write("Shout.", "hello", clock=Clock(120), call=Call())
    assert answer == "HELLO"

    fake.manners = ["slow"]
    with pytest.raises(TooSlow, match="did not answer in time"):
        model.write("Shout.", "hello", clock=Clock(0.5), call=Call())


def test_the_other_kind_of_provider(fake, monkeypatch):
    monkeypatch.setenv("CLEW_MODEL", "anthropic:fake")
    monkeypatch.setenv("CLEW_MODEL_URL", os.environ["CLEW_MODEL_URL"].removesuffix("/v1"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    fake.answer = lambda prompt: prompt.upper()

    answer = load_language_model().write("Shout.", "hi", clock=Clock(120), call=Call())

    assert answer == "HI"
    assert fake.keys[0].endswith("secret")
