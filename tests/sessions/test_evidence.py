"""What counts as evidence: the same text, moved, indented, reformatted, and changed by a person."""

from __future__ import annotations

from clew.sessions.attribution.files import Repository, counted
from clew.sessions.index.sqlite import opened_index
from clew.sessions.model import Header, Request
from clew.sessions.readers.changes import edit_of_texts

T = 1_700_000_000
TEXT = """def price(order, limit):
    total = sum(line.amount for line in order.lines)
    if total > limit:
        raise ValueError("too much")

    return total
"""


def _origins(user, written, committed, *, time=T):
    with opened_index() as index:
        session = index.begin("claude", Header("s1", str(user.root)), str(user.root))
        edit = edit_of_texts("c1", time, "a.py", "", written)
        index.add(session, "claude", [Request("r1", time - 1, "Write it"), edit], is_side=False)
        user.commit("Add it", **{"a.py": committed})
        lines = Repository(index, user.root).blame("a.py")
    return [line.origin.kind if line.origin else None for line in lines], counted(lines)


def test_the_same_text_is_exact_and_blank_lines_go_along(user):
    kinds, counts = _origins(user, TEXT, TEXT)
    assert kinds == ["exact"] * 6
    assert counts == {"session": 6, "edited": 0, "unknown": 0}


def test_an_indented_block_is_normalised(user):
    moved = "class Shop:\n" + "".join(f"    {line}\n" for line in TEXT.splitlines())
    kinds, _ = _origins(user, TEXT, moved)
    assert kinds[0] is None
    assert set(kinds[1:]) <= {"normalised", "exact"}


def test_what_a_formatter_made_of_it_is_the_agents(user):
    broken = TEXT.replace(
        "def price(order, limit):", "def price(\n    order,\n    limit,\n):"
    ).replace('"too much"', "'too much'")
    kinds, counts = _origins(user, TEXT, broken)
    assert kinds[:4] == ["formatted"] * 4
    assert counts["unknown"] == 0


def test_a_persons_change_inside_a_line_is_not_the_agents(user):
    changed = TEXT.replace("if total > limit:", "if total > limit + 5:")
    kinds, counts = _origins(user, TEXT, changed)
    assert kinds[2] == "edited"
    assert counts == {"session": 5, "edited": 1, "unknown": 0}


def test_a_persons_own_lines_stay_theirs(user):
    kinds, _ = _origins(user, TEXT, TEXT + "\n\ndef tax(total):\n    return total * 0.2\n")
    assert kinds[6:] == [None, None, None, None]


def test_what_was_written_after_the_commit_is_no_reason(user):
    kinds, _ = _origins(user, TEXT, TEXT, time=4_000_000_000)
    assert kinds == [None] * 6


def test_a_plain_line_beside_a_changed_one_is_still_the_agents(user):
    """`return total` is twice in the file; its neighbour, though changed, says which one it is."""
    other = "def tax(total):\n    total = total * 2\n    return total\n"
    written = "def price(order):\n    total = order.amount + order.shipping\n    return total\n"
    kinds, _ = _origins(user, written, other + "\n\n" + written.replace("shipping", "postage"))
    assert kinds == [None] * 5 + ["exact", "edited", "exact"]
