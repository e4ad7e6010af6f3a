"""A finished spec's changes against its criteria."""

from __future__ import annotations

import pytest

from clew.advisors.actions.review import review
from clew.advisors.actions.review_diff import diff_of
from clew.advisors.tools import review_agent
from clew.kit.call import Call
from clew.kit.errors import NotFound
from clew.specs.change.init import initialize
from clew.specs.model import Changes
from clew.specs.store.store import open_store
from tests.support.repos import Repository

BODY = """# Add a greeting

## Acceptance Criteria

- [x] `greet()` returns the name
  check: `pytest -q`
  evidence: 1 passed
- [ ] The farewell is printed
"""


class Reviewed:
    """A repository with a spec and a branch for it."""

    def __init__(self, project):
        initialize(project)
        self.repository = Repository(project)
        self.repository.commit("Start", {"app.py": "x = 1\n"})
        self.store = open_store(project=str(project))
        self.spec = self.store.create({"target_files": ["app.py"]}, BODY, actor="test")
        self.repository.commit("Add a spec")

    def change(self, files, message=None):
        return self.repository.commit(message or f"chant({self.spec.id}): work", files)

    def look(self, asked=None, **more):
        spec = self.store.load(self.spec.id)
        return review(self.store.project, spec, asked, **more)

    def rules(self, asked=None):
        return {(one.rule, one.location) for one in self.look(asked).findings}


@pytest.fixture
def reviewed(project):
    return Reviewed(project)


GOOD = {
    "app.py": "x = 1\n\ndef greet(name):\n    return name  # greet()\n",
    "tests/test_app.py": "def test_greet():\n    pass\n",
}


def test_criteria_are_held_against_the_changes(reviewed):
    reviewed.change(GOOD)
    found = reviewed.look()

    assert found.verdict == "changes needed"
    assert found.criteria[0].places[0].startswith("app.py:")
    rules = {(one.rule, one.location) for one in found.findings}
    assert ("R3", "criterion 2") in rules
    assert ("R6", "criterion 2") in rules
    assert not {rule for rule, _ in rules} & {"R4", "R5", "R7", "R8", "R10", "R12", "R13"}


def test_what_is_missing_is_said(reviewed):
    reviewed.change({"other.py": "y = 2\n"})

    rules = reviewed.rules()

    assert ("R5", "criterion 1") in rules, "greet() is never mentioned"
    assert ("R8", "app.py") in rules, "the target file was not changed"
    assert ("R9", "other.py") in rules
    assert "R7" in {rule for rule, _ in rules}, "no test was changed"


def test_lines_that_should_not_be_there(reviewed):
    reviewed.change(
        {
            "app.py": "<<<<<<< HEAD\nx = 1\n=======\nx = 2  # TODO\n>>>>>>> other\n",
            "key.py": f"KEY = 'AKIA{'A' * 16}'\n",
        }
    )

    rules = reviewed.rules()

    assert ("R10", "app.py:1") in rules
    assert ("R13", "app.py:4") in rules
    assert ("R12", "key.py:1") in rules


def test_the_changes_come_from_a_branch_commits_or_a_range(reviewed):
    with pytest.raises(NotFound, match="No changes found"):
        reviewed.look()
    base = reviewed.repository.head()
    reviewed.change(GOOD, "no mark")
    assert reviewed.look(f"{base}..HEAD").diff.changes[0].path == "app.py"
    reviewed.repository.git("branch", "feature")
    reviewed.repository.git("reset", "-q", "--hard", base)
    assert {one.path for one in reviewed.look("feature").diff.changes} == set(GOOD)
    on_branch = Changes({"branch": "feature"})
    reviewed.store.change(reviewed.spec.id, lambda _: on_branch, actor="test")
    assert reviewed.look().diff.source == "branch feature"


@pytest.mark.parametrize("asked", ["--output=/tmp/x", "nowhere", "HEAD..nowhere", "a\0b", "-"])
def test_a_range_that_is_none_is_refused(reviewed, asked):
    with pytest.raises(NotFound, match="No such commit"):
        reviewed.look(asked)


def test_odd_files_are_read_right(reviewed):
    base = reviewed.repository.head()
    reviewed.repository.git("mv", "app.py", "moved app.py")
    reviewed.change(
        {"ünï code.py": "++ x\n-- y\ndiff --git a/q b/q\n", "blob.bin": b"\0\1\2" * 50}, "odd"
    )

    changes = {one.path: one for one in reviewed.look(f"{base}..HEAD").diff.changes}

    assert changes["ünï code.py"].added == ((1, "++ x"), (2, "-- y"), (3, "diff --git a/q b/q"))
    assert changes["blob.bin"].binary
    assert "moved app.py" in changes


def test_the_tool_answers_in_words_and_data(reviewed, project):
    reviewed.change(GOOD)

    answer = review_agent({"id": reviewed.spec.id}, Call(settings={"project": str(project)}))

    assert answer.data["verdict"] == "changes needed"
    assert "1. [x] `greet()` returns the name" in answer.text
    assert "call again with `opinions`" in answer.text


def test_a_command_is_no_name_that_the_changes_must_mention(reviewed):
    reviewed.change(GOOD)
    body = BODY + "- [ ] `cargo test` and `make check` pass, `farewell()` is there\n"
    reviewed.store.change(reviewed.spec.id, lambda spec: Changes({}, body), actor="test")

    told = [one.message for one in reviewed.look().findings if one.rule == "R5"]
    assert told == ["The changes never mention `farewell()`"]


def test_an_opinion_must_cite_a_changed_line(reviewed, project):
    reviewed.change(GOOD)
    opinions = [
        {"number": 1, "state": "met", "evidence": "app.py:4", "reason": "It returns it."},
        {"number": 2, "state": "met", "evidence": "nowhere.py:1", "reason": "Trust me."},
        "noise",
    ]
    answer = review_agent(
        {"id": reviewed.spec.id, "opinions": opinions}, Call(settings={"project": str(project)})
    )

    assert [one["state"] for one in answer.data["opinions"]] == ["met", "unclear"]
    assert "said to be met (app.py:4): It returns it." in answer.text
    assert "call again with `opinions`" not in answer.text


@pytest.mark.parametrize("opinions", [[], {}, "met", [{"number": "1"}], [None]])
def test_opinions_about_nothing_change_nothing(reviewed, opinions):
    reviewed.change(GOOD)
    found = reviewed.look(opinions=opinions)

    assert found.findings == reviewed.look().findings
    assert found.verdict == reviewed.look().verdict


@pytest.mark.parametrize("key", ["diff.noprefix", "diff.mnemonicPrefix", "core.quotePath"])
def test_files_have_their_real_names_whatever_git_is_set_up_to_print(reviewed, key):
    reviewed.repository.commit("before", {"old.py": "one\ntwo\nthree\n", "run": "x\n"})
    reviewed.repository.git("mv", "old.py", "b é.py")
    (reviewed.repository.path / "run").chmod(0o755)
    reviewed.change({"b/é.py": "++ 1\n", "b/bin": b"\0", "app.py": ""})
    reviewed.repository.git("config", key, "true")
    found = diff_of(reviewed.store.project, reviewed.store.load(reviewed.spec.id))
    told = {one.path: (one.added, one.removed, one.binary) for one in found.changes}
    assert told == {
        "b/é.py": (((1, "++ 1"),), 0, False),
        "b/bin": ((), 0, True),
        "b é.py": ((), 0, False),
        "run": ((), 0, False),
        "app.py": ((), 1, False),
    }
