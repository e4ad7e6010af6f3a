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

    def architecture(self, text=REQUIREMENTS, conversation="", name="Tably", **more):
        given = {"save": self.save, **more}
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
