"""From vision and architecture to specs, once and again."""

from __future__ import annotations

import pytest

from clew.advisors.actions.project_documents import sources_of, traced
from clew.advisors.actions.refine import refine, refine_all
from clew.advisors.actions.repository import likely_files, suite_command
from clew.advisors.actions.spec_draft import read_specs
from clew.advisors.actions.spec_plan import Sources
from clew.advisors.documents.document import parse
from clew.advisors.tools import refine_agent
from clew.kit.call import Call
from clew.kit.errors import NotFound
from clew.specs.change.init import initialize
from clew.specs.check.lint import lint_all
from clew.specs.files.criteria import parse_criteria
from clew.specs.model import Changes
from clew.specs.store.store import open_store
from tests.support.repos import Repository

VISION = """# Vision & Scope: Tably

### Objectives

- **BO-1** No-shows go from 12% to 4% by June 2027

### Success metrics

| Id | Metric | Objective | Target | Measured by |
| --- | --- | --- | --- | --- |
| SM-1 | No-shows | BO-1 | 4% | the list of reservations |

### Features by release

| Id | Feature | Release | Objective | Depends on |
| --- | --- | --- | --- | --- |
| FE-1 | Waiters see the evening | 1 | BO-1 | FE-2 |
| FE-2 | Guests reserve a table | 1 | BO-1 |  |
| FE-3 | Guests pay | later |  |  |
| FE-4 | Guests get a reminder | 1 |  |  |
"""
ARCHITECTURE = """# Architecture: Tably

## Components

| Id | Component | Responsibility | Technology | Depends on | Features |
| --- | --- | --- | --- | --- | --- |
| CP-1 | Web app | takes reservations | Python |  | FE-2 |
| CP-2 | Mailer | sends mail | Python | CP-1 | FE-4 |

## Technology

| Id | Technology | Decision |
| --- | --- | --- |
| TE-1 | Python | [ADR-0001](adr/0001-use-python.md) |

## Integrations

| Id | System | On failure | Components |
| --- | --- | --- | --- |
| IN-1 | SendGrid | repeated three times | CP-2 |

## Quality goals

| Id | Goal | Tactic | Components |
| --- | --- | --- | --- |
| QG-1 | Pages answer within 200 ms | proposed: measure it | CP-1 |
"""


@pytest.fixture
def store(project):
    """The spec store of a project with documents."""
    initialize(project)
    return open_store(project=str(project))


@pytest.fixture
def sources():
    return Sources(
        parse(VISION, "vision"),
        parse(ARCHITECTURE, "architecture"),
        "docs/vision.md",
        "docs/architecture.md",
        {"ADR-0001": "docs/adr/0001-use-python.md"},
    )


def run(store, sources, **more):
    return {one.feature: one for one in refine(store, sources, actor="test", **more)}


def test_features_become_specs_with_links_criteria_and_dependencies(store, sources):
    done = run(store, sources)
    specs = {feature: store.load(one.spec_id) for feature, one in done.items()}

    assert set(done) == {"FE-1", "FE-2", "FE-4"}, "what is for later is not made yet"
    assert {one.action for one in done.values()} == {"created"}
    assert specs["FE-1"].words("depends_on") == (specs["FE-2"].id,), "as the vision says"
    assert specs["FE-4"].words("depends_on") == (specs["FE-2"].id,), "the mailer needs the web app"
    assert specs["FE-2"].words("origin") == ("docs/vision.md",)
    assert specs["FE-2"].words("informed_by") == (
        "docs/architecture.md",
        "docs/adr/0001-use-python.md",
    )
    assert specs["FE-2"].words("labels") == ("advised", "FE-2", "release-1")
    assert specs["FE-2"].title == "Guests reserve a table"
    criteria = [one.text for one in parse_criteria(specs["FE-2"].body).items]
    assert criteria[0] == "A test shows FE-2, and fails without this change"
    assert "Measure SM-1: No-shows (4%; the list of reservations)" in criteria
    assert "Verify QG-1: Pages answer within 200 ms (by measure it)" in criteria
    mail = [one.text for one in parse_criteria(specs["FE-4"].body).items]
    assert "Verify by a test: when SendGrid fails: repeated three times (IN-1)" in mail
    report = lint_all(store, store.config())
    assert not report.as_json()["failed"]


def test_a_second_run_gives_the_same_specs(store, sources, project):
    run(store, sources)
    before = {path.name: path.read_bytes() for path in (project / ".chant/specs").iterdir()}

    again = run(store, sources)

    assert {one.action for one in again.values()} == {"unchanged"}
    after = {path.name: path.read_bytes() for path in (project / ".chant/specs").iterdir()}
    assert after == before


