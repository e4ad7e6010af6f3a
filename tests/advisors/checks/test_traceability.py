"""The matrix from objective to spec, and the diagrams, are derived from the documents."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from clew.advisors.builder.builder import build_architecture, build_vision
from clew.advisors.builder.diagrams import container_diagram, context_diagram, node_id
from clew.advisors.checks.traceability import matrix, spec_link
from clew.advisors.documents.document import render
from clew.advisors.documents.model import Facts, Item
from clew.advisors.drafts.draft import take_draft
from tests.advisors.conftest import DESCRIPTION, PLAN_DRAFT, REQUIREMENTS, VISION_DRAFT

NODE = re.compile(r"^ +([A-Za-z]\w*)(?:\[\(|\[)\"", re.MULTILINE)
EDGE = re.compile(r'^ +(\w+) -->\|"([^|"]*)"\| (\w+)$', re.MULTILINE)


def diagrams_in(text):
    return re.findall(r"^```mermaid\n(.*?)^```$", f"{text}\n", re.MULTILINE | re.DOTALL)


def both():
    facts = Facts("", (), (("vision", DESCRIPTION), ("architecture", REQUIREMENTS)))
    facts = take_draft(facts, "vision", VISION_DRAFT, "caller").facts
    facts = take_draft(facts, "architecture", PLAN_DRAFT, "caller").facts
    vision = build_vision(facts, title="Tably")
    architecture, records = build_architecture(facts, title="Tably", vision=vision)
    return vision, architecture, records


def test_rows_reach_from_objective_to_spec():
    vision, architecture, _ = both()
    specs = [spec_link("2026-01-01-001-abc", "Waste", "FE-1"), spec_link("x", "Loose", "nothing")]
    rows = [row.as_json() for row in matrix([vision, architecture], specs)]
    assert rows[0] == {
        "objective": "BO-1",
        "feature": "FE-1",
        "text": "Guests can reserve a table online",
        "components": ["CP-1", "CP-2"],
        "decisions": ["ADR-0001"],
        "specs": ["2026-01-01-001-abc"],
    }
    assert (rows[1]["objective"], rows[1]["feature"], rows[1]["specs"]) == ("BO-1", "FE-2", [])
    assert (rows[2]["feature"], rows[2]["specs"]) == (None, ["x"])


def test_an_objective_without_features_is_shown():
    vision, _, _ = both()
    lonely = vision.with_section(
        vision.section("features").__class__("features", "Features by release", 3, "none")
    )
    assert [row.as_json()["objective"] for row in matrix([lonely])] == ["BO-1"]


def test_one_component_needs_no_second_diagram():
    facts = Facts("", (Item("CP-1", "Shop", {"features": "FE-1"}), Item("FE-1", "Sell")))
    architecture, _ = build_architecture(facts, title="X")
    assert len(diagrams_in(render(architecture))) == 1
    assert "There is one part, Shop (CP-1)" in render(architecture)


def test_diagrams_have_exactly_the_elements_of_the_tables():
    _, architecture, records = both()
    assert "Cut no-shows from 12% to 4%" in render(architecture), "objectives in their own words"
    context, containers = diagrams_in(render(architecture))
    for diagram in (context, containers):
        edges = EDGE.findall(diagram)
        assert {end for one in edges for end in (one[0], one[2])} == set(NODE.findall(diagram))
        assert all(label not in {"", "uses"} for _, label, _ in edges)
    wanted = {
        node_id(one.id) for prefix in ("CP", "IN", "ST") for one in architecture.items(prefix)
    }
    assert wanted <= set(NODE.findall(containers))
    assert records


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_label_can_break_a_diagram(name, interest):
    facts = Facts(
        "",
        (
            Item("ST-1", f"x{name}", {"interest": interest}),
            Item("CP-1", f"y{name}", {"features": "FE-1"}),
            Item("FE-1", "z"),
        ),
    )
    for text in (
        context_diagram(facts, f"n{name}", interest),
        container_diagram(facts, f"n{name}"),
    ):
        (diagram,) = diagrams_in(text)
        assert set(NODE.findall(diagram)) >= {"ST1"}
        assert len(EDGE.findall(diagram)) == 1


def test_a_feature_has_one_way_and_people_meet_the_outermost_part():
    facts = Facts(
        "",
        (
            Item("FE-1", "Guests book"),
            Item("ST-1", "Guests"),
            Item("CP-1", "Store", {"features": "FE-1"}),
            Item("CP-2", "Page", {"features": "FE-1", "depends on": "CP-1"}),
            Item("IN-1", "Mailer", {"purpose": "sends mails", "components": "CP-2"}),
        ),
    )
    text = render(build_architecture(facts, title="X")[0])

    assert "1. **FE-1** Guests book: Guests → Page (CP-2) → Store (CP-1) → Mailer (IN-1)\n" in text
    assert "2. **FE-1**" not in text
    containers = diagrams_in(text)[1]
    assert ("ST1", "works with it", "CP2") in EDGE.findall(containers)
    assert ("ST1", "works with it", "CP1") not in EDGE.findall(containers)
    assert ("CP2", "sends mails", "IN1") in EDGE.findall(containers)


def test_the_default_of_an_open_question_says_which_objective_a_feature_serves():
    facts = Facts("", (
        Item("BO-1", "Sell 100 books"), Item("FE-1", "A basket"),
        Item("Q-1", "Which objective does each feature serve (FE-1)?", {"default": "All of them serve BO-1"}),
    ))  # fmt: skip
    vision = build_vision(facts, title="Shop")
    (row,) = matrix([vision])
    assert (row.objective, row.feature) == ("BO-1", "FE-1")
    answered = facts.replacing(facts.of("Q")[0].but(answer="none of them"))
    assert [one.objective for one in matrix([build_vision(answered, title="Shop")])] == ["BO-1", ""]
