"""Prompts: overrides, inheritance, variables that are put in once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid, NotFound
from clew.kit.paths import ProjectPaths
from clew.work.agents.prompt import VARIABLES, fenced, prompt_names, render, template


@pytest.fixture
def paths(tmp_path):
    (tmp_path / ".chant/prompts").mkdir(parents=True)
    return ProjectPaths(tmp_path)


def write(paths, name, text):
    (paths.prompts / f"{name}.md").write_text(text, encoding="utf-8")


def test_four_prompts_are_bundled_and_use_known_variables_only(paths):
    assert prompt_names(paths) == ["merge-conflict", "split", "standard", "verify"]
    values = {name: f"<{name}>" for name in VARIABLES}
    for name in prompt_names(paths):
        text = render(name, paths, values)
        assert "{{" not in text
        assert "<spec.fenced>" in text


def test_verifying_and_splitting_never_ask_for_commits(paths):
    assert "Commit everything" in template("standard", paths)
    assert "must not edit files, tick boxes or commit" in template("verify", paths)


def test_a_project_overrides_and_extends(paths):
    write(paths, "standard", "---\nextends: standard\n---\nFirst.\n\n{{> parent}}\n\nLast.\n")
    text = render("standard", paths, {"spec.id": "001"})
    assert text.startswith("First.\n\nYou are the worker for spec 001")
    assert text.endswith("Last.\n")
    write(paths, "ours", "---\nextends: 'verify'\n---\nAlso this.\n")
    assert render("ours", paths, {}).endswith("Also this.\n")
    write(paths, "split", "Only mine.")
    assert render("split", paths, {}) == "Only mine.\n"


def test_circles_are_refused(paths):
    write(paths, "a", "---\nextends: b\n---\n{{> parent}}")
    write(paths, "b", "---\nextends: a\n---\n{{> parent}}")
    with pytest.raises(Invalid, match="a extends b extends a"):
        template("a", paths)


def test_what_is_put_in_is_not_looked_at_again(paths):
    write(paths, "p", "{{spec.title}}|{{ spec.id }}|{{spec.model}}")
    values = {"spec.title": "{{spec.id}} {{> parent}} {{nonsense}}", "spec.id": "001"}
    assert render("p", paths, values) == "{{spec.id}} {{> parent}} {{nonsense}}|001|\n"


def test_unknown_variables_are_told_with_those_there_are(paths):
    write(paths, "p", "{{spec.titel}}")
    with pytest.raises(Invalid, match=r"unknown variable: spec\.titel") as raised:
        render("p", paths, {})
    assert "spec.title" in raised.value.hint


def test_sections_are_added_when_they_have_a_text(paths):
    write(paths, "p", "Do it.")
    sections = (("Brief", " "), ("The attempt before", "It failed: x\n"))
    assert render("p", paths, {}, sections) == "Do it.\n\n## The attempt before\n\nIt failed: x\n"


def test_missing_and_misnamed_prompts_are_told(paths):
    with pytest.raises(NotFound, match="Prompt not found: nope") as raised:
        template("nope", paths)
    assert "standard" in raised.value.hint
    for name in ("../x", "a/b", "", ".x"):
        with pytest.raises(Invalid, match="Not a prompt's name"):
            template(name, paths)


def test_a_prompt_does_not_lead_out_of_its_project(paths, tmp_path_factory):
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_text("key", encoding="utf-8")
    (paths.prompts / "p.md").symlink_to(secret)
    with pytest.raises(Invalid, match="leads out"):
        template("p", paths)


@given(st.text(alphabet="`a\n~", max_size=60))
def test_no_text_ends_its_own_fence(text):
    first, *middle, last = fenced(text).split("\n")
    fence = first.removesuffix("markdown")
    assert last == fence
    assert not any(line.strip().startswith(fence) for line in middle)


def test_the_bundled_prompts_are_given_by_name():
    from clew.work.agents.prompt import bundled_prompts

    texts = bundled_prompts()
    assert {"standard", "split", "verify", "merge-conflict"} <= set(texts)
    assert "You are the worker for spec {{spec.id}}" in texts["standard"]
