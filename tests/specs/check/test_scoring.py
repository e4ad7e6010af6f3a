"""The grades of a spec and the light that follows from them."""

import pytest

from clew.specs.check.scoring import score_spec
from tests.specs.making import Project

A = "2026-01-22-001-aaa"


@pytest.fixture
def score(tmp_path):
    project = Project(tmp_path)

    def make(fields, body, members=()):
        project.spec(A, fields, body)
        for number, (given, text) in enumerate(members, 1):
            project.spec(f"{A}.{number}", given, text)
        names = [f"{A}.{number}" for number in range(1, len(members) + 1)]
        return score_spec(project.store.load(A), [project.store.load(name) for name in names])

    return make


GOOD = "# T\n\n## Acceptance Criteria\n\n" + "- [ ] Add a thing\n" * 4


def test_a_good_spec_is_green(score):
    found = score("", GOOD.replace("- [ ] Add a thing\n", "", 1))
    assert (found.complexity, found.confidence, found.ac_quality) == ("A", "A", "B")
    assert found.traffic_light == "green"
    assert found.as_json()["suggestions"] == [
        "Add at least 4 acceptance criteria checkboxes for Grade A",
        "Add target_files and organize with ## section headers to improve splittability",
    ]


def test_a_fresh_spec_is_red(score):
    found = score("", "# Add login\n")
    assert (found.confidence, found.ac_quality, found.traffic_light) == ("D", "D", "red")


@pytest.mark.parametrize(("boxes", "grade"), [(3, "A"), (4, "B"), (6, "C"), (8, "D")])
def test_complexity(score, boxes, grade):
    body = "# T\n\n## Acceptance Criteria\n\n" + "- [ ] Add x\n" * boxes
    assert score("", body).complexity == grade


def test_vague_words_are_whole_words(score):
    text = "- Fetch the sketch\n" * 10
    assert score("", f"# T\n\n{text}").confidence == "C"
    assert score("", "# T\n\n" + "- Improve it, etc\n" * 5).confidence == "D"


def test_output_is_not_graded(score):
    assert score("", GOOD + "\n## Output\n\n" + "prose and so on\n" * 500).traffic_light == "green"


def test_splittability(score):
    three = "target_files: [a, b, c]"
    body = "# T\n\n## One\n\n## Two\n\n## Three\n"
    assert score(three, body).splittability == "A"
    assert score(three, f"{body}\nThey are tightly coupled.\n").splittability == "D"
    assert score("target_files: [a, b]", "# T\n\n## One\n").splittability == "B"


def test_isolation(score):
    apart = [("target_files: [a]", "# 1\n"), ("target_files: [b]", "# 2\n")]
    assert score("type: driver", "# T\n", apart).isolation == "A"
    shared = [("target_files: [a]", "# 1\n"), ("target_files: [a]", "# 2 as member 1\n")]
    assert score("type: driver", "# T\n", shared).isolation == "D"
    assert score("", "# T\n").isolation is None
