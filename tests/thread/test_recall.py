"""One question over everything, with filters, ranks and calls."""

from __future__ import annotations

import pytest

from clew.kit.errors import Invalid, NotFound
from clew.kit.times import day_text
from clew.specs.index.text_index import SPEC, spec_source
from clew.specs.store.store import SpecStore
from clew.thread.recall.recall import KINDS, RecallRequest, interleaved, recall, recalled_text
from clew.thread.recall.word_rank import telling_words
from clew.thread.why.why import why
from tests.thread.story import LISTED, OPEN, spec_text
from tests.thread.story import SPEC as STORE_SPEC


def found(story, text, **options):
    return recall(story.rooms(), RecallRequest(text, **options))


def keys(recalled, kind=None):
    return [hit.id for hit in recalled.hits if kind in (None, hit.kind)]


def test_one_question_finds_every_kind(story):
    logs = story.root / ".chant" / "logs"
    logs.mkdir()
    (logs / f"{STORE_SPEC}.log").write_text(
        "[2026-01-22T10:00:00Z] orders survive the crash test\n"
    )
    hits = found(story, "orders survive crash", limit=30).hits
    assert {hit.kind for hit in hits} >= {"commit", "spec", "run", "document"}
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_each_hit_has_what_it_is_and_the_call_that_shows_more(story):
    calls = {hit.kind: hit for hit in found(story, "group commits orders retry", limit=50).hits}
    assert calls["commit"].call.startswith("clew why ")
    assert calls["commit"].tool["name"] == "clew_why"
    assert calls["spec"].tool == {"name": "chant_spec_get", "arguments": {"id": calls["spec"].id}}
    assert calls["command"].call == f"clew command show {calls['command'].id}"
    assert calls["document"].call == f"less {calls['document'].id}"
    for hit in calls.values():
        assert hit.title


def test_the_snippet_is_the_line_that_answers(story):
    hit = next(one for one in found(story, "because of the server").hits if one.kind == "document")
    assert hit.id == "docs/adr/0001-keep-orders-in-sqlite.md"
    assert "no server" in hit.snippet


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_a_filter(story, kind):
    assert {hit.kind for hit in found(story, "orders retry commits", kinds=(kind,)).hits} <= {kind}


def test_an_unknown_kind_and_an_empty_question_are_refused(story):
    with pytest.raises(Invalid, match="Unknown kind"):
        found(story, "x", kinds=("thing",))
    with pytest.raises(Invalid, match="no words"):
        found(story, "?!")


def test_repositories_are_a_filter(story):
    assert {hit.kind for hit in found(story, "orders", repos=("shop",)).hits} == {"commit"}
    with pytest.raises(NotFound):
        found(story, "orders", repos=("nowhere",))


def test_times_are_a_filter(story):
    new = found(story, "orders", since=1_760_000_000)
    assert keys(new, "commit") == []
    assert STORE_SPEC in keys(new, "spec")
    old = found(story, "orders", until=1_760_000_000)
    assert keys(old, "commit")
    assert keys(old, "spec") == []


def test_archived_specs_are_found_and_say_so(story):
    place = story.root / ".chant" / "archive" / "2026-01-22"
    place.mkdir(parents=True)
    (story.root / ".chant" / "specs" / f"{LISTED}.md").rename(place / f"{LISTED}.md")
    hit = next(one for one in found(story, "patient").hits if one.kind == "spec")
    assert (hit.id, hit.title) == (LISTED, "Be patient (archived)")


def test_changed_new_and_deleted_files_are_noticed(story):
    specs = story.root / ".chant" / "specs"
    assert keys(found(story, "zeppelin"), "spec") == []
    (specs / f"{OPEN}.md").write_text(spec_text("pending", "Paint a zeppelin"))
    assert keys(found(story, "zeppelin"), "spec") == [OPEN]
    (specs / f"{OPEN}.md").unlink()
    (story.root / "docs" / "air.md").write_text("# Air\n\nA zeppelin is slow.\n")
    hits = found(story, "zeppelin")
    assert keys(hits, "spec") == []
    assert keys(hits, "document") == ["docs/air.md"]


