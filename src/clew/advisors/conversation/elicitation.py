"""Questions that reach people: a form, where the client can show one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from clew.advisors.documents.model import Question
from clew.advisors.extract.questions import DECLINED, FIRST
from clew.kit.call import Call

_KEY: Final = "advisor-questions"


def can_ask(call: Call) -> bool:
    """Whether the client shows forms."""
    offered = call.capabilities.get("elicitation")
    return isinstance(offered, dict) and (not offered or "form" in offered)


def ask_people(questions: Sequence[Question], title: str, call: Call) -> dict[str, str]:
    """The answers to the first questions; who declines leaves them open, and is not asked again."""
    asked = list(questions[:FIRST])
    if not asked:
        return {}
    schema = {"type": "object", "properties": {one.id: _field(one) for one in asked}}
    params = {"mode": "form", "message": f"Open questions about {title}", "requestedSchema": schema}
    reply = call.ask({_KEY: {"method": "elicitation/create", "params": params}})[_KEY]
    action = reply.get("action") if isinstance(reply, dict) else "cancel"
    if action == "decline":
        return {one.id: DECLINED for one in asked}
    given = reply.get("content") if action == "accept" else None
    known = {one.id for one in asked}
    pairs = given.items() if isinstance(given, dict) else ()
    return {name: str(text) for name, text in pairs if name in known and str(text).strip()}


def _field(question: Question) -> dict[str, Any]:
    field = {
        "type": "string",
        "title": f"{question.id} {question.text}",
        "description": question.why,
    }
    if question.options:
        return {**field, "enum": list(question.options)}
    return {**field, "default": question.default} if question.default else field
