"""The graph of specs: levels, edges, cycles, and its forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid
from clew.specs.index.graph import Graph
from clew.specs.model import Head
from clew.specs.query.dag import build_dag, render
from tests.specs.making import Project

A, B, C, D = (f"2026-01-22-00{n}-abc" for n in range(1, 5))


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    made.spec(A, "status: completed", '# "First" <one>\n')
    made.spec(B, f"depends_on: [{A}]")
    made.spec(C, f"depends_on: [{A}, {B}, nowhere]")
    return made


def drawn(project):
    return build_dag(project.store.heads(), project.store.graph())


def test_levels(project):
    dag = drawn(project)
    assert dag.levels == [[A], [B], [C]]
    assert dag.edges == [(A, B), (A, C), (B, C)]
    assert dag.nodes[C].state == "blocked"
    text = render(dag)
    assert text.startswith(f'Level 0\n  ● {A}  "First" <one>\n')
    assert f"  ⊗ {C}  Title  <- {A}, {B}" in text
    assert text.endswith("3 specs, 3 dependencies, 0 cycles")


def test_cycles_are_shown(project):
    project.spec(B, f"depends_on: [{C}]")
    project.spec(C, f"depends_on: [{B}]")
    project.spec(D, f"depends_on: [{C}, {D}]")
    dag = drawn(project)
    assert (dag.levels, dag.unordered) == ([[A]], [B, C, D])
    assert f"Cycle: {B} -> {C} -> {B}" in render(dag)
    assert dag.as_json()["cycles"][0] == [B, C]


def test_mermaid_and_dot_escape_what_they_must(project):
    dag = drawn(project)
    mermaid = render(dag, "mermaid")
    assert "#quot;First#quot; #lt;one#gt;" in mermaid
    assert "  n0 --> n1" in mermaid
    dot = render(dag, "dot")
    assert f'"{A}" [label="{A}\\n\\"First\\" <one>\\ncompleted"];' in dot
    assert f'"{A}" -> "{B}";' in dot
    with pytest.raises(Invalid, match="Unknown format"):
        render(dag, "png")


def head(name, depends_on):
    return Head(
        name, "code", "pending", None, tuple(depends_on), (), (), (), None, None, None, None,
        False, None, (), (), 0, 0, False, 0, 0, "",
    )  # fmt: skip


@given(st.lists(st.sets(st.integers(0, 11), max_size=3), max_size=12))
def test_every_spec_stands_behind_what_it_waits_for(dependencies):
    heads = [head(str(n), map(str, sorted(wanted))) for n, wanted in enumerate(dependencies)]
    dag = build_dag(heads, Graph(heads))
    level = {name: n for n, names in enumerate(dag.levels) for name in names}
    assert sorted([*level, *dag.unordered]) == sorted(dag.nodes)
    for first, second in dag.edges:
        if second in level:
            assert level[first] < level[second]
    assert bool(dag.unordered) == bool(dag.cycles)
    for form in ("text", "mermaid", "dot"):
        render(dag, form)
