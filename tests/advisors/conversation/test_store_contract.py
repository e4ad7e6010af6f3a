"""What every store of conversations must do: the user's file, and a team's database."""

from __future__ import annotations

from contextlib import ExitStack, closing

import pytest

from clew.advisors.conversation import store as stores
from clew.advisors.conversation.store import Conversation, StoredDocument, Turn, opened_store
from clew.advisors.documents.model import Facts, Item
from clew.kit.errors import Invalid, NotFound


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    with ExitStack() as opened:
        yield opened.enter_context(opener(request)())


def opener(request):
    """What opens the store again and again."""
    if request.param == "sqlite":
        return opened_store
    from clew.team.database import Database, migrate
    from clew.team.servers.conversations import opened_conversations

    address = request.getfixturevalue("team_database")
    with closing(Database(address)) as database:
        migrate(database)
    return lambda: opened_conversations(address)


def document(text, name="vision", path="docs/vision.md"):
    return StoredDocument(
        name, "vision", f"T {text}", "draft", text, {"risks": "human"}, 0, "/p", path
    )


def turn(text, *documents):
    facts = Facts(text, (Item("BO-1", text, {"source": "text:1"}),))
    given = documents or (document(text),)
    return Turn("vision_agent", {"text": text}, f"said {text}", text, "/p", facts, given)


def said(store, name, *texts):
    for text in texts:
        assert store.save(store.load(name), turn(text)) is not None


def test_a_conversation_that_nobody_began_is_empty(store):
    found = store.load("c")
    assert found == Conversation("c")
    assert found.is_new


def test_a_turn_is_there_again(store):
    assert store.save(store.load("c"), turn("one")) == 1
    found = store.load("c")
    assert (found.id, found.title, found.project, found.version) == ("c", "one", "/p", 1)
    assert found.created == found.updated != ""
    assert found.facts.get("BO-1").text == "one"
    kept = found.documents["vision"]
    assert (kept.text, kept.draft, kept.authors) == ("one", "draft", {"risks": "human"})
    assert (kept.version, kept.project, kept.path) == (1, "/p", "docs/vision.md")


def test_only_one_turn_is_written_upon_a_version(store):
    before = store.load("c")
    assert store.save(before, turn("one")) == 1
    assert store.save(before, turn("two")) is None
    assert store.load("c").title == "one"


def test_each_version_of_a_document_stays_and_the_last_counts(store):
    said(store, "c", "one", "two")
    assert store.version_of_document("c", "vision", 1).text == "one"
    assert store.version_of_document("c", "vision", 3) is None
    assert store.load("c").documents["vision"].text == "two"


def test_a_turn_without_a_document_keeps_the_last_one(store):
    said(store, "c", "one")
    bare = Turn("vision_agent", {}, "", "two", "/p", Facts(), ())
    assert store.save(store.load("c"), bare) == 2
    assert store.load("c").documents["vision"].version == 1


def test_the_last_writer_of_a_file_is_known(store):
    said(store, "c", "one")
    said(store, "d", "two")
    assert store.written_to("/p", "docs/vision.md").text in {"one", "two"}
    assert store.written_to("/p", "docs/other.md") is None
    assert store.written_to("/q", "docs/vision.md") is None


def test_conversations_are_separate_listed_and_limited(store):
    said(store, "c", "one", "two")
    said(store, "d", "three")
    rows = {one["id"]: one for one in store.recent()}
    assert rows.keys() == {"c", "d"}
    assert (rows["c"]["version"], rows["c"]["documents"], rows["c"]["title"]) == (2, 1, "two")
    assert len(store.recent(1)) == len(store.recent(0)) == 1


def test_everything_is_exported(store):
    said(store, "c", "one", "two")
    found = store.export("c")
    assert [one["version"] for one in found["turns"]] == [1, 2]
    assert found["turns"][0]["arguments"] == '{"text":"one"}'
    assert [(one["name"], one["version"], one["text"]) for one in found["documents"]] == [
        ("vision", 1, "one"),
        ("vision", 2, "two"),
    ]
    assert found["facts"]["items"][0]["text"] == "two"


def test_what_is_deleted_is_gone(store):
    said(store, "c", "one")
    said(store, "d", "two")
    store.delete("c")
    assert store.load("c").is_new
    assert store.version_of_document("c", "vision", 1) is None
    assert [one["id"] for one in store.recent()] == ["d"]


@pytest.mark.parametrize("asked", ["existing", "export", "delete"])
def test_what_must_be_there_and_is_not(store, asked):
    with pytest.raises(NotFound, match="No conversation 'c'"):
        getattr(store, asked)("c")


def test_what_is_too_large_is_refused_and_changes_nothing(store, monkeypatch):
    monkeypatch.setattr(stores, "LARGEST_DOCUMENT", 10)
    with pytest.raises(Invalid, match="vision has 11 characters; at most 10 are kept"):
        store.save(store.load("c"), turn("12345678901"))
    assert store.load("c").is_new


def test_the_oldest_versions_go_and_the_last_of_each_document_stays(store, monkeypatch):
    monkeypatch.setattr(stores, "MOST_VERSIONS", 2)
    monkeypatch.setattr(stores, "MOST_TURNS", 3)
    store.save(store.load("c"), turn("plan", document("plan", "architecture")))
    said(store, "c", "one", "two", "three", "four")
    found = store.export("c")
    kept = [(one["name"], one["version"]) for one in found["documents"]]
    assert kept == [("architecture", 1), ("vision", 4), ("vision", 5)]
    assert [one["version"] for one in found["turns"]] == [3, 4, 5]
