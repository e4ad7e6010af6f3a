"""Conversations: durable, versioned, isolated, and safe with several servers and with kill -9."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from clew.advisors.conversation import store as store_module
from clew.advisors.conversation.store import StoredDocument, Turn, database_path, opened_store
from clew.advisors.conversation.turn import LONGEST_TEXT
from clew.advisors.documents.document import parse
from clew.advisors.documents.model import Facts
from clew.advisors.tools import conversations
from clew.kit.call import Call
from clew.kit.errors import Invalid, NotFound
from tests.advisors.conftest import VISION_DRAFT, Advisor
from tests.support.client import CLARIAD, StdioServer


def turn(text, facts=None):
    """A turn with one document."""
    document = StoredDocument("vision", "vision", "T", text, text)
    return Turn("vision_agent", {"text": text}, text, "T", "", facts or Facts("T"), (document,))


def test_a_missing_id_is_minted_and_returned(homeless):
    first, second = homeless.vision(), homeless.vision()

    assert first.conversation.id != second.conversation.id
    assert first.conversation.id.startswith("conv-")
    assert second.version == 1, "nothing is shared between callers without an id"


def test_an_unknown_id_begins_a_conversation_and_says_so(homeless):
    said = homeless.vision(conversation="project-123")

    assert said.conversation.id == "project-123"
    assert any("Nothing was known under conversation_id project-123" in n for n in said.notes)
    again = homeless.vision(text="Guests can cancel.", conversation="project-123")
    assert again.version == 2
    assert not any("Nothing was known" in n for n in again.notes)
    assert any("cancel" in item.text for item in again.document.items("FE"))
    assert any("reserve" in item.text for item in again.document.items("FE")), "nothing is lost"


def test_a_name_is_learned_when_it_is_said(homeless):
    said = homeless.vision(text="- a list", conversation="later")
    assert said.document.title == "Vision & Scope: Untitled project"
    again = homeless.vision(text="Tably books tables.", conversation="later")
    assert again.document.title == "Vision & Scope: Tably books tables"
    draft = {"title": "Tably", "statements": []}
    other = homeless.vision(text="A shop.", conversation="later", draft=draft)
    assert other.document.title == "Vision & Scope: Tably"


def test_a_draft_makes_the_notes_a_document_that_is_ready(homeless):
    notes = homeless.vision(conversation="c")
    assert not notes.ready
    assert notes.document.metadata["status"] == "notes"
    said = homeless.vision("", "c", draft=VISION_DRAFT)

    assert said.ready, (said.findings, said.questions, said.coverage)
    assert said.writer == "caller"
    assert said.document.metadata["status"] == "draft"
    assert said.ids["G"] == "BO-1"
    assert said.coverage.percent == 100


def test_ready_needs_coverage_and_not_silence(homeless):
    homeless.vision(conversation="c")
    few = {"statements": VISION_DRAFT["statements"][:6]}
    said = homeless.vision("", "c", draft=few)
    assert not said.ready
    assert said.coverage.percent < 90
    left = [item.text for item in said.document.section("unplaced").items]
    assert "It must run on PostgreSQL" in left, "what nobody cites is shown in the document"
    whole = homeless.vision("", "c", draft=VISION_DRAFT)
    assert whole.ready
    more = homeless.vision("Guests also want to rate the food of the evening.", "c")
    assert not more.ready, "what was said since is not cited"


def test_a_refused_statement_is_not_ready(homeless):
    homeless.vision(conversation="c")
    wrong = {"ref": "Z", "kind": "feature", "text": "Guests fly", "quote": "Guests can fly"}
    draft = {"statements": [*VISION_DRAFT["statements"], wrong]}
    said = homeless.vision("", "c", draft=draft)
    assert not said.ready
    assert [one.ref for one in said.refused] == ["Z"]
    assert "fly" not in said.main.text


def test_answers_in_free_text_count(homeless):
    first = homeless.vision(text="A shop for bicycles.", conversation="c")
    asked = next(one for one in first.questions if one.section == "features")
    said = homeless.vision(text=f"{asked.id}: Customers can rent a bicycle", conversation="c")
    assert any("rent a bicycle" in item.text for item in said.document.items("FE"))
    assert asked.id not in {one.id for one in said.questions}


def test_conversations_do_not_see_each_other(homeless):
    homeless.vision(text="A zoo. Keepers can feed lions.", conversation="zoo")
    said = homeless.vision(text="A bank. Tellers can count coins.", conversation="bank")

    assert "lion" not in said.main.text.lower()


def test_the_architecture_builds_on_the_vision(homeless):
    vision = homeless.read(conversation="c")
    built = homeless.architecture(conversation="c")

    context = built.document.section("context").text
    assert vision.document.title in context
    assert all(f"{one.id}: {one.text}" in context for one in vision.document.items("BO"))
    served = {one for part in built.document.items("CP") for one in part.references("features")}
    assert {item.id for item in vision.document.items("FE")} == served
    constraints = {item.text for item in vision.document.items("CO")}
    assert constraints <= {item.text for item in built.document.items("CO")}
    assert built.ready, (built.findings, built.questions, built.coverage)


def test_an_architecture_without_a_vision_is_notes_and_decides_nothing(homeless):
    built = homeless.architecture(draft=None)

    assert built.document.title == "Architecture: Tably"
    assert built.records == ()
    assert not built.ready
    assert "Use Python and FastAPI" in built.main.text


def test_decisions_that_somebody_took_become_records(homeless):
    built = homeless.architecture()

    assert [one.title for one in built.records] == [
        "Use Python as the language",
        "Keep all data in one store",
    ]
    assert "Chosen option: “Python”, because the team knows it." in built.records[0].text
    assert "* Bad: slower than Go." in built.records[0].text


def test_every_version_is_kept_and_shown(homeless):
    homeless.vision(conversation="c")
    homeless.vision(text="Guests can cancel.", conversation="c")
    with opened_store() as store:
        first = store.version_of_document("c", "vision", 1)
        second = store.version_of_document("c", "vision", 2)
        exported = store.export("c")

    assert "cancel" not in first.text
    assert "cancel" in second.text
    assert [one["version"] for one in exported["turns"]] == [1, 2]
    assert exported["turns"][1]["tool"] == "vision_agent"
    assert parse(exported["documents"][0]["text"], "vision").title.startswith("Vision & Scope")


def test_saying_nothing_new_changes_nothing(homeless):
    first = homeless.vision(conversation="c")
    again = homeless.vision(conversation="c")

    assert again.main.action == "unchanged"
    assert again.main.text == first.main.text


def test_answers_are_taken_in_and_not_asked_again(homeless):
    first = homeless.vision(text="A shop for bicycles.", conversation="c")
    question = next(one for one in first.questions if one.section == "features")

    said = homeless.vision(
        text="", conversation="c", answers={question.id: "Customers can rent a bicycle"}
    )

    assert question.id not in {one.id for one in said.questions}
    assert "rent a bicycle" in said.main.text


def test_an_answer_to_no_question_is_refused(homeless):
    homeless.vision(conversation="c")

    with pytest.raises(NotFound, match="no question Q-99"):
        homeless.vision(text="", conversation="c", answers={"Q-99": "yes"})


@pytest.mark.parametrize("name", ["x" * 201, "a\nb", "a\0b", "\x1b[2J"])
def test_ids_that_cannot_be_ids_are_refused(homeless, name):
    with pytest.raises(Invalid, match="conversation_id"):
        homeless.vision(conversation=name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "'; DROP TABLE turns; --", "日本", "a b"])
def test_odd_ids_are_only_names(homeless, name):
    assert homeless.vision(conversation=name).conversation.id == name
    assert homeless.vision(conversation=name).version == 2


def test_sizes_are_capped(homeless, monkeypatch):
    with pytest.raises(Invalid, match="at most"):
        homeless.vision(text="x" * (LONGEST_TEXT + 1))
    monkeypatch.setattr(store_module, "LARGEST_FACTS", 100)
    with pytest.raises(Invalid, match="What is known has"):
        homeless.vision(conversation="c")
    with opened_store() as store:
        assert store.load("c").is_new


def test_old_versions_go_but_the_last_of_each_document_stays(monkeypatch):
    monkeypatch.setattr(store_module, "MOST_VERSIONS", 3)
    with opened_store() as store:
        before = store.load("c")
        plan = StoredDocument("architecture", "architecture", "A", "a", "a")
        store.save(before, Turn("x", {}, "", "T", "", Facts("T"), (plan,)))
        for number in range(8):
            store.save(store.load("c"), turn(f"text {number}"))
        kept = store.export("c")["documents"]

    assert [one["version"] for one in kept if one["name"] == "vision"] == [7, 8, 9]
    assert [one["text"] for one in kept if one["name"] == "architecture"] == ["a"]


def test_who_comes_second_is_told():
    with opened_store() as store:
        old = store.load("c")
        assert store.save(old, turn("one")) == 1
        assert store.save(old, turn("two")) is None
        assert store.load("c").documents["vision"].text == "one"


def test_list_show_export_delete(homeless):
    homeless.vision(conversation="a")
    homeless.vision(conversation="b")
    listed = conversations({}, Call()).data["conversations"]
    assert {one["id"] for one in listed} == {"a", "b"}
    shown = conversations({"action": "show", "conversation_id": "a"}, Call()).data
    assert shown["documents"][0]["name"] == "vision"
    assert shown["turns"][0]["tool"] == "vision_agent"
    exported = conversations({"action": "export", "conversation_id": "a"}, Call()).data
    assert exported["facts"]["items"]
    conversations({"action": "delete", "conversation_id": "a"}, Call())
    assert [one["id"] for one in conversations({}, Call()).data["conversations"]] == ["b"]
    with pytest.raises(NotFound, match="No conversation 'a'"):
        conversations({"action": "show", "conversation_id": "a"}, Call())
    with pytest.raises(Invalid, match="needs a conversation_id"):
        conversations({"action": "delete"}, Call())


def test_what_is_kept_is_for_the_user_alone(homeless):
    homeless.vision()

    assert database_path().stat().st_mode & 0o077 == 0
    assert database_path().parent.stat().st_mode & 0o077 == 0


def call(server, text, conversation):
    params = {"project_description": text, "conversation_id": conversation}
    answer = server.ask("invoke_tool", {"name": "vision_agent", "parameters": params})
    return answer["result"]


def test_a_restarted_server_goes_on(tmp_path):
    with StdioServer(CLARIAD, cwd=tmp_path) as server:
        call(server, "A library. Readers can borrow books.", "c")
    with StdioServer(CLARIAD, cwd=tmp_path) as server:
        result = call(server, "Readers can return books.", "c")

    assert result["version"] == 2
    assert "borrow books" in result["output"]
    assert "return books" in result["output"]


def test_two_servers_on_one_store_lose_nothing(tmp_path):
    each = 6
    with StdioServer(CLARIAD, cwd=tmp_path) as one, StdioServer(CLARIAD, cwd=tmp_path) as other:
        call(one, "A library.", "c")

        def work(server, name):
            for number in range(each):
                call(server, f"Readers can use {name} number {number}.", "c")

        threads = [
            threading.Thread(target=work, args=pair) for pair in ((one, "alpha"), (other, "beta"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        last = call(one, "", "c")

    assert last["version"] == 2 * each + 2
    for name in ("alpha", "beta"):
        for number in range(each):
            assert f"{name} number {number}" in last["output"]


KILLED = """
import os, signal, sys
from clew.advisors.conversation import store, turn as conversation
from clew.advisors.documents import files
from tests.advisors.conftest import VISION_DRAFT, Advisor

