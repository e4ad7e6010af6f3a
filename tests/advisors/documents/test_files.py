"""Documents in a project: where they go, and that nobody's words are lost there."""

from __future__ import annotations

import os

import pytest

from clew.advisors.conversation.store import opened_store
from clew.advisors.documents.document import parse
from clew.kit.call import Call
from clew.kit.errors import Invalid, NotFound
from tests.advisors.conftest import DESCRIPTION, Advisor


def edit(path, old, new):
    """Change a file as a person does."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_documents_are_saved_in_the_project(advisor, project):
    advisor.vision(conversation="c")
    built = advisor.architecture(conversation="c")

    vision = parse((project / "docs/vision.md").read_text("utf-8"), "vision")
    assert vision.metadata.keys() >= {"status", "updated", "version", "writer", "conversation"}
    assert (project / "docs/architecture.md").read_text("utf-8") == built.main.text
    names = sorted(one.name for one in (project / "docs/adr").iterdir())
    assert names[0].startswith("0001-")
    index = (project / "docs/adr/README.md").read_text("utf-8")
    assert all(name in index for name in names if name != "README.md")


def test_a_humans_edits_are_kept_and_known(advisor, project):
    advisor.vision(conversation="c")
    path = project / "docs/vision.md"
    edit(path, "from 12% to 4%", "from 12% to 2%")
    edit(path, "## Business context", "## Names\n\nIt is called Tably.\n\n## Business context")

    said = advisor.vision(text="Guests can cancel.", conversation="c")
    built = advisor.architecture(conversation="c")

    text = path.read_text("utf-8")
    assert "from 12% to 2%" in text
    assert "It is called Tably." in text
    assert "cancel" in text
    assert said.authors["objectives"] == "human"
    objective = next(item for item in said.document.items("BO"))
    assert "2%" in objective.text
    assert "12% to 4%" not in built.main.text


def test_only_what_depends_on_the_news_changes(advisor, project):
    advisor.vision(conversation="c")
    path = project / "docs/vision.md"
    before = parse(path.read_text("utf-8"), "vision")

    advisor.vision(text="Out of scope: deliveries.", conversation="c")

    after = parse(path.read_text("utf-8"), "vision")
    changed = {one.key for one in after.sections if before.section(one.key) != one}
    assert changed == {"exclusions"}


def test_an_answer_written_into_the_file_counts(advisor, project):
    first = advisor.vision(text="A shop for bicycles.", conversation="c")
    asked = next(one for one in first.questions if one.section == "features")
    path = project / "docs/vision.md"
    edit(path, f"- **{asked.id}** {asked.text} _(blocking: yes)_\n",
         f"- **{asked.id}** {asked.text}\n  - Answer: Customers can rent a bicycle\n")  # fmt: skip

    said = advisor.vision(text="", conversation="c")

    assert any("rent a bicycle" in item.text for item in said.document.items("FE"))
    assert asked.id not in {one.id for one in said.questions}


def test_a_removed_statement_stays_removed(advisor, project):
    said = advisor.vision(conversation="c")
    path = project / "docs/vision.md"
    gone = said.document.items("FE")[1]
    lines = path.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f"| {gone.id} ")]
    path.write_text("".join(kept), encoding="utf-8")

    again = advisor.vision(text="Guests can cancel.", conversation="c")

    assert again.document.item(gone.id) is None
    assert gone.text not in again.main.text
    assert gone.id not in {item.id for item in again.document.items("FE")}, "nor is its id reused"


def test_a_new_conversation_goes_on_from_the_file(advisor, project):
    first = advisor.vision()
    edit(project / "docs/vision.md", "from 12% to 4%", "from 12% to 2%")

    second = advisor.vision(text="Guests can cancel.")

    assert second.conversation.id != first.conversation.id
    assert second.document.title == first.document.title
    assert "from 12% to 2%" in second.main.text
    assert second.document.section("background") == first.document.section("background")
    assert {item.id for item in first.document.items()} <= {
        item.id for item in second.document.items()
    }


def test_two_conversations_taking_turns_lose_nothing(advisor):
    advisor.vision(conversation="a")
    advisor.vision(text="Guests can cancel.", conversation="b")
    advisor.vision(text="Guests can rate a meal.", conversation="a")
    said = advisor.vision(text="Guests can leave a tip.", conversation="b")

    for words in ("reserve", "cancel", "rate a meal", "leave a tip"):
        assert words in said.main.text


def test_a_file_from_another_machine_is_continued(advisor, project):
    first = advisor.vision()
    with opened_store() as store:
        store.delete(first.conversation.id)

    said = advisor.vision(text="Guests can cancel.")

    assert "cancel" in said.main.text
    assert said.document.section("background") == first.document.section("background")
    known = {item.id: item.text for item in first.document.items() if item.prefix != "Q"}
    assert known == {key: said.document.item(key).text for key in known}
    asked = [item.text for item in said.document.items("Q")]
    assert len(asked) == len(set(asked)), "no question is asked twice"


def test_a_file_that_clew_did_not_write_is_left_alone(advisor, project):
    path = project / "docs/architecture.md"
    path.parent.mkdir()
    path.write_text("# Our architecture\n\nOld and loved.\n", encoding="utf-8")

    said = advisor.architecture()
    again = advisor.architecture(conversation=said.conversation.id, text="Use Redis.")

    assert path.read_text("utf-8") == "# Our architecture\n\nOld and loved.\n"
    assert said.main.path == "docs/architecture-clew.md"
    assert again.main.path == "docs/architecture-clew.md"
    assert any("was not written by Clew" in note for note in said.notes)


def test_an_existing_directory_of_records_is_adopted_with_its_style(advisor, project):
    directory = project / "doc" / "adr"
    directory.mkdir(parents=True)
    (directory / "0007-keep-it-small.md").write_text(
        "# 7. Keep it small\n\nDate: 2026-01-02\n\n## Status\n\nAccepted\n\n## Context\n\nWe are few."
        "\n\n## Decision\n\nKeep it small.\n\n## Consequences\n\nLess to do.\n",
        encoding="utf-8",
    )
    before = (directory / "0007-keep-it-small.md").read_text("utf-8")

    said = advisor.architecture()

    assert {one.path.rpartition("/")[0] for one in said.records} == {"doc/adr"}
    assert min(one.path for one in said.records).startswith("doc/adr/0008-")
    text = (project / said.main.path).read_text("utf-8")
    assert f"](../{min(one.path for one in said.records)})" in text
    assert "## Status\n\nProposed" in (project / said.records[0].path).read_text("utf-8")
    assert (directory / "0007-keep-it-small.md").read_text("utf-8") == before
    assert not (project / "docs" / "adr").exists()


def test_records_are_not_made_twice_and_accepted_ones_never_change(advisor, project):
    first = advisor.architecture(conversation="c")
    record = project / first.records[0].path
    edit(record, "status: proposed", "status: accepted")
    edit(record, "## Context", "Signed by Ada.\n\n## Context")
    text = record.read_text("utf-8")

    second = advisor.architecture(text="Use Redis for sessions.", conversation="c")

    assert record.read_text("utf-8") == text
    names = sorted(one.name for one in (project / "docs/adr").glob("0*.md"))
    assert len(names) == len(first.records) + len(second.records)


def test_the_directory_can_be_chosen(advisor, project, monkeypatch):
    monkeypatch.setenv("CLEW_DOCS", "design/papers")

    assert advisor.vision().main.path == "design/papers/vision.md"
    assert advisor.architecture().records[0].path.startswith("design/papers/adr/")


@pytest.mark.parametrize("name", ["../elsewhere", "/tmp/elsewhere", "~/x", ".git", "docs/../.."])
def test_nothing_is_written_outside_of_the_project(advisor, project, monkeypatch, name):
    monkeypatch.setenv("CLEW_DOCS", name)

    with pytest.raises(Invalid):
        advisor.vision()

    assert not (project.parent / "elsewhere").exists()


def test_links_that_lead_out_of_the_project_are_refused(advisor, project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "docs").symlink_to(outside)
    with pytest.raises(Invalid, match="outside of the project"):
        advisor.vision()
    assert list(outside.iterdir()) == []

    (project / "docs").unlink()
    (project / "docs").mkdir()
    (outside / "vision.md").write_text("theirs\n", encoding="utf-8")
    (project / "docs" / "vision.md").symlink_to(outside / "vision.md")
    with pytest.raises(Invalid, match="outside of the project"):
        advisor.vision()
    assert (outside / "vision.md").read_text("utf-8") == "theirs\n"


def test_without_a_project_it_is_kept_in_the_conversation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    advisor = Advisor()
    advisor.save = True

    said = advisor.vision()

    assert said.main.path == ""
    assert "Kept in the conversation only: there is no project" in said.notes
    assert list(tmp_path.iterdir()) == []


def test_a_project_that_is_named_must_exist(tmp_path):
    advisor = Advisor()
    advisor.call, advisor.save = Call(settings={"project": str(tmp_path / "nowhere")}), True

    with pytest.raises(NotFound, match="No such project directory"):
        advisor.vision()


def test_a_file_that_is_not_text_is_told_and_kept(advisor, project):
    (project / "docs").mkdir()
    (project / "docs" / "vision.md").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(Invalid, match=r"vision\.md is not UTF-8"):
        advisor.vision()

    assert (project / "docs" / "vision.md").read_bytes() == b"\xff\xfe\x00"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_that_cannot_be_written_is_told(advisor, project):
    (project / "docs").mkdir(mode=0o500)

    with pytest.raises(Exception, match="cannot be written"):
        advisor.vision(text=DESCRIPTION)


def test_a_deleted_file_comes_back(advisor, project):
    advisor.vision(conversation="c")
    (project / "docs/vision.md").unlink()

    said = advisor.vision(text="", conversation="c")

    assert (project / "docs/vision.md").read_text("utf-8") == said.main.text
