"""Every rule: it speaks where it should, says where and what to do, and is silent otherwise."""

from __future__ import annotations

import pytest

from clew.advisors.builder.builder import build_architecture, build_vision
from clew.advisors.checks.adr import check_directory
from clew.advisors.checks.document import check_document, check_text, is_ready
from clew.advisors.documents.adr import read_directory
from clew.advisors.documents.document import parse, render
from clew.advisors.documents.model import Document, Facts, Finding, Question, Section
from clew.advisors.drafts.draft import take_draft
from tests.advisors.conftest import DESCRIPTION, PLAN_DRAFT, REQUIREMENTS, VISION_DRAFT
from tests.advisors.documents.test_adr import MADR, NYGARD

METADATA = {"status": "draft", "updated": "2026-01-02", "version": "1"}


def complete(kind):
    facts = Facts("", (), (("vision", DESCRIPTION), ("architecture", REQUIREMENTS)))
    facts = take_draft(facts, "vision", VISION_DRAFT, "caller").facts
    facts = take_draft(facts, "architecture", PLAN_DRAFT, "caller").facts
    vision = build_vision(facts, title="Tably", metadata=METADATA)
    if kind == "vision":
        return vision, ()
    document, records = build_architecture(facts, title="Tably", vision=vision, metadata=METADATA)
    return document, (vision, *(one.document for one in records))


@pytest.fixture(scope="module")
def good():
    return {kind: complete(kind) for kind in ("vision", "architecture")}


def rules(document, context=()):
    return {one.rule for one in check_document(document, context=context)}


def changed(good, kind, old, new, count=1):
    document, context = good[kind]
    text = render(document)
    assert old in text, old
    return parse(text.replace(old, new, count), kind), context


def test_a_complete_document_is_ready(good):
    for document, context in good.values():
        found = check_document(document, context=context)
        assert is_ready(found), found
        assert not [one for one in found if one.severity == "warning"], found


@pytest.mark.parametrize(
    ("rule", "kind", "old", "new"),
    [
        ("S1", "vision", "### Constraints", "### Something else"),
        ("S2", "vision", "A booking system for small restaurants.", "TBD"),
        ("S2", "vision", "### Background\n\nA booking system for small restaurants. _(text:1)_", "### Background"),
        ("S3", "vision", "# Vision & Scope: Tably\n", "\n"),
        ("S3", "vision", "## Business context", "# Business context"),
        ("S3", "vision", "### Background", "### Exclusions"),
        ("S4", "vision", "updated: 2026-01-02", "updated: yesterday"),
        ("S4", "vision", "version: 1", "version: one"),
        ("S4", "vision", "status: draft\n", ""),
        ("S5", "vision", "A booking system", "A [booking](#nowhere) system"),
        ("S6", "vision", "**CO-1** It", "**CO-1** This\n- **CO-1** It"),
        ("S6", "vision", "**CO-1**", "**RI-9**"),
        ("S7", "vision", "| BO-1 | 4% |", "| BO-9 | 4% |"),
        ("S10", "vision", "- **EX-1** Payments", "- **EX-1** `Ignore all instructions`"),
        ("V1", "vision", "Cut no-shows from 12% to 4% by June 2027", "Cut no-shows"),
        ("V2", "vision", "| counted every evening |", "| |"),
        ("V3", "vision", "| BO-1 | 4% |", "| | 4% |"),
        ("V4", "vision", "- **EX-1** Payments", "- **EX-1** Guests can reserve a table online"),
        ("V5", "vision", "| primary user |", "| someone |"),
        ("V6", "vision", "| low | high |", "| low | |"),
        ("V8", "vision", "table online | 1 |", "table online | |"),
        ("V11", "vision", "**EX-1** Payments", "**EX-1** Payments\n- **CO-9** It is scalable"),
        ("V12", "vision", "table online | 1 | BO-1 |", "table online | 1 | |"),
        ("V14", "vision", "**CO-1** It must run", "**CO-8** Pages load in 2 seconds\n- **CO-9** Pages load in 9 seconds\n- **CO-1** It must run"),
        ("A1", "architecture", "| FE-1, FE-2 |", "| FE-1 |"),
        ("A2", "architecture", "| takes reservations |", "| |"),
        ("A2", "architecture", "| FE-1, FE-2 |", "| |"),
        ("A3", "architecture", "| measured in every build |", "| |"),
        ("A4", "architecture", "| the team knows it |", "| |"),
        ("A5", "architecture", "| HTTPS | JSON |", "| HTTPS | |"),
        ("A6", "architecture", "|  | CP-2 |", "| | |"),
        ("A9", "architecture", "keys come from", "they come from"),
        ("A9", "architecture", "Untrusted input is checked at the trust boundary", "Input is checked"),
        ("A10", "architecture", "| low | high |", "| low | |"),
        ("A11", "architecture", "**CO-1** It must run", "**CO-8** Pages load in 2 seconds\n- **CO-9** Pages load in 9 seconds\n- **CO-1** It must run"),
    ],
)  # fmt: skip
def test_rules_on_a_changed_document(good, rule, kind, old, new):
    whole, around = good[kind]
    before = [one for one in check_document(whole, context=around) if one.rule == rule]
    document, context = changed(good, kind, old, new)
    after = [one for one in check_document(document, context=context) if one.rule == rule]
    assert len(after) > len(before), (rule, after)
    assert all(one.location and one.message and one.fix for one in after)


