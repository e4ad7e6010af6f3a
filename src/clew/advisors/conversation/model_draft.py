"""A configured language model as the caller: the same briefing, the same draft, the same judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from clew.advisors.builder.sections import ENOUGH
from clew.advisors.documents.model import Facts
from clew.advisors.documents.templates import Kind
from clew.advisors.drafts.briefing import briefing
from clew.advisors.drafts.draft import Taken, coverage_of, shown_refusals, take_draft
from clew.kit.call import Call
from clew.kit.errors import ClewError, Invalid
from clew.kit.jsontext import JsonError, dumps, loads
from clew.models.language import Clock, LanguageModel

MOST_ROUNDS: Final = 2  # once, and once more with what was refused or left out
_MOST_SHOWN: Final = 20
_INSTRUCTIONS: Final = """\
You read a text about a project and write down what it says, for a program that checks every quote.
Answer with one JSON object, the value of `draft` in the call that is described, and nothing else.
"""
_AGAIN: Final = (
    "Your last answer was no draft. Answer with the JSON object alone: "
    '{"title": "...", "statements": [...]}'
)


@dataclass(frozen=True)
class ModelDraft:
    """What a model wrote, what its calls took, and what went wrong on the way."""

    author: str
    draft: dict[str, Any] = field(default_factory=dict)
    cost: str = ""
    trouble: str = ""


def write_draft(
    model: LanguageModel, facts: Facts, kind: Kind, *, clock: Clock, call: Call
) -> ModelDraft:
    """A draft of the model, repaired once where it is none, or the judge refuses or misses something."""
    author = f"model {model.name}"
    prompt = first = briefing(facts, kind, f"{kind}_agent", "")
    statements: dict[str, Any] = {}
    draft: dict[str, Any] = {}
    trouble = ""
    for number in range(MOST_ROUNDS):
        if number and not clock.left():
            break
        call.progress(number, MOST_ROUNDS, f"Asking {model.name}")
        try:
            given = _draft_in(model.write(_INSTRUCTIONS, prompt, clock=clock, call=call))
            taken = take_draft(facts, kind, given, author)
        except Invalid as error:
            trouble, prompt = error.message, f"{first}\n\n{_AGAIN}"
            continue
        except ClewError as error:
            if call.cancelled:
                raise
            trouble = error.message
            break
        trouble = ""
        statements |= {
            str(one.get("ref")): one for one in given["statements"] if isinstance(one, dict)
        }
        draft = {**draft, **given, "statements": list(statements.values())}
        complaint = _complaint(facts, kind, draft, author, taken)
        if not complaint:
            break
        prompt = f"{first}\n\nYour draft so far:\n{dumps(draft)}\n\n{complaint}"
    return ModelDraft(author, draft, str(model.spent) if model.spent.calls else "", trouble)


def _draft_in(answer: str) -> dict[str, Any]:
    start, end = answer.find("{"), answer.rfind("}")
    try:
        value = loads(answer[start : end + 1]) if 0 <= start < end else None
    except JsonError:
        value = None
    found = value.get("draft", value) if isinstance(value, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("statements"), list):
        raise Invalid("the model's answer is no draft")
    return found


def _complaint(facts: Facts, kind: Kind, draft: dict[str, Any], author: str, taken: Taken) -> str:
    """What a model is told about its draft; nothing when it will do."""
    lines = list(shown_refusals(taken.refused, _MOST_SHOWN))
    found = coverage_of(take_draft(facts, kind, draft, author).facts, kind)
    if found.percent < ENOUGH:
        lines += [
            f"- line {one.line} is cited by nothing: {one.text}" for one in found.gaps[:_MOST_SHOWN]
        ]
    return "Correct or add these statements, and only these:\n" + "\n".join(lines) if lines else ""