point, project = sys.argv[1:]

def die(*_args, **_options):
    os.kill(os.getpid(), signal.SIGKILL)

if point == "transaction":
    store.ConversationStore._prune = die
elif point == "before files":
    conversation._save_files = die
elif point == "between files":
    real = files.write_text
    def once(*args):
        real(*args)
        die()
    files.write_text = once
Advisor(project).architecture(conversation="c")
"""


@pytest.mark.parametrize("point", ["transaction", "before files", "between files"])
def test_kill_9_in_the_middle_of_an_update_leaves_old_or_new(advisor, project, point):
    advisor.vision(conversation="c")
    vision = (project / "docs" / "vision.md").read_text("utf-8")

    done = subprocess.run(
        [sys.executable, "-c", KILLED, point, str(project)],
        check=False, capture_output=True, env=os.environ, timeout=60,
    )  # fmt: skip

    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    with opened_store() as store:
        after = store.load("c")
    assert after.version == (1 if point == "transaction" else 2)
    with closing(sqlite3.connect(database_path())) as database:
        assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert (project / "docs" / "vision.md").read_text("utf-8") == vision

    said = advisor.architecture(conversation="c")

    path = project / "docs" / "architecture.md"
    assert path.read_text("utf-8") == said.main.text
    records = sorted(one.name for one in (project / "docs" / "adr").glob("0*.md"))
    assert records
    linked = [name for name in records if name in said.main.text]
    assert linked == records, "no record is lost, none is there twice"


def test_a_turn_after_a_crash_does_not_take_old_text_for_a_humans(advisor, project):
    advisor.vision(conversation="c")
    path = project / "docs" / "vision.md"
    before = path.read_text("utf-8")
    advisor.vision(text="Guests can cancel.", conversation="c")
    path.write_text(before, encoding="utf-8")  # as if the server had ended before writing the file

    said = advisor.vision(text="Guests can rate a meal.", conversation="c")

    assert "cancel" in said.main.text
    assert "rate a meal" in said.main.text
    assert "human" not in said.authors.values()


def test_two_projects_of_one_conversation_do_not_disturb_each_other(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
        Advisor(tmp_path / name).vision(conversation="c")

    assert (tmp_path / "one/docs/vision.md").exists()
    assert (tmp_path / "two/docs/vision.md").exists()
