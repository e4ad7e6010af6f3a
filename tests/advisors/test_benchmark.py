"""The judge of the advisors: what it finds in the drafts of a careless caller, on stand-in texts."""

from __future__ import annotations

import json

import pytest
from benchmarks.advisors.__main__ import inexact, report
from benchmarks.advisors.corpus import RECIPES, foreign_texts, scripted_texts

from clew.advisors.drafts.kinds import KINDS


def test_inventions_and_omissions_are_found_and_the_truth_is_taken():
    found = report(scripted_texts(), rounds=3)

    assert found["careless caller: inventions refused"].percent >= 95
    assert found["careless caller: omissions listed"].percent >= 90
    assert found["careless caller: inventions refused"].whole > 20
    assert found["perfect caller: facts in the document"].percent == 100
    assert found["facts with a word that is lost"].part == 0


def test_a_quote_may_be_copied_inexactly_and_what_only_looks_alike_is_refused():
    found = inexact(scripted_texts())

    del found["kept out, a negation dropped"]  # here only exclusions have one, and need none
    for name, share in found.items():
        if share.whole:
            assert share.percent >= (80 if "actor of the text" in name else 95), name


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_has_facts_of_many_texts_and_no_text(recipe):
    entries = json.loads(RECIPES[recipe].read_text("utf-8"))

    assert len(entries) >= (20 if recipe == "fresh" else 30)
    for entry in entries:
        place = {"page"} if "page" in entry else {"repository", "commit", "path", "lines"}
        assert entry.keys() == {"sha256", "facts"} | place
        assert len(entry.get("commit", "x" * 40)) == 40
        for kind, start, end in entry["facts"]:
            assert kind in KINDS["vision"]
            assert 0 <= start < end


def test_texts_that_are_not_there_are_named(tmp_path):
    texts, missing = foreign_texts(tmp_path, "held_out")

    assert not texts
    assert len(missing) >= 30
