"""The matrix from objective to spec, and the diagrams, are derived from the documents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.advisors.builder.builder import build_architecture, build_vision
from clew.advisors.builder.diagrams import container_diagram, context_diagram, diagrams_in, node_id
from clew.advisors.checks.traceability import matrix, spec_link
from clew.advisors.documents.document import render
from clew.advisors.documents.model import Facts, Item
from clew.advisors.extract.facts import from_text
from clew.advisors.extract.questions import numbered

TEXT = (
    "A web app for cooks. Reduce food waste from 10 % to 5 % by 2027. Cooks can record food waste. "
    "Cooks can share recipes through Slack. It must be written in Python."
)


def both():
    facts = numbered(from_text(TEXT), "vision")
    vision = build_vision(facts, title="Meals")
    architecture, records = build_architecture(facts, title="Meals", vision=vision)
    return vision, architecture, records


def test_rows_reach_from_objective_to_spec():
    vision, architecture, _ = both()
    specs = [spec_link("2026-01-01-001-abc", "Waste", "FE-1"), spec_link("x", "Loose", "nothing")]
    rows = [row.as_json() for row in matrix([vision, architecture], specs)]
    assert rows[0] == {
        "objective": "BO-1",
        "feature": "FE-1",
        "text": "Cooks can record food waste",
        "components": ["CP-1"],
        "decisions": ["ADR-0001"],
        "specs": ["2026-01-01-001-abc"],
    }
    assert (rows[1]["objective"], rows[1]["feature"], rows[1]["specs"]) == (None, "FE-2", [])
    assert (rows[2]["feature"], rows[2]["specs"]) == (None, ["x"])


def test_an_objective_without_features_is_shown():
    vision, _, _ = both()
    lonely = vision.with_section(
        vision.section("features").__class__("features", "Features by release", 3, "none")
    )
    assert [row.as_json()["objective"] for row in matrix([lonely])] == ["BO-1"]


def test_diagrams_have_exactly_the_elements_of_the_tables():
    _, architecture, records = both()
    context, containers = diagrams_in(render(architecture))
    assert context.kind == containers.kind == "flowchart"
    for diagram in (context, containers):
        assert diagram.used == diagram.declared
        assert all(label.strip('"') not in {"", "uses"} for _, label, _ in diagram.edges)
    wanted = {
        node_id(one.id) for prefix in ("CP", "IN", "ST") for one in architecture.items(prefix)
    }
    assert wanted <= containers.declared
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
        assert diagram.declared >= {"ST1"}
        assert len(diagram.edges) == 1