def changed(sources, old, new):
    return Sources(
        parse(VISION.replace(old, new), "vision"), sources.architecture, sources.vision_path,
        sources.architecture_path, sources.decisions,
    )  # fmt: skip


def test_a_changed_feature_changes_its_spec_and_no_other(store, sources):
    first = run(store, sources)

    second = run(store, changed(sources, "Guests get a reminder", "Guests get two reminders"))

    assert {f: one.spec_id for f, one in first.items()} == {
        f: one.spec_id for f, one in second.items()
    }
    assert {f for f, one in second.items() if one.action == "updated"} == {"FE-4"}
    assert store.load(second["FE-4"].spec_id).title == "Guests get two reminders"


def edit_body(spec):
    return Changes(body=spec.body + "\nBy Ada.\n")


def add_label(spec):
    return Changes({"labels": [*spec.words("labels"), "ada"]})


def start(spec):
    return Changes({"status": "in_progress"})


@pytest.mark.parametrize("edit", [edit_body, add_label, start])
def test_what_somebody_touched_is_left_alone(store, sources, edit):
    first = run(store, sources)
    spec_id = first["FE-4"].spec_id
    touched = store.change(spec_id, edit, actor="ada")

    second = run(store, changed(sources, "Guests get a reminder", "Guests get two reminders"))

    assert second["FE-4"].action == "kept"
    assert second["FE-4"].note
    assert store.load(spec_id).raw == touched.raw


def test_archived_specs_count(store, sources):
    first = run(store, sources)
    store.archive(first["FE-2"].spec_id, actor="ada")

    second = run(store, sources)

    assert second["FE-2"].action == "kept"
    assert second["FE-2"].spec_id == first["FE-2"].spec_id


def test_a_feature_that_is_gone_leaves_its_spec(store, sources):
    first = run(store, sources)

    second = run(store, changed(sources, "| FE-4 | Guests get a reminder | 1 |  |  |\n", ""))

    assert second["FE-4"].spec_id == first["FE-4"].spec_id
    assert second["FE-4"].note == "no such feature now"


def test_later_features_on_request(store, sources):
    assert "FE-3" in run(store, sources, later=True)


def test_waiting_in_a_circle_is_cut(store, sources):
    both = changed(sources, "| FE-2 | Guests reserve a table | 1 | BO-1 |  |",
                   "| FE-2 | Guests reserve a table | 1 | BO-1 | FE-1 |")  # fmt: skip

    run(store, both)

    assert store.graph().cycles() == []


def test_the_whole_way_from_a_description(advisor, project, store):
    advisor.read(conversation="c")
    advisor.architecture(conversation="c")
    call = Call(settings={"project": str(project)})

    first = refine_agent({}, call).data["specs"]
    second = refine_agent({}, call).data["specs"]

    assert [one["action"] for one in first] == ["created"] * len(first)
    assert [one["id"] for one in second] == [one["id"] for one in first]
    assert {one["action"] for one in second} == {"unchanged"}
    rows = [row for row in traced(project) if row.feature]
    assert all(row.components and row.specs for row in rows)


def test_a_decision_about_a_part_is_linked_to_the_features_that_the_part_serves(
    advisor, project, store
):
    advisor.read(conversation="c")
    advisor.architecture(conversation="c")
    (record,) = (project / "docs" / "adr").glob("0002-keep-all-data-*.md")
    assert "(DE-2, CP-2, FE-1)" in record.read_text(encoding="utf-8")

    made = refine_agent({}, Call(settings={"project": str(project)})).data["specs"]

    named = {one["feature"]: store.load(one["id"]).body for one in made}
    assert "- Decided in ADR-0002: `docs/adr/0002-" in named["FE-1"]
    assert "ADR-0002" not in named["FE-2"]


DRAFT = {
    "feature": "FE-2",
    "outcome": "A guest has a table without a call.",
    "scenarios": ["Given a free table, when a guest reserves it, then no other guest can"],
    "criteria": [
        {"text": "Two guests who want one table at once: one gets it", "check": "make test"},
        "The guest sees the name of the restaurant and the hour",
    ],
    "files": ["web/booking.py"],
    "constraints": ["No new dependency"],
    "out_of_scope": ["Paying"],
    "depends_on": ["FE-3"],
}


