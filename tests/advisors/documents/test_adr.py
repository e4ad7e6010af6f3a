"""Decision records on disk: both styles, numbers, moves, links, index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clew.advisors.builder.builder import build_architecture
from clew.advisors.checks.adr import check_directory
from clew.advisors.documents.adr import (
    date_of,
    file_name,
    find_directory,
    index_into,
    index_text,
    next_number,
    read_directory,
    styled,
)
from clew.advisors.documents.document import parse, render
from clew.advisors.documents.model import Facts, Item

RUST = Facts(
    "",
    (
        Item(
            "DE-1",
            "Use Rust as the language",
            {"options": "Rust / Go", "because": "it is quick", "bad": "hard to learn"},
        ),
    ),
)
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


def test_new_records_follow_the_style_of_the_directory():
    _, records = build_architecture(RUST, title="X", metadata={"updated": "2026-03-04"})
    rust = styled(next(one.document for one in records if "Rust" in one.title), "nygard", 2)
    unnumbered = replace(rust, metadata={**rust.metadata, "number": ""})
    text = render(unnumbered)
    assert text.startswith(
        "# 2. Use Rust as the language\n\nDate: 2026-03-04\n\n## Status\n\nProposed\n"
    )
    assert "Considered Options:" in text
    assert parse(text, "adr") == unnumbered


def test_numbers_are_as_wide_as_those_before(tmp_path):
    assert file_name(2, "Use Rust") == "0002-use-rust.md"
    directory = write_all(tmp_path / "adr", n001_record=NYGARD)
    assert file_name(2, "Use Rust", directory.files) == "002-use-rust.md"


def test_records_that_exist_are_not_made_again(tmp_path):
    facts = RUST
    _, records = build_architecture(facts, title="X")
    names = [file_name(number, one.title) for number, one in enumerate(records, 1)]
    texts = [render(one.document) for one in records]
    known = write_all(
        tmp_path / "adr", **{Path(name).stem: text for name, text in zip(names, texts, strict=True)}
    ).files
    document, again = build_architecture(facts, title="X", adrs=known)
    assert again == []
    assert f"(adr/{known[0].path.name})" in render(document)


def test_the_template_of_madr_is_read_with_its_comment():
    text = MADR.replace("---\n", "---\n# These are optional metadata elements.\n", 1)
    assert parse(text, "adr") == parse(MADR, "adr")


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
