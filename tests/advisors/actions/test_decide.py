"""The life of decision records: legal moves, seals, links both ways, and nothing else changed."""

from __future__ import annotations

import difflib

import pytest

from clew.advisors.actions.decide import decide
from clew.advisors.checks.adr import check_directory
from clew.advisors.documents.adr import read_directory, superseded_by, supersedes
from clew.kit.errors import Conflict, Invalid, NotFound
from clew.kit.times import today

MADR = """---
# These are optional metadata elements.
status: "proposed"
decision-makers: [Ada, Kim]
---

# Use Rust

## Context and Problem Statement

We need a language,  and soon.
<!-- somebody's remark -->
## Considered Options

* Rust
* Go


## Decision Outcome

Chosen option: "Rust", because it is quick.

```sh
## Status
```

### Consequences

* Bad, because hard to learn.
"""
NYGARD = """# 1. Record decisions

Date: 2026-01-02

## Status

Proposed

Amends [ADR-0009](0009-x.md)

## Context

We forget, because we are many.

## Decision

We write.

## Consequences

It costs time.
"""


class Records:
    """A project with records in `docs/decisions`."""

    def __init__(self, root):
        self.root = root
        self.place = root / "docs" / "decisions"
        self.place.mkdir(parents=True)

    def write(self, name, text):
        (self.place / name).write_bytes(text.encode())

    def text(self, name):
        return (self.place / name).read_bytes().decode()

    def changes(self, name, before):
        """The lines that went and came."""
        found = difflib.ndiff(before.splitlines(), self.text(name).splitlines())
        return [line for line in found if line[0] in "+-"]

    def found(self, rule):
        index = self.text("README.md")
        return [
            one for one in check_directory(read_directory(self.place), index) if one.rule == rule
        ]


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path)


def seal_line(lines):
    return next(line for line in lines if "sealed: " in line or "<!-- accepted: " in line)


def test_only_the_status_changes_in_a_madr_file(records):
    records.write("0001-rust.md", MADR)
    done = decide(records.root, "ADR-0001", "accepted")
    assert (done.record, done.title, done.status) == ("ADR-0001", "Use Rust", "accepted")
    assert done.files == ("docs/decisions/0001-rust.md",)
    changes = records.changes("0001-rust.md", MADR)
    assert changes == [
        '- status: "proposed"',
        "+ status: accepted",
        f"+ date: {today()}",
        seal_line(changes),
    ]
    assert "| 1 | [Use Rust](0001-rust.md) | accepted |" in records.text("README.md")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_only_the_status_changes_in_a_nygard_file(records, ending):
    before = NYGARD.replace("\n", ending)
    records.write("0001-record.md", before)
    decide(records.root, "1", "accepted")
    changes = records.changes("0001-record.md", before)
    assert changes == [seal_line(changes), "+ ", "- Proposed", "+ Accepted"]
    assert records.text("0001-record.md").count(ending) == records.text("0001-record.md").count(
        "\n"
    )
    decide(records.root, "0001-record.md", "deprecated")
    assert "\nDeprecated" in records.text("0001-record.md")


@pytest.mark.parametrize(
    ("text", "word", "other"),
    [(MADR, "it is quick", "it is nice"), (NYGARD, "We write", "We talk")],
)
def test_a_change_after_acceptance_is_found(records, text, word, other):
    records.write("0001-one.md", text)
    decide(records.root, "1", "accepted")
    assert records.found("D8") == []
    records.write("0001-one.md", records.text("0001-one.md").replace(word, other))
    assert [one.severity for one in records.found("D8")] == ["error"]


def test_what_was_accepted_by_hand_can_be_sealed_once(records):
    records.write("0001-rust.md", MADR.replace("proposed", "accepted"))
    decide(records.root, "1", "accepted")
    assert "sealed: " in records.text("0001-rust.md")
    with pytest.raises(Conflict, match="accepted cannot become accepted"):
        decide(records.root, "1", "accepted")


@pytest.mark.parametrize("text", [MADR, NYGARD])
def test_superseding_links_both_ways(records, text):
    records.write("0001-one.md", text)
    records.write("0002-two.md", text.replace("# 1. Record", "# 2. Write").replace("Rust", "Zig"))
    decide(records.root, "1", "accepted")
    decide(records.root, "2", "accepted")
    done = decide(records.root, "1", "superseded", "2")
    assert done.files == ("docs/decisions/0002-two.md", "docs/decisions/0001-one.md")
    old, new = read_directory(records.place).files
    assert superseded_by(old.document) == (2,)
    assert supersedes(new.document) == (1,)
    assert [*records.found("D3"), *records.found("D8"), *records.found("D10")] == []
    with pytest.raises(Conflict, match="superseded cannot become accepted"):
        decide(records.root, "1", "accepted")


def test_a_link_that_is_there_is_not_written_twice(records):
    records.write("0001-one.md", MADR.replace("proposed", "accepted"))
    new = f"{MADR}\n## More Information\n\nSupersedes [ADR-0001](0001-one.md).\n"
    records.write("0002-two.md", new)
    decide(records.root, "1", "superseded", "2")
    assert records.text("0002-two.md") == new


def test_a_record_without_front_matter_gets_it(records):
    records.write("0001-one.md", MADR.partition("---\n\n")[2])
    decide(records.root, "1", "rejected")
    assert records.text("0001-one.md").startswith(
        f"---\nstatus: rejected\ndate: {today()}\n---\n\n# Use Rust\n"
    )


def test_what_is_refused_changes_nothing(records):
    records.write("0001-one.md", MADR)
    records.write("0002-two.md", MADR)
    records.write("0002-again.md", MADR)
    records.write("0003-odd.md", MADR.replace('status: "proposed"', 'status: "proposed'))
    before = {path.name: path.read_bytes() for path in records.place.iterdir()}
    for name, status, by, error, told in [
        ("1", "done", "", Invalid, "is no status"),
        ("1", "deprecated", "", Conflict, "proposed cannot become deprecated"),
        ("7", "accepted", "", NotFound, "No such record: 7"),
        ("gone.md", "accepted", "", NotFound, "No such record"),
        ("2", "accepted", "", Conflict, "Several records have the number 2"),
        ("1", "accepted", "2", Invalid, "superseded by another"),
        ("3", "accepted", "", Invalid, "by hand"),
    ]:
        with pytest.raises(error) as caught:
            decide(records.root, name, status, by)
        assert told in f"{caught.value.message} {caught.value.hint}"
    assert {path.name: path.read_bytes() for path in records.place.iterdir()} == before
    with pytest.raises(NotFound, match="no project"):
        decide(None, "1", "accepted")


def test_a_record_is_not_superseded_by_itself_or_nothing(records):
    records.write("0001-one.md", MADR.replace("proposed", "accepted"))
    with pytest.raises(Conflict, match="itself"):
        decide(records.root, "1", "superseded", "0001-one.md")
    with pytest.raises(Invalid, match="superseded by another"):
        decide(records.root, "1", "superseded")
