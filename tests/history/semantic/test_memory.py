"""Notes that agents keep: read where they may be, followed as they change."""

from __future__ import annotations

import os

import pytest

from clew.history.semantic.notes import memory_roots, search_memory, sections
from clew.kit.errors import Invalid, NotFound

NOTE = """---
name: api
---
Intro about the service.

# Deploying

## Database
Migrations run before the new version starts.

```sh
# not a heading
make migrate
```

## Rollback ##
Go back with the previous image.
"""


@pytest.fixture
def memory(private_home):
    """The notes of two projects, where Claude Code keeps them."""
    for project, text in (("alpha", NOTE), ("beta", "# Style\nPrefer small functions.\n")):
        folder = private_home / ".claude" / "projects" / project / "memory"
        folder.mkdir(parents=True)
        (folder / "notes.md").write_text(text, encoding="utf-8")
    return private_home / ".claude" / "projects"


def headings(found):
    return [section["heading"] for section in found["sections"]]


def test_sections_are_what_stands_under_headings():
    found = list(sections(NOTE, "n.md", "p"))
    assert [(one.heading, one.line) for one in found] == [
        ("", 1),
        ("Deploying", 6),
        ("Deploying > Database", 8),
        ("Deploying > Rollback", 16),
    ]
    assert "# not a heading" in found[2].text
    assert found[3].text == "## Rollback ##\nGo back with the previous image."
    assert list(sections("\n\n---\n", "n.md", "p")) == []


def test_long_sections_are_taken_in_parts():
    found = list(sections("# A\n" + "some words here\n" * 1000, "n.md", "p"))
    assert len(found) > 3
    assert {one.heading for one in found} == {"A"}
    assert sum(one.text.count("some words") for one in found) == 1000


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "words"])
def test_the_right_section_comes_first(memory, mode):
    found = search_memory("run database migrations", mode=mode)
    first = found["sections"][0]
    assert (first["project"], first["heading"]) == ("alpha", "Deploying > Database")
    assert (first["line"], first["is_whole"]) == (8, True)
    assert first["source"].endswith("alpha/memory/notes.md")
    assert (found["files"], found["mode"], found["skipped"]) == (2, mode, [])


def test_meaning_finds_other_words(memory):
    found = search_memory("undo a bad release", mode="semantic", project="alpha")
    assert "Deploying > Rollback" in headings(found)[:2]
    assert found["model"] == "wordllama-l2-supercat-256"


def test_one_project_alone(memory):
    found = search_memory("functions database", project="beta")
    assert {section["project"] for section in found["sections"]} == {"beta"}
    assert search_memory("functions", project="nope")["sections"] == []


def test_changes_are_followed(memory):
    note = memory / "beta" / "memory" / "notes.md"
    asked = {"mode": "words"}
    assert headings(search_memory("functions", **asked)) == ["Style"]
    note.write_text("# Taste\nPrefer tiny functions.\n", encoding="utf-8")
    assert headings(search_memory("functions", **asked)) == ["Taste"]
    (note.parent / "more.md").write_text("# More\nfunctions\n", encoding="utf-8")
    assert sorted(headings(search_memory("functions", **asked))) == ["More", "Taste"]
    note.unlink()
    assert headings(search_memory("functions", **asked)) == ["More"]
    assert search_memory("functions", mode="semantic")["files"] == 2


def test_no_notes_no_answers(private_home):
    found = search_memory("anything")
    assert (found["total"], found["files"], found["sections"]) == (0, 0, [])


def test_directories_can_be_named(tmp_path, monkeypatch):
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "deep" / "x.md").write_text("deep thoughts", encoding="utf-8")
    (tmp_path / "b" / "memory").mkdir(parents=True)
    (tmp_path / "b" / "memory" / "y.md").write_text("shallow thoughts", encoding="utf-8")
    (tmp_path / "b" / "memory" / "y.txt").write_text("no thoughts", encoding="utf-8")
    monkeypatch.setenv("CLEW_MEMORY", f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'b' / 'memory'}")
    found = search_memory("thoughts", mode="words")
    assert sorted(section["project"] for section in found["sections"]) == ["a", "b"]
    found = search_memory("thoughts", mode="words", directories=[str(tmp_path / "a")])
    assert [section["project"] for section in found["sections"]] == ["a"]
    with pytest.raises(NotFound, match="No such memory directory"):
        memory_roots([str(tmp_path / "nope")])


def test_nothing_outside_is_read(memory, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\nhunter2 password\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other.md").write_text("hunter2", encoding="utf-8")
    folder = memory / "alpha" / "memory"
    (folder / "link.md").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path / "folder")
    os.mkfifo(folder / "pipe.md")
    (folder / "big.md").write_bytes(b"x" * (1024 * 1024 + 1))
    found = search_memory("hunter2 password", mode="words")
    assert found["sections"] == []
    assert len(found["skipped"]) == 4
    assert sum("a link" in reason for reason in found["skipped"]) == 2


def test_odd_files_are_read_as_far_as_they_can_be(memory):
    folder = memory / "alpha" / "memory"
    (folder / "latin.md").write_bytes(b"# caf\xe9 culture\nbar\x00baz\n")
    (folder / "empty.md").write_bytes(b"")
    assert search_memory("culture", mode="words")["sections"][0]["heading"] == "caf\ufffd culture"


def test_a_long_section_is_shown_where_it_matches(memory):
    lines = [f"line {number} says nothing" for number in range(150)]
    lines[100] = "here is the needle in it"
    text = "# Long\n" + "\n".join(lines)
    (memory / "beta" / "memory" / "long.md").write_text(text, encoding="utf-8")
    first = search_memory("needle", mode="words")["sections"][0]
    assert first["text"].startswith("here is the needle")
    assert not first["is_whole"]
    assert len(first["text"]) <= 700


def test_bad_questions_are_refused(memory):
    with pytest.raises(Invalid, match="no words"):
        search_memory("??")
    with pytest.raises(Invalid, match="Unknown mode"):
        search_memory("x", mode="y")
