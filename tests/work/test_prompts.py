"""Prompts: overrides, inheritance, variables that are put in once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid, NotFound
from clew.work.agents.prompt_files import VARIABLES, fenced, prompt_names, render, template
from clew.work.paths import Places


@pytest.fixture
def places(tmp_path):
    (tmp_path / ".chant/prompts").mkdir(parents=True)
    return Places(tmp_path)


def write(places, name, text):
    (places.prompts / f"{name}.md").write_text(text, encoding="utf-8")


def test_four_prompts_are_bundled_and_use_known_variables_only(places):
    assert prompt_names(places) == ["merge-conflict", "split", "standard", "verify"]
    values = {name: f"<{name}>" for name in VARIABLES}
    for name in prompt_names(places):
        text = render(name, places, values)
        assert "{{" not in text
        assert "<spec.fenced>" in text


def test_verifying_and_splitting_never_ask_for_commits(places):
    assert "Commit everything" in template("standard", places)
    assert "must not edit files, tick boxes or commit" in template("verify", places)


def test_a_project_overrides_and_extends(places):
    write(places, "standard", "---\nextends: standard\n---\nFirst.\n\n{{> parent}}\n\nLast.\n")
    text = render("standard", places, {"spec.id": "001"})
    assert text.startswith("First.\n\nYou are the worker for spec 001")
    assert text.endswith("Last.\n")
    write(places, "ours", "---\nextends: 'verify'\n---\nAlso this.\n")
    assert render("ours", places, {}).endswith("Also this.\n")
    write(places, "split", "Only mine.")
    assert render("split", places, {}) == "Only mine.\n"


def test_circles_are_refused(places):
    write(places, "a", "---\nextends: b\n---\n{{> parent}}")
    write(places, "b", "---\nextends: a\n---\n{{> parent}}")
    with pytest.raises(Invalid, match="a extends b extends a"):
        template("a", places)


def test_what_is_put_in_is_not_looked_at_again(places):
    write(places, "p", "{{spec.title}}|{{ spec.id }}|{{spec.model}}")
    values = {"spec.title": "{{spec.id}} {{> parent}} {{nonsense}}", "spec.id": "001"}
    assert render("p", places, values) == "{{spec.id}} {{> parent}} {{nonsense}}|001|\n"


def test_unknown_variables_are_told_with_those_there_are(places):
    write(places, "p", "{{spec.titel}}")
    with pytest.raises(Invalid, match=r"unknown variable: spec\.titel") as raised:
        render("p", places, {})
    assert "spec.title" in raised.value.hint


def test_sections_are_added_when_they_have_a_text(places):
    write(places, "p", "Do it.")
    sections = (("Brief", " "), ("The attempt before", "It failed: x\n"))
    assert render("p", places, {}, sections) == "Do it.\n\n## The attempt before\n\nIt failed: x\n"


def test_missing_and_misnamed_prompts_are_told(places):
    with pytest.raises(NotFound, match="Prompt not found: nope") as raised:
        template("nope", places)
    assert "standard" in raised.value.hint
    for name in ("../x", "a/b", "", ".x"):
        with pytest.raises(Invalid, match="Not a prompt's name"):
            template(name, places)


def test_a_prompt_does_not_lead_out_of_its_directory(places, tmp_path):
    (tmp_path / "secret").write_text("key", encoding="utf-8")
    (places.prompts / "p.md").symlink_to(tmp_path / "secret")
    with pytest.raises(Invalid, match="leads out"):
        template("p", places)


@given(st.text(alphabet="`a\n~", max_size=60))
def test_no_text_ends_its_own_fence(text):
    first, *middle, last = fenced(text).split("\n")
    fence = first.removesuffix("markdown")
    assert last == fence
    assert not any(line.strip().startswith(fence) for line in middle)


def test_the_bundled_prompts_are_given_by_name():
    from clew.work.agents.prompt_files import bundled_prompts

    texts = bundled_prompts()
    assert {"standard", "split", "verify", "merge-conflict"} <= set(texts)
    assert "You are the worker for spec {{spec.id}}" in texts["standard"]