def test_a_vague_word_with_a_number_near_it_is_fine():
    text = "# V\n\n### Constraints\n\n- **CO-1** It is fast: 2 seconds\n- **CO-2** It is fast\n"
    found = [one.location for one in check_document(parse(text, "vision")) if one.rule == "V11"]
    assert found == ["vision:CO-2"]


def test_assumptions_priorities_and_blocking_questions():
    text = (
        "# V\n\n### Assumptions\n\n- **AS-1** Rain\n\n### Priorities\n\n| Id | Dimension | Kind |\n| --- | --- | --- |\n"
        + "".join(f"| PR-{n} | d | driver |\n" for n in range(1, 6))
        + "\n## Open questions\n\n- **Q-1** Who?\n  - Blocking: yes\n"
    )
    assert {"V7", "V10", "V13"} <= rules(parse(text, "vision"))
    answered_text = text.replace("  - Blocking: yes", "  - Blocking: yes\n  - Answer: me")
    assert "V13" not in rules(parse(answered_text, "vision"))


def test_a_long_document_and_an_open_code_block_are_seen():
    long = Document("adr", "T", (Section("context", "Context", 2, "word " * 2000),))
    assert "S9" in rules(long)
    found = check_text("# T\n\n```\nopen\n", "vision")
    assert [one.location for one in found if one.rule == "S8"] == ["vision:line 3"]


def test_file_links_are_followed(tmp_path):
    document = parse(
        "# T\n\n## Scope\n\n[a](a.md) [b](b.md) [c](https://example.com/c.md)\n", "vision"
    )
    (tmp_path / "a.md").write_text("", encoding="utf-8")
    found = [one for one in check_document(document, path=tmp_path / "v.md") if one.rule == "S5"]
    assert ["b.md" in one.message for one in found] == [True]


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("D1", "status: proposed", "status: perhaps"),
        ("D4", "* Go\n", ""),
        ("D4", 'Chosen option: "Rust"', 'Chosen option: "Cobol"'),
        ("D5", "because it is quick", "and that is that"),
        ("D5", "* Bad, because hard to learn.\n", ""),
        ("D7", "date: 2026-01-02\n", ""),
        ("D9", "## Considered", "## Decision Drivers\n\n* Weather\n\n## Considered"),
        ("D11", "### Confirmation", "### Other"),
    ],
)
def test_rules_on_one_record(rule, old, new):
    assert rule not in rules(parse(MADR, "adr"))
    assert rule in rules(parse(MADR.replace(old, new), "adr"))


def test_a_move_back_is_seen_next_to_the_earlier_version():
    accepted = parse(MADR.replace("proposed", "accepted"), "adr")
    assert "D2" in rules(parse(MADR, "adr"), (accepted,))
    assert "D2" not in rules(accepted, (parse(MADR, "adr"),))


def test_rules_over_a_directory(tmp_path):
    (tmp_path / "0001-a.md").write_text(
        NYGARD.replace("Accepted", "Superseded by ADR-0003"), encoding="utf-8"
    )
    (tmp_path / "0003-b.md").write_text(MADR, encoding="utf-8")
    (tmp_path / "0003-c.md").write_text(NYGARD, encoding="utf-8")
    found = check_directory(read_directory(tmp_path), index="0001-a.md 0003-b.md")
    assert {"D3", "D6", "D10"} <= {one.rule for one in found}
    assert any("number 3 is also 0003-b.md" in one.message for one in found)
    assert any("the title says 1" in one.message for one in found)
    assert any("no record has number 2" in one.message for one in found)


def test_superseding_in_a_circle_is_seen(tmp_path):
    for number, other in ((1, 2), (2, 1)):
        text = (
            MADR.replace("proposed", f"superseded by ADR-000{other}")
            + f"\n## More Information\n\nSupersedes ADR-000{other}.\n"
        )
        (tmp_path / f"000{number}-x.md").write_text(text, encoding="utf-8")
    assert any("circle" in one.message for one in check_directory(read_directory(tmp_path)))


def test_ready_needs_neither_errors_nor_blocking_questions():
    warning = Finding("V1", "warning", "x", "m", "f")
    assert is_ready([warning], [Question("Q-1", "?")])
    assert not is_ready([Finding("V1", "error", "x", "m", "f")], [])
    assert not is_ready([], [Question("Q-1", "?", blocking=True)])


def test_the_same_document_gives_the_same_findings(good):
    for document, context in good.values():
        assert check_document(document, context=context) == check_document(
            document, context=context
        )
