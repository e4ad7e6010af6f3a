"""A language model as the caller: one that behaves, and ones that do not."""

from __future__ import annotations

import os
import time

import pytest

from clew.advisors.conversation.model_draft import MOST_ROUNDS
from clew.advisors.documents.document import parse, render
from clew.kit.call import Call
from clew.kit.errors import Cancelled, Invalid
from clew.models.language import Clock, TooSlow, load_language_model, seconds_allowed
from tests.advisors.conftest import DESCRIPTION, Advisor


def test_a_good_model_reads_the_text_in_one_call(homeless, fake):
    said = homeless.vision()

    assert said.writer == "model openai:fake"
    assert len(fake.prompts) == 1
    assert DESCRIPTION in fake.prompts[0], "it gets the text itself"
    assert said.coverage.percent == 100
    assert said.document.title == "Vision & Scope: Tably"
    assert said.document.metadata["status"] == "draft"
    assert said.cost == "1 call, 1 tokens in, 1 out", "as the service counts them"
    assert not said.skipped
    assert parse(render(said.document), "vision") == said.document
    assert fake.keys[0] in (None, "Bearer none-needed")


def test_what_a_model_wrote_is_known_to_the_next_advisor(homeless, fake):
    first = homeless.vision()

    second = homeless.architecture(conversation=first.conversation.id, use_model=False)

    assert {item.id for item in first.document.items("FE")} == {
        item.id for item in second.facts.features
    }


@pytest.mark.parametrize(
    ("manner", "told"),
    [("lazy", "is cited by nothing: Risk: guests may not trust it"), ("invented", "the quote is not in the source")],
)  # fmt: skip
def test_a_model_is_told_once_what_was_refused_or_left_out(homeless, fake, manner, told):
    fake.manners = [manner, "good"]

    said = homeless.vision()

    assert len(fake.prompts) == MOST_ROUNDS == 2
    assert told in fake.prompts[1]
    assert said.coverage.percent == 100


@pytest.mark.parametrize("manner", ["chatter", "empty", "hostile"])
def test_a_model_whose_answer_is_no_draft_is_asked_once_more(homeless, fake, manner):
    fake.manners = [manner, "good"]

    said = homeless.vision()

    assert "Your last answer was no draft" in fake.prompts[1]
    assert said.coverage.percent == 100
    assert said.cost.startswith("2 calls, ")
    assert not said.skipped


def test_a_first_draft_stands_when_the_repair_fails(homeless, fake):
    fake.manners = ["lazy", "chatter"]

    said = homeless.vision()

    assert said.writer == "model openai:fake"
    assert said.document.items("FE")
    assert said.skipped == ("degraded: the model's answer is no draft; its first draft stands",)


def test_a_model_that_goes_on_inventing_is_refused(homeless, fake):
    fake.manners = ["invented"]

    said = homeless.vision()

    assert len(fake.prompts) == MOST_ROUNDS
    assert "fly" not in said.main.text
    assert [one.ref for one in said.refused] == ["S1"]
    assert not said.ready


@pytest.mark.parametrize(
    "manner", ["chatter", "empty", "hostile", "broken", "busy", "refused", "gone", "elsewhere"]
)
def test_a_bad_model_leaves_the_notes(homeless, fake, manner):
    plain = homeless.vision(use_model=False)
    fake.manners = [manner]

    said = homeless.vision()

    assert said.writer == "builder"
    assert said.document.sections == plain.document.sections
    assert said.skipped[0].startswith("degraded: ")
    assert said.unread


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
    first = advisor.vision(use_model=False)
    path = project / "docs" / "vision.md"
    text = path.read_text("utf-8")
    path.write_text(text.replace("Guests can reserve a table online", "Written by Ada"), "utf-8")

    said = advisor.vision(text="Guests can cancel.", conversation=first.conversation.id)

    assert any(item.text == "Written by Ada" for item in said.document.items("FE"))
    assert said.authors["features"] == "human"


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
