"""Rewriting history that leaves the text alone leaves attribution alone."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.sessions.attribution.files import Repository
from clew.sessions.attribution.origins import Bounds, chosen_origin, with_blocks
from clew.sessions.index.sqlite import opened_index
from clew.sessions.model import Header, Request
from clew.sessions.readers.changes import edit_of_texts
from tests.support.proof import amount

T = 1_700_000_000
_LINES = st.sampled_from(
    [f"value_{n} = compute_{n}(first, second)" for n in range(30)]
    + ["", "    return None", "}", "else:", "import os", "    pass"]
)
_TEXTS = st.lists(st.lists(_LINES, min_size=1, max_size=12), min_size=1, max_size=6)


def _edits(index, project, versions, path="a.py"):
    """Versions of a file, each written by a session of its own."""
    before = []
    for number, lines in enumerate(versions):
        session = index.begin("claude", Header(f"s{number}", project), project)
        old, new = ("".join(f"{line}\n" for line in some) for some in (before, lines))
        edit = edit_of_texts(f"c{number}", T + 10 * number, path, old, new)
        asked = Request(f"r{number}", T + 10 * number - 1, f"Version {number}")
        index.add(session, "claude", [asked, edit], is_side=False)
        before = lines


@settings(
    max_examples=amount(60, 500), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(versions=_TEXTS, later=st.integers(0, 10**7), is_squashed=st.booleans())
def test_a_later_commit_date_changes_nothing(user, versions, later, is_squashed):
    """Every form of rewriting is another pair of dates; the text is what it was."""
    with opened_index() as index:
        index.clear()
        _edits(index, str(user.root), versions)
        attribution = Repository(index, user.root)._attribution
        lines = versions[-1]
        found = attribution.candidates("a.py", "", lines)
    written = T + 10 * len(versions)
    once = Bounds(written, written)
    again = Bounds(written + (later if is_squashed else 0), written + later)
    assert [chosen_origin(some, once) for some in found] == [
        chosen_origin(some, again) for some in found
    ]
    assert len(with_blocks([None] * len(lines), lines)) == len(lines)


@settings(
    max_examples=amount(30, 300), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(versions=_TEXTS)
def test_what_nobody_wrote_has_no_origin(user, versions):
    with opened_index() as index:
        index.clear()
        _edits(index, str(user.root), versions)
        attribution = Repository(index, user.root)._attribution
        found = attribution.candidates("a.py", "", ["never_written = by_any(agent)", "x" * 50])
    assert found == [[], []]


def _origins(user, path):
    with opened_index() as index:
        lines = Repository(index, user.root).blame(path)
        return [
            (line.text, line.origin and (line.origin.session, line.origin.turn)) for line in lines
        ]


def test_git_rewrites_and_the_lines_keep_their_sessions(user):
    """Amend, squash, rebase with a fixup, pick, rename: asked of git itself."""
    one = [f"def one_{n}(): return {n}" for n in range(6)]
    two = [*one[:3], "def two(): return 'two'", *one[3:]]
    with opened_index() as index:
        _edits(index, str(user.root), [one, two])
    user.commit("Base", **{"README.md": "hello\n"})
    user.commit("One", **{"a.py": "".join(f"{line}\n" for line in one)})
    user.commit("fixup! One", **{"a.py": "".join(f"{line}\n" for line in two)})
    wanted = _origins(user, "a.py")
    assert all(origin for _, origin in wanted)
    user.git("branch", "before")
    user.git("-c", "sequence.editor=:", "rebase", "-q", "-i", "--autosquash", "--root")
    assert user.git("rev-list", "--count", "HEAD") == "2"
    assert _origins(user, "a.py") == wanted
    user.git("commit", "-q", "--amend", "-m", "Another message", "--reset-author")
    assert _origins(user, "a.py") == wanted
    user.git("checkout", "-q", "-b", "picked", "before~2")
    user.git("cherry-pick", "before~1", "before")
    assert _origins(user, "a.py") == wanted
    user.git("checkout", "-q", "-b", "squashed", "before~2")
    user.git("merge", "-q", "--squash", "before")
    user.git("mv", "a.py", "b.py")
    user.git("commit", "-q", "-m", "All of it, under another name")
    assert _origins(user, "b.py") == wanted
