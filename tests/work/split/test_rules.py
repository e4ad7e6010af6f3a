"""Dividing without a model: always the same way, nothing left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid
from clew.work.split.plan import (
    MOST_MEMBERS,
    Demand,
    Member,
    Piece,
    cycle_of,
    divide,
    ordered,
    problems,
)


def piece(criteria, files=()):
    return Piece("Whole", "Words.", tuple(map(Demand, criteria)), tuple(files))


def test_criteria_that_name_the_same_file_stay_together():
    found = divide(
        piece(
            ["`a.py` reads", "`b.py` writes", "`a.py` is tested", "b.py logs"],
            ["src/a.py", "src/b.py"],
        )
    )
    assert [(m.covers, m.files, m.depends_on) for m in found] == [
        ((1, 3), ("src/a.py",), ()),
        ((2, 4), ("src/b.py",), ()),
    ]


def test_without_files_one_waits_for_the_other():
    found = divide(piece([f"Thing {n} works" for n in range(7)]))
    assert [(len(m.criteria), m.depends_on) for m in found] == [(4, ()), (3, (1,))]


def test_criteria_that_all_share_a_file_are_done_one_after_the_other():
    found = divide(piece(["a.py reads", "a.py writes", "a.py logs"], ["a.py"]))
    assert [m.depends_on for m in found] == [(), (1,)]


def test_files_alone_are_divided_too():
    found = divide(piece([], ["a.py", "b.py", "c.py"]))
    assert [m.files for m in found] == [("a.py", "b.py"), ("c.py",)]
    assert all(m.criteria for m in found)


def test_one_thing_cannot_be_divided():
    for criteria, files in (([], []), (["one"], []), ([], ["a.py"]), (["one"], ["a.py", "b.py"])):
        with pytest.raises(Invalid, match="nothing to divide"):
            divide(piece(criteria, files))


texts = st.lists(st.text("ab. /", min_size=1, max_size=12).map(str.strip), max_size=40)
names = st.lists(st.sampled_from([f"dir/{c}.py" for c in "abcdefgh"]), unique=True, max_size=8)


@given(texts, names, st.randoms(use_true_random=False))
def test_every_division_holds(criteria, files, dice):
    criteria = [f"{text} x" + (f" {dice.choice(files)}" if files else "") for text in criteria]
    whole = piece(criteria, files)
    try:
        found = divide(whole)
    except Invalid:
        assert len(criteria) < 2
        return
    assert problems(whole, found) == []
    assert divide(whole) == found
    assert 2 <= len(found) <= MOST_MEMBERS
    assert {name for m in found for name in m.files} == set(files)
    assert sorted(n for m in found for n in m.covers) == list(range(1, len(criteria) + 1))
    kept, _ = ordered(whole, found)
    assert cycle_of(kept) == []


def members(*depends, covers=(1,), files=()):
    return [
        Member(f"m{n}", "", (Demand("c"),), files, covers, wanted)
        for n, wanted in enumerate(depends, start=1)
    ]


def test_circles_are_found():
    assert cycle_of(members((), (1,), (1, 2))) == []
    assert cycle_of(members((2,), (3,), (1,))) == [1, 2, 3, 1]
    assert cycle_of(members((), (2,))) == [2, 2]
    whole = piece(["one"])
    assert "wait for each other: 1 -> 2 -> 1" in problems(whole, members((2,), (1,)))[0]


def test_everything_wrong_is_told():
    bad = [
        Member(" ", "", (), ("/etc/passwd",), (9,), (7,)),
        Member("ok", "", (Demand("c"),), ("../x",), (1,), ()),
    ]
    found = problems(piece(["one", "two"]), bad)
    assert found == [
        "Member 1: it has no title",
        "Member 1: it has no acceptance criteria",
        "Member 1: it depends on members that do not exist: [7]",
        "Member 1: it covers criteria that do not exist: [9]",
        "Member 1: not a file in the project: /etc/passwd",
        "Member 2: not a file in the project: ../x",
        "No member covers criterion 2: two",
    ]


def test_shared_files_make_an_order_and_checks_are_kept():
    whole = Piece("W", "", (Demand("one", "make one"), Demand("two")), ())
    kept, warnings = ordered(whole, members((), (), covers=(1,), files=("a.py",)))
    assert [m.depends_on for m in kept] == [(), (1,)]
    assert warnings == ["Members 1 and 2 both change a.py: in this order"]
    assert [d.check for d in kept[0].criteria] == [None, "make one"]
