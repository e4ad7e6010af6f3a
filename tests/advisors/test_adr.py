"""Decision records on disk: both styles, numbers, moves, links, index."""

from __future__ import annotations

import pytest

from clew.advisors.adr import (
    AdrFile,
    date_of,
    find_directory,
    index_into,
    index_text,
    move,
    next_number,
    read_directory,
    seal_in,
    status_of,
    styled,
    superseded,
    superseded_by,
    supersedes,
    written,
)
from clew.advisors.builder import build_architecture
from clew.advisors.checks import check, check_directory
from clew.advisors.document import parse, render
from clew.advisors.facts import from_text
from clew.kit.errors import Conflict, Invalid

MADR = """---
status: proposed
date: 2026-01-02
---

# Use Rust

## Context and Problem Statement

We need a language.

## Considered Options

* Rust
* Go

## Decision Outcome

Chosen option: "Rust", because it is quick.

### Consequences

* Good, because quick.
* Bad, because hard to learn.

### Confirmation

Review.
"""
NYGARD = """# 1. Record decisions

Date: 2026-01-02

## Status

Accepted

## Context

We forget, because we are many.

## Decision

We write.

## Consequences

It costs time.
"""


def write_all(directory, **files):
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / f"{name.replace('_', '-').lstrip('n')}.md").write_text(text, encoding="utf-8")
    return read_directory(directory)


def test_both_styles_are_read_and_adopted(tmp_path):
    nygard = write_all(tmp_path / "a", n0001_record=NYGARD)
    assert (nygard.style, nygard.files[0].status, nygard.files[0].title) == (
        "nygard",
        "accepted",
        "Record decisions",
    )
    madr = write_all(tmp_path / "b", n0007_rust=MADR)
    assert (madr.style, next_number(madr.files), date_of(madr.files[0].document)) == (
        "madr",
        8,
        "2026-01-02",
    )
    empty = read_directory(tmp_path / "none")
    assert (empty.style, empty.files, next_number(empty.files)) == ("madr", (), 1)


def test_new_records_follow_the_directory(tmp_path):
    directory = write_all(tmp_path / "adr", n001_record=NYGARD)
    _, records = build_architecture(
        from_text("It must be written in Rust."), title="X", metadata={"updated": "2026-03-04"}
    )
    files = [written(one, directory) for one in records]
    rust = next(one for one in files if "rust" in one.path.name)
    assert rust.path.name.startswith(f"{rust.number:03d}-use-rust")
    assert rust.number > 1
    assert rust.style == "nygard"
    text = render(rust.document)
    assert text.startswith(
        f"# {rust.number}. Use Rust as the language\n\nDate: 2026-03-04\n\n## Status\n\nProposed\n"
    )
    assert "Considered Options:" in text
    assert parse(text, "adr") == rust.document


def test_records_that_exist_are_not_made_again(tmp_path):
    facts = from_text("It must be written in Rust.")
    _, records = build_architecture(facts, title="X")
    directory = tmp_path / "adr"
    known = []
    for record in records:
        file = written(record, read_directory(directory))
        directory.mkdir(exist_ok=True)
        (directory / file.path.name).write_text(render(file.document), encoding="utf-8")
        known = read_directory(directory).files
    document, again = build_architecture(facts, title="X", adrs=known)
    assert again == []
    assert f"(adr/{known[0].path.name})" in render(document)


def test_only_legal_moves_are_made():
    proposed = parse(MADR, "adr")
    accepted = move(proposed, "accepted", date="2026-02-03")
    assert status_of(accepted) == "accepted"
    assert date_of(accepted) == "2026-02-03"
    assert status_of(move(proposed, "rejected")) == "rejected"
    with pytest.raises(Conflict, match="accepted cannot become proposed"):
        move(accepted, "proposed")
    with pytest.raises(Conflict, match="rejected cannot become accepted"):
        move(move(proposed, "rejected"), "accepted")
    with pytest.raises(Invalid, match="no status"):
        move(proposed, "done")
    with pytest.raises(Invalid, match="By which"):
        move(accepted, "superseded")
    nygard = move(parse(NYGARD, "adr"), "deprecated")
    assert nygard.section("status").text == "Deprecated"


