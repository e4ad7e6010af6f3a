"""Refine, not regenerate: people's edits stay, and only what depends on a change changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from clew.advisors.builder.builder import build_vision
from clew.advisors.documents.document import parse, render
from clew.advisors.documents.merge import refine
from clew.advisors.documents.model import Item, Section
from clew.advisors.extract.notes import notes_of
from tests.advisors.golden_documents import NAMES, description_of
from tests.advisors.strategies import documents

TEXT = "A web app for cooks. Cooks can plan meals. Cut waste from 10 % to 5 % by 2027-01-31. There is a risk of fire."


def changed_sections(one, other):
    """The keys of the sections that differ."""
    first, second = ({part.key: part for part in two.sections} for two in (one, other))
    return [key for key in {**first, **second} if first.get(key) != second.get(key)]


def built(text=TEXT):
    return build_vision(notes_of(text), title="Meals")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_new_leaves_every_edit_alone(name):
    before = built(description_of(name))
    for section in before.sections:
        edited = before.with_section(
            replace(section, text=f"{section.text}\n\nMy own words.".strip())
        )
        after = refine(edited, before, before)
        assert after == edited
        assert changed_sections(before, after) == [section.key]


def test_a_new_fact_comes_in_beside_what_people_wrote():
    before = built()
    text = render(before).replace("Cooks can plan meals", "Cooks can plan all meals of a week")
    text = text.replace("### Risks\n", "### Risks\n\nAsk Ada about these.\n")
    text += "\n## My chapter\n\nKept.\n"
    edited = parse(text, "vision")
    new = built(f"{TEXT} Cooks can share recipes.")
    after = refine(edited, before, new)
    assert [item.text for item in after.items("FE")] == [
        "Cooks can plan all meals of a week",
        "Cooks can share recipes",
    ]
    assert after.section("risks").text == "Ask Ada about these."
    assert after.section("my-chapter").text == "Kept."
    assert "risks" not in changed_sections(edited, after)


def test_what_a_human_deleted_stays_deleted_and_what_is_no_longer_said_goes():
    before = built()
    edited = before.with_section(replace(before.section("risks"), items=(), text="None any more."))
    assert refine(edited, before, built()).items("RI") == ()
    shorter = built(TEXT.replace(" There is a risk of fire.", ""))
    assert refine(before, before, shorter).items("RI") == ()
    owned = before.with_section(
        replace(before.section("risks"), items=(before.items("RI")[0].but(owner="Ada"),))
    )
    assert refine(owned, before, shorter).items("RI")[0].get("owner") == "Ada"


def test_values_are_merged_one_by_one():
    before = built()
    risk = before.items("RI")[0]
    edited = before.with_section(
        replace(before.section("risks"), items=(risk.but(owner="Ada", mitigation="a hose"),))
    )
    new = before.with_section(replace(before.section("risks"), items=(risk.but(impact="high"),)))
    merged = refine(edited, before, new).items("RI")[0]
    assert (merged.get("owner"), merged.get("mitigation"), merged.get("impact")) == (
        "Ada",
        "a hose",
        "high",
    )


def test_a_section_that_was_removed_is_not_brought_back():
    before = built()
    edited = replace(before, sections=tuple(s for s in before.sections if s.key != "priorities"))
    assert refine(edited, before, built()).section("priorities") is None


def test_an_id_that_a_human_gave_is_not_taken_over():
    before = built()
    features = before.section("features")
    edited = before.with_section(
        replace(features, items=(*features.items, Item("FE-2", "My own feature")))
    )
    new = built(f"{TEXT} Cooks can share recipes.")
    after = refine(edited, before, new)
    assert {item.text: item.id for item in after.items("FE")} == {
        "Cooks can plan meals": "FE-1",
        "My own feature": "FE-2",
        "Cooks can share recipes": "FE-3",
    }


def test_without_an_earlier_version_what_is_there_wins():
    mine = parse(
        "# Mine\n\n### Objectives\n\n- **BO-1** My goal\n\n### Constraints\n\nNot known yet.\n",
        "vision",
    )
    after = refine(mine, None, built(f"{TEXT}\n\n## Constraints\n\n- It must be cheap."))
    assert after.title == "Mine"
    assert after.item("BO-1").text == "My goal"
    assert after.section("constraints").items[0].text == "It must be cheap."
    assert after.section("vision") is not None


@settings(max_examples=80)
@given(documents)
def test_any_document_refined_with_itself_is_itself(document):
    from clew.advisors.documents.document import with_ids

    assert refine(document, document, document) == with_ids(document)
    added = replace(document, sections=(*document.sections, Section("", "Of my own", 2, "x")))
    assert refine(added, document, document) == with_ids(added)
