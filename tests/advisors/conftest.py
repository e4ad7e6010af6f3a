"""A project to write documents in, and turns without a server."""

from __future__ import annotations

import pytest

from clew.advisors.conversation.turn import TurnRequest, take_turn
from clew.kit.call import Call
from tests.advisors.fake_model import running_model
from tests.support.repos import Repository

DESCRIPTION = (
    "A booking system for small restaurants. Guests can reserve a table online. "
    "Waiters can see all reservations of an evening. "
    "It must cut no-shows from 12% to 4% by June 2027. "
    "Not in scope: payments. It must run on PostgreSQL. "
    "Risk: guests may not trust it."
)
REQUIREMENTS = (
    "Use Python and FastAPI. Pages must answer within 200 ms. It sends mail with SendGrid."
)
VISION_DRAFT = {
    "title": "Tably",
    "statements": [
        {"ref": "B", "kind": "background", "text": "A booking system for small restaurants",
         "quote": "A booking system for small restaurants", "category": "a booking system"},
        {"ref": "P", "kind": "problem", "text": "guests may not trust it", "quote": "guests may not trust it"},
        {"ref": "U", "kind": "stakeholder", "text": "Guests", "quote": "Guests can reserve a table",
         "interest": "a table for sure"},
        {"ref": "G", "kind": "objective", "text": "Cut no-shows from 12% to 4% by June 2027",
         "quote": "It must cut no-shows from 12% to 4% by June 2027", "measure": "no-shows"},
        {"ref": "M", "kind": "metric", "text": "Share of no-shows", "measure": "no-shows", "serves": ["G"],
         "quote": "no-shows from 12% to 4% by June 2027", "target": "4%", "deadline": "June 2027",
         "measured_by": "counted every evening"},
        {"ref": "F1", "kind": "feature", "text": "Guests can reserve a table online",
         "quote": "Guests can reserve a table online", "serves": ["G"], "release": "1"},
        {"ref": "F2", "kind": "feature", "text": "Waiters can see all reservations of an evening",
         "quote": "Waiters can see all reservations of an evening", "serves": ["G"], "release": "1"},
        {"ref": "X", "kind": "exclusion", "text": "Payments", "quote": "Not in scope: payments"},
        {"ref": "C", "kind": "constraint", "text": "It must run on PostgreSQL",
         "quote": "It must run on PostgreSQL"},
        {"ref": "R", "kind": "risk", "text": "Guests may not trust it", "quote": "Risk: guests may not trust it",
         "probability": "low", "impact": "high", "mitigation": "a trial in two restaurants"},
    ],
}  # fmt: skip
PLAN_DRAFT = {
    "statements": [
        {"ref": "W", "kind": "component", "text": "Web app", "responsibility": "takes reservations",
         "serves": ["FE-1", "FE-2"], "depends_on": ["D"], "technology": "Python"},
        {"ref": "D", "kind": "component", "text": "Data store", "responsibility": "keeps reservations",
         "data": "all", "serves": ["FE-1"]},
        {"ref": "T", "kind": "technology", "text": "Python", "quote": "Use Python and FastAPI",
         "reason": "the team knows it", "alternatives": "Go", "serves": ["W"]},
        {"ref": "N", "kind": "integration", "text": "SendGrid", "quote": "It sends mail with SendGrid",
         "purpose": "mail", "protocol": "HTTPS", "format": "JSON", "on_failure": "tried again", "serves": ["W"]},
        {"ref": "Q", "kind": "quality", "text": "Pages must answer within 200 ms",
         "quote": "Pages must answer within 200 ms", "tactic": "measured in every build", "serves": ["W"]},
        {"ref": "S", "kind": "security", "text": "Untrusted input is checked at the trust boundary; keys come from the environment"},
        {"ref": "K", "kind": "decision", "text": "Use Python as the language", "serves": ["T"],
         "quote": "Use Python and FastAPI", "options": ["Python", "Go"],
         "because": "the team knows it", "bad": "slower than Go"},
        {"ref": "L", "kind": "decision", "text": "Keep all data in one store", "serves": ["D"],
         "options": ["one store", "a store for each part"], "because": "it is simple",
         "good": "one thing to back up", "bad": "moving it later is work"},
    ],
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    """A git repository without any document."""
    root = tmp_path / "restaurant"
    root.mkdir()
    Repository(root).commit("First", {"file.txt": "hello\n"})
    return root


class Advisor:
    """Turns as a handler would take them, in one project or in none."""

    def __init__(self, project=None):
        self.call = Call(settings={"project": str(project)} if project else {})
        self.save = project is not None

    def vision(self, text=DESCRIPTION, conversation="", **more):
        asked = TurnRequest(
            "vision_agent", "vision", text, "", conversation, save=self.save, **more
        )
        return take_turn(asked, self.call)

    def read(self, conversation="", **more):
        """A vision that was read: the text first, then its draft."""
        first = self.vision(conversation=conversation)
        return self.vision("", first.conversation.id, draft=VISION_DRAFT, **more)

    def architecture(self, text=REQUIREMENTS, conversation="", name="Tably", **more):
        given = {"save": self.save, "draft": PLAN_DRAFT, **more}
        asked = TurnRequest("architecture_agent", "architecture", text, name, conversation, **given)
        return take_turn(asked, self.call)


@pytest.fixture
def advisor(project):
    """Turns in the project."""
    return Advisor(project)


@pytest.fixture
def fake(monkeypatch):
    """A model on this machine that the environment names, with time enough on a busy machine."""
    with running_model() as (model, address):
        monkeypatch.setenv("CLEW_MODEL", "openai:fake")
        monkeypatch.setenv("CLEW_MODEL_URL", address)
        monkeypatch.setenv("CLEW_MODEL_SECONDS", "120")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        yield model


@pytest.fixture
def homeless():
    """Turns without a project."""
    return Advisor()