@pytest.mark.parametrize(
    ("old_text", "new_text"), [(MADR, MADR), (NYGARD, NYGARD.replace("1. Record", "2. Write"))]
)
def test_superseding_links_both_ways(tmp_path, old_text, new_text):
    directory = write_all(
        tmp_path / "adr", n0001_one=old_text.replace("proposed", "accepted"), n0002_two=new_text
    )
    old, new = directory.files
    after, before = superseded(old, new, date="2026-05-06")
    assert superseded_by(after) == (2,)
    assert supersedes(before) == (1,)
    (directory.path / "0001-one.md").write_text(render(after), encoding="utf-8")
    (directory.path / "0002-two.md").write_text(render(before), encoding="utf-8")
    assert not [one for one in check_directory(read_directory(directory.path)) if one.rule == "D3"]
    assert (
        superseded(
            AdrFile(old.path, 1, old.document, old.style), AdrFile(new.path, 2, before, new.style)
        )[1]
        == before
    )
    with pytest.raises(Conflict, match="itself"):
        superseded(old, old)


def test_a_change_after_acceptance_is_seen():
    for text in (MADR, NYGARD.replace("Accepted", "Proposed")):
        accepted = parse(render(move(parse(text, "adr"), "accepted")), "adr")
        assert seal_in(accepted)
        assert not [one for one in check(accepted) if one.rule == "D8"]
        changed = parse(
            render(accepted).replace("Rust", "Zig").replace("We write", "We talk"), "adr"
        )
        assert [one.severity for one in check(changed) if one.rule == "D8"] == ["error"]


def test_the_index_lists_all_and_keeps_what_is_around_it(tmp_path):
    directory = write_all(tmp_path / "adr", n0001_record=NYGARD, n0002_rust=MADR)
    text = index_text(directory.files)
    assert "| 2 | [Use Rust](0002-rust.md) | proposed | 2026-01-02 |" in text
    assert index_into(text, directory.files) == text
    mine = index_into("# Ours\n\nHello.\n", directory.files)
    assert mine.startswith("# Ours\n\nHello.\n\n<!-- decisions: begin -->")
    assert index_into(f"{mine}\nBye.\n", directory.files).endswith("\nBye.\n")


def test_directories_are_found_and_stay_inside(tmp_path):
    assert find_directory(tmp_path) is None
    (tmp_path / "docs" / "decisions").mkdir(parents=True)
    assert find_directory(tmp_path) == (tmp_path / "docs" / "decisions").resolve()
    (tmp_path / "mine").mkdir()
    (tmp_path / ".adr-dir").write_text("mine\n", encoding="utf-8")
    assert find_directory(tmp_path) == (tmp_path / "mine").resolve()
    (tmp_path / ".adr-dir").write_text("../..\n", encoding="utf-8")
    assert find_directory(tmp_path) == (tmp_path / "docs" / "decisions").resolve()


def test_odd_files_do_no_harm(tmp_path):
    directory = tmp_path / "adr"
    directory.mkdir()
    (directory / "0001-bytes.md").write_bytes(b"\xff\xfe\x00")
    (directory / "0002-empty.md").write_text("", encoding="utf-8")
    (directory / "README.md").write_text("# x", encoding="utf-8")
    (directory / "0003-link.md").symlink_to("/etc/passwd")
    found = read_directory(directory)
    assert [one.number for one in found.files] == [2]
    assert len(found.unreadable) == 1
    assert check_directory(found)


def test_madr_stays_as_it_is():
    document = parse(MADR, "adr")
    assert styled(document, "madr", 3) == document
    assert render(document) == MADR
