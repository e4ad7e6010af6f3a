"""What waits for what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.specs.index.graph import Blocker, Graph
from clew.specs.model import STATUSES, Head


def head(spec_id, status="pending", depends_on=None, **fields):
    usual = {
        "id": spec_id, "type": "code", "status": status, "title": None,
        "depends_on": None if depends_on is None else tuple(depends_on),
        "labels": (), "target_files": (), "members": (), "prompt": None, "branch": None,
        "model": None, "completed_at": None, "approval_required": False, "approval_status": None,
        "origin": (), "informed_by": (), "criteria_total": 0, "criteria_checked": 0,
        "archived": False, "mtime_ns": 0, "size": 0, "path": f"{spec_id}.md",
    }  # fmt: skip
    return Head(**usual | fields)


def blockers(graph, spec_id):
    return [tuple(blocker) for blocker in graph.state(spec_id).blocked_by]


@pytest.mark.parametrize("status", STATUSES)
def test_a_dependency_is_met_when_it_is_completed_or_cancelled(status):
    graph = Graph([head("a", status), head("b", depends_on=["a"])])
    met = status in {"completed", "cancelled"}
    assert graph.state("b").status == ("ready" if met else "blocked")
    assert blockers(graph, "b") == ([] if met else [("a", "unfinished")])
    derived = {"pending": "ready", "blocked": "ready"}.get(status, status)
    assert graph.state("a").status == derived


def test_archived_dependencies_are_met_and_missing_ones_are_not():
    graph = Graph([head("a", "completed", archived=True), head("b", depends_on=["a", "gone"])])
    assert blockers(graph, "b") == [("gone", "missing")]
    assert graph.state("a").status == "completed"


def test_approval_blocks_until_it_is_given():
    for status, blocked in (
        (None, True),
        ("pending", True),
        ("rejected", True),
        ("approved", False),
    ):
        graph = Graph([head("a", approval_required=True, approval_status=status)])
        assert blockers(graph, "a") == ([("a", "approval")] if blocked else [])


def test_members_wait_for_those_before_them():
    graph = Graph(
        [
            head("d", type="group"),
            head("d.1", "completed"),
            head("d.2"),
            head("d.3"),
            head("d.4", depends_on=[]),
            head("d.10"),
        ]
    )
    assert graph.state("d.2").status == "ready"
    assert blockers(graph, "d.3") == [("d.2", "sibling")]
    assert graph.state("d.4").status == "ready"  # an empty list switches the rule off
    assert blockers(graph, "d.10") == [("d.2", "sibling")]
    assert graph.ready() == ["d.2", "d.4"]  # a pure group is no work


def test_cancelled_and_missing_siblings_do_not_block():
    graph = Graph([head("d.1", "cancelled"), head("d.3")])
    assert graph.state("d.3").status == "ready"
    assert Graph([head("d.1", "failed"), head("d.3")]).state("d.3").status == "blocked"


def test_nested_members():
    graph = Graph([head("d"), head("d.1"), head("d.2"), head("d.2.1"), head("d.2.2"), head("d.3")])
    assert blockers(graph, "d.2.1") == [("d.1", "sibling")]
    assert graph.members("d") == ("d.1", "d.2", "d.2.1", "d.2.2", "d.3")
    assert graph.members("d.2") == ("d.2.1", "d.2.2")
    assert graph.drivers_of("d.2.1") == ("d.2", "d")
    assert (graph.drivers_of("d.1"), graph.drivers_of("d")) == (("d",), ())
    done = Graph([head("d.1", "completed"), head("d.2.1"), head("d.2.2"), head("d.3")])
    assert blockers(done, "d.2.2") == [("d.2.1", "sibling")]
    assert blockers(done, "d.3") == [("d.2.1", "sibling")]


def test_members_inherit_what_their_driver_waits_for():
    heads = [
        head("x"),
        head("d", depends_on=["x", "d.1", "gone"]),
        head("d.1"),
        head("d.2", depends_on=[]),
    ]
    graph = Graph(heads)
    assert blockers(graph, "d.1") == [("x", "unfinished"), ("gone", "missing")]
    assert blockers(graph, "d.2") == [("x", "unfinished"), ("gone", "missing")]
    assert blockers(graph, "d") == [("x", "unfinished"), ("d.1", "unfinished"), ("gone", "missing")]


def test_a_driver_with_criteria_waits_for_its_members():
    heads = [head("d", type="driver", criteria_total=2), head("d.1"), head("d.2", "completed")]
    assert blockers(Graph(heads), "d") == [("d.1", "member")]
    heads[1] = head("d.1", "completed")
    assert Graph(heads).state("d").status == "ready"
    assert Graph([head("d", type="driver"), head("d.1")]).state("d").status == "ready"


def test_cycles_are_found_listed_and_named_as_the_reason():
    heads = [
        head("a", depends_on=["b"]),
        head("b", depends_on=["c"]),
        head("c", depends_on=["a", "b"]),
        head("self", depends_on=["self"]),
        head("behind", depends_on=["a"]),
        head("x", "completed", depends_on=["y"]),
        head("y", "completed", depends_on=["x"]),
    ]
    graph = Graph(heads)
    assert graph.cycles() == [("a", "b", "c"), ("self",), ("x", "y")]
    assert Graph(reversed(heads)).cycles() == graph.cycles()
    assert blockers(graph, "a") == [("b", "cycle")]
    assert blockers(graph, "self") == [("self", "cycle")]
    assert blockers(graph, "behind") == [("a", "unfinished")]
    assert graph.ready() == []


def test_edges_both_ways():
    graph = Graph([head("a"), head("b", depends_on=["a", "gone"]), head("c", depends_on=["a"])])
    assert graph.dependents("a") == ("b", "c")
    assert graph.dependents("gone") == ("b",)
    assert graph.dependencies("b") == ("a",)
    assert graph.dependencies("nobody") == ()


EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


@given(EDGES, st.lists(st.sampled_from(STATUSES), min_size=13, max_size=13))
def test_states_agree_with_the_plain_definition(edges, statuses):
    wanted = {n: [str(b) for a, b in edges if a == n] for n in range(13)}
    graph = Graph([head(str(n), statuses[n], wanted[n]) for n in range(13)])

    def reaches(start, goal):
        seen, waiting = set(), [start]
        while waiting:
            for other in wanted[int(waiting.pop())]:
                if other == goal:
                    return True
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return False

    for n in range(13):
        if statuses[n] not in {"pending", "blocked", "ready"}:
            assert graph.state(str(n)) == (statuses[n], ())
            continue
        unmet = [
            x
            for x in dict.fromkeys(wanted[n])
            if statuses[int(x)] not in {"completed", "cancelled"}
        ]
        expected = [Blocker(x, "cycle" if reaches(x, str(n)) else "unfinished") for x in unmet]
        assert list(graph.state(str(n)).blocked_by) == expected
    in_cycles = {name for cycle in graph.cycles() for name in cycle}
    assert all(reaches(name, name) for name in in_cycles)
    assert any(reaches(str(n), str(n)) for n in range(13)) == bool(in_cycles)
    for cycle in graph.cycles():
        for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert b in wanted[int(a)]


def test_a_long_chain_and_a_large_group_need_no_recursion():
    count = 20_000
    chain = [head("0")] + [head(str(n), depends_on=[str(n - 1)]) for n in range(1, count)]
    ring = [head(f"r{n}", depends_on=[f"r{(n + 1) % count}"]) for n in range(count)]
    group = [head("d")] + [head(f"d.{n}") for n in range(1, count)]
    graph = Graph(chain + ring + group)
    assert graph.ready() == ["0", "d", "d.1"]
    assert len(graph.cycles()[0]) == count