def test_the_index_may_be_deleted_and_two_may_write_it(story, private_home):
    first = found(story, "orders").hits
    (kept,) = (private_home / ".clew" / "texts").glob("*.sqlite3")
    (story.root / ".chant" / "specs" / f"{OPEN}.md").write_text(spec_text("pending", "Balloons"))
    store = SpecStore(story.root.resolve())
    with store.texts.current([spec_source(store.project, store.snapshot())]) as index:
        assert index.texts(SPEC).size >= 3
    store.texts.close()
    assert keys(found(story, "balloons"), "spec") == [OPEN]
    story.rooms().specs.texts.close()
    for file in kept.parent.iterdir():
        file.unlink()
    assert [hit.id for hit in found(story, "orders").hits][:1] == [first[0].id]


def test_why_writes_no_index(story, private_home):
    why(story.rooms(), "report.py:1")
    assert not (private_home / ".clew" / "texts").exists()


def test_words_that_every_spec_has_still_tell_them_apart(story):
    assert keys(found(story, "orders survive"), "spec")[0] == STORE_SPEC


def test_a_home_that_cannot_be_written_is_no_hindrance(story, monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("CLEW_HOME", str(file / "below"))
    assert STORE_SPEC in keys(found(story, "orders survive"), "spec")


def test_meaning_is_used_where_there_are_vectors(story):
    from clew.history.semantic.vectors import embed_commits
    from clew.history.store.sqlite import SqliteHistory, database_path
    from clew.models.embedding import packaged_embedder

    assert any("meaning" in one for one in found(story, "orders").missing)
    store = SqliteHistory.open(database_path())
    embed_commits(store, packaged_embedder(), store.repos())
    store.close()
    recalled = found(story, "pause before trying once more", kinds=("commit",))
    assert not any("meaning" in one for one in recalled.missing)
    assert any(
        "retr" in hit.title.lower() or "wait" in hit.title.lower() for hit in recalled.hits[:3]
    )


def test_git_alone_is_enough(bare_story):
    recalled = found(bare_story, "retry three times")
    assert keys(recalled)[0] == f"shop@{bare_story.shas['bad'][:12]}"
    assert any("not in the index" in one for one in recalled.missing)
    assert "Missing: " in recalled_text(recalled)


def test_outside_of_any_project_commands_still_answer(tmp_path, monkeypatch):
    from clew.thread.rooms import open_rooms

    monkeypatch.chdir(tmp_path)
    recalled = recall(open_rooms(), RecallRequest("group commits"))
    assert {hit.kind for hit in recalled.hits} <= {"command"}


def test_words_that_say_nothing_are_left_out():
    assert telling_words("Where was the retry of orders done?") == ["retry", "orders", "done"]
    assert telling_words("the") == ["the"]


def test_lists_are_fused_by_rank_and_by_how_much_each_hit_has():
    lists = {"x": [("first", 1.0), ("second", 1.0)], "y": [("little", 0.1), ("less", 0.0)]}
    order = [key for key, _ in interleaved(lists, {})]
    assert order == ["first", "second", "little", "less"]
    assert interleaved({"x": [("one", 1.0)]}, {"x": 0.5}) == [("one", 0.5)]


def test_documents_are_dated_by_the_commit_that_touched_them_last(story, monkeypatch):
    """What git does not have yet is from when it was written; all dates come in one call."""
    from clew.thread.recall import document_dates

    asked = []
    opened = document_dates.open_git
    monkeypatch.setattr(
        document_dates,
        "open_git",
        lambda *words, cwd: asked.append(words) or opened(*words, cwd=cwd),
    )

    def dates():
        hits = found(story, "zeppelin", kinds=("document",)).hits
        return {hit.id: day_text(hit.time) for hit in hits}

    docs = story.root / "docs"
    for name in ("old", "late one"):
        (docs / f"{name}.md").write_text(f"# {name}\n\nThe zeppelin.\n", "utf-8")
    old = {"GIT_COMMITTER_DATE": "2011-02-03T10:00:00Z", "GIT_AUTHOR_DATE": "2010-01-01T10:00:00Z"}
    story.repository.git("add", "docs/old.md")
    story.repository.git("commit", "--quiet", "-m", "Old", env=old)

    first = dates()
    assert first["docs/old.md"] == "2011-02-03"
    assert first["docs/late one.md"] > "2020"
    assert dates() == first
    assert len(asked) == 1

    story.repository.git("add", "docs/late one.md")
    story.repository.git("commit", "--quiet", "-m", "Late", env=old)
    assert dates()["docs/late one.md"] == "2011-02-03"
    assert len(asked) == 2
