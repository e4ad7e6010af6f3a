"""What counts as evidence: the same text, moved, indented, reformatted, and changed by a person."""

from __future__ import annotations

from clew.sessions.attribution.files import Repository, counted
from clew.sessions.index.sqlite import opened_index
from clew.sessions.model import Header, Request
from clew.sessions.readers.changes import edit_of_texts, edits_of_hunk

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


def _blame(user, edits, committed, path="a.py"):
    """The session of each line, where each edit is of a session of its own."""
    with opened_index() as index:
        root = str(user.root)
        for n, edit in enumerate(edits):
            session = index.begin("claude", Header(f"s{n}", root), root)
            asked = Request(f"r{n}", edit.time - 1, "Write it")
            index.add(session, "claude", [asked, edit], is_side=False)
        user.commit("Add it", **{path: committed})
        lines = Repository(index, user.root).blame(path)
        return [line.origin and index.session_by_number(line.origin.session).uid for line in lines]


def test_a_function_that_was_put_back_is_not_new(user):
    """Patches take a whole function away and bring it again; only the changed line is theirs."""
    other = TEXT.replace("too much", "too little")
    hunk = [
        *(f"-{line}" for line in TEXT.splitlines()),
        *(f"+{line}" for line in other.splitlines()),
    ]
    patch = list(edits_of_hunk("c2", T + 5, "a.py", hunk))
    found = _blame(user, [edit_of_texts("c1", T, "a.py", "", TEXT), *patch], other)
    assert found == ["s0", "s0", "s0", "s1", "s0", "s0"]


def test_the_same_words_of_two_sessions_are_nobodys(user):
    """A formatter broke the line; nothing tells whose it was."""
    one = edit_of_texts("c1", T, "a.py", "", "value = combine(first, second, third)\n")
    two = edit_of_texts("c2", T + 5, "a.py", "", "value = combine(first,  second, third,)\n")
    broken = "value = combine(\n    first, second, third\n)\n"
    assert _blame(user, [one, two], broken) == [None] * 3
    assert _blame(user, [one], broken, "b.py") == [None] * 3


def test_what_was_formatted_before_another_session_repeated_it(user):
    """The commit has the formatted text; a later session wrote it as it stands there."""
    broken = "value = combine(\n    first, second, third\n)\n"
    one = edit_of_texts("c1", T, "a.py", "", "value = combine(first, second, third)\n")
    late = edit_of_texts("c2", 4_000_000_000, "a.py", "", broken)
    assert _blame(user, [one, late], broken) == ["s0"] * 3


def test_a_file_that_is_gone_lends_nothing_to_one_that_shares_a_few_lines(user):
    common = "    total = 0\n    return total\n"
    gone = "".join(f"def gone_{n}(order):\n{common}\n" for n in range(5))
    found = _blame(user, [edit_of_texts("c1", T, "gone.py", "", gone)], f"def mine(x):\n{common}")
    assert found == [None] * 3


def test_a_file_under_another_name_keeps_its_sessions(user):
    found = _blame(user, [edit_of_texts("c1", T, "gone.py", "", TEXT)], TEXT)
    assert found == ["s0"] * 6


def test_commits_are_asked_for_together(user):
    """What each of them added, under the name that the file had then."""
    _blame(user, [edit_of_texts("c1", T, "a.py", "", TEXT)], TEXT)
    first = user.git("rev-parse", "HEAD")
    user.git("mv", "a.py", "b.py")
    user.commit("Move it", **{"b.py": TEXT + "++ b/odd\n", "c ä.txt": "hello\n", "d": "\0"})
    with opened_index() as index:
        added = Repository(index, user.root).added_by([first, user.git("rev-parse", "HEAD")])
    one, two = added.values()
    assert [counted(lines) for lines in one.values()] == [{"session": 6, "edited": 0, "unknown": 0}]
    assert {path: [line.text for line in lines] for path, lines in two.items()} == {
        "b.py": ["++ b/odd"],
        "c ä.txt": ["hello"],
    }
