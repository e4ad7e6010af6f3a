"""The judge of the advisors: what it finds in the drafts of a careless caller, on stand-in texts."""

from __future__ import annotations

import json

from benchmarks.advisors.__main__ import report
from benchmarks.advisors.corpus import FACTS, scripted_texts

from clew.advisors.drafts.kinds import KINDS


def test_inventions_and_omissions_are_found_and_the_truth_is_taken():
    found = report(scripted_texts(), rounds=3)

    assert found["careless caller: inventions refused"].percent >= 95
    assert found["careless caller: omissions listed"].percent >= 90
    assert found["careless caller: inventions refused"].whole > 20
    assert found["perfect caller: facts in the document"].percent == 100
    assert found["facts with a word that is lost"].part == 0


def test_the_recipe_has_facts_of_thirty_texts_and_no_text():
    recipe = json.loads(FACTS.read_text("utf-8"))

    assert len(recipe) >= 30
    for entry in recipe:
        assert entry.keys() == {"repository", "commit", "path", "lines", "sha256", "facts"}
        assert len(entry["commit"]) == 40
        for kind, start, end in entry["facts"]:
            assert kind in KINDS["vision"]
            assert 0 <= start < end