def test_a_draft_makes_a_spec_that_an_agent_can_work_on(store, sources):
    first = run(store, sources, later=True)

    done, refused = refine_all(store, sources, [DRAFT], later=False, actor="test")

    assert refused == []
    (one,) = done
    assert (one.spec_id, one.action) == (first["FE-2"].spec_id, "updated")
    spec = store.load(one.spec_id)
    assert "A guest has a table without a call." in spec.body
    assert "Given a free table" in spec.body
    assert "- `web/booking.py`" in spec.body
    assert "## Out of scope\n\n- Paying" in spec.body
    assert [one.check for one in parse_criteria(spec.body).items] == ["make test", None]
    assert spec.words("depends_on") == (first["FE-3"].spec_id,)
    again = run(store, sources)
    assert again["FE-2"].action == "unchanged", "what was refined stays"
    assert not lint_all(store, store.config()).as_json()["failed"]


def test_a_draft_does_not_close_a_circle(store, sources):
    run(store, sources)

    refine_all(store, sources, [{**DRAFT, "depends_on": ["FE-4"]}], later=False, actor="test")

    assert store.graph().cycles() == [], "the mailer of FE-4 waits for FE-2 already"


def test_a_feature_is_split_into_parts_that_wait_for_each_other(store, sources):
    first = run(store, sources)
    parts = [
        {**DRAFT, "ref": "save", "title": "Keep reservations", "depends_on": []},
        {**DRAFT, "ref": "show", "title": "Show free tables", "depends_on": ["save"]},
    ]

    done, refused = refine_all(store, sources, parts, later=False, actor="test")
    again, _ = refine_all(store, sources, parts, later=False, actor="test")

    assert refused == []
    assert [one.action for one in done] == ["updated", "created"]
    assert done[0].spec_id == first["FE-2"].spec_id, "the first part takes over the whole"
    assert store.load(done[1].spec_id).words("depends_on") == (done[0].spec_id,)
    assert [one.action for one in again] == ["unchanged", "unchanged"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"feature": "FE-99"}, "there is no feature FE-99"),
        ({"outcome": ""}, "no outcome"),
        ({"scenarios": ["Guests reserve"]}, "no scenario"),
        ({"criteria": []}, "no criteria"),
        ({"criteria": [{"text": "A guest reserves the table", "check": "x"}]}, "repeats the title"),
        ({"criteria": [{"text": "The reservation works correctly", "check": "x"}]}, "fits anything"),
        ({"criteria": ["The hour is shown"]}, "no criterion has a check; the repository has `make test`"),
        ({"criteria": [{"text": f"Case {n} of the calendar is seen", "check": "x"} for n in range(9)]}, "more than a day of work; split"),
        ({"files": [f"f{n}.py" for n in range(20)]}, "20 files are more than a day"),
        ({"depends_on": ["FE-77"]}, "depends_on names FE-77"),
    ],
)  # fmt: skip
def test_a_spec_that_nobody_can_work_on_is_refused(sources, changes, reason):
    taken, refused = read_specs([{**DRAFT, **changes}], sources.vision, "make test")
    assert taken == []
    assert reason in refused[0].reason


def test_the_briefing_names_files_from_history_and_the_next_call(advisor, project, store):
    repository = Repository(project)
    repository.commit("Reserve a table by mail", {"web/booking.py": "x\n", "web/mail.py": "y\n"})
    repository.commit("Paint the door", {"door.txt": "red\n", "Makefile": "test:\n\ttrue\n"})
    advisor.read(conversation="c")

    told = refine_agent({}, Call(settings={"project": str(project)})).text
    refused = refine_agent(
        {"specs": [{"feature": "FE-1"}, 7]}, Call(settings={"project": str(project)})
    )

    assert "FE-1 Guests can reserve a table online; probably web/booking.py, web/mail.py" in told
    assert "door.txt" not in told
    assert "`make test`" in told
    assert "Next call: `" in told
    assert [one["ref"] for one in refused.data["refused"]] == ["FE-1", "#2"]
    assert likely_files(project, "reserve a table").people


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("Makefile", "all:\n\ntest: all\n\ttrue\n", "make test"),
        ("package.json", '{"scripts": {"test": "vitest"}}', "npm test"),
        ("package.json", '{"scripts": {"test": "echo no test specified"}}', ""),
        ("package.json", "[", ""),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "pytest -q"),
        ("Cargo.toml", "[package]\n", "cargo test"),
        ("go.mod", "module x\n", "go test ./..."),
        ("notes.txt", "test", ""),
    ],
)
def test_the_command_that_tests_is_read_from_the_files(tmp_path, name, text, command):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert suite_command(tmp_path) == command


def test_without_a_vision_or_specs_the_next_step_is_told(project):
    initialize(project)
    with pytest.raises(NotFound, match="no vision"):
        sources_of(project)


def test_documents_of_a_conversation_can_be_used(store, project, homeless):
    homeless.vision(conversation="c")

    sources = sources_of(project, "c")

    done = run(store, sources)
    assert done
    assert store.load(next(iter(done.values())).spec_id).words("origin") == ()
