"""Stories: each rule once, and a good story passes."""

from __future__ import annotations

import pytest

from clew.advisors.checks_story import check_stories, read_story

GOOD = """# Book a table

As a guest, I want to book a table, so that I need not wait.

Feature: FE-1. Points: 3

Scenario: A free table
  Given a table for four is free
  When a guest books it
  Then the guest sees the booking number

Scenario: No table is free
  Given no table is free
  When a guest books one
  Then the guest sees the next free time
"""


def rules(text, **more):
    return {one.rule for one in check_stories([read_story("US-1", text)], **more)}


def test_a_good_story_passes():
    story = read_story("US-1", GOOD)
    assert (story.role, story.want, story.benefit) == ("guest", "book a table", "I need not wait")
    assert story.points == 3
    assert [one.name for one in story.scenarios] == ["A free table", "No table is free"]
    assert check_stories([story], ["FE-1"]) == []


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("T1", ", so that I need not wait", ""),
        ("T2", "I need not wait", "I book a table"),
        ("T3", "Scenario: No table is free\n  Given no table is free\n", "Scenario: More\n  Given a table is free\n"),
        ("T3", "Scenario: A free table\n  Given a table for four is free\n", "Scenario: x\n  Given an error\n"),
        ("T4", "Scenario: No table is free", "Scenario: A free table"),
        ("T4", "  When a guest books it\n", ""),
        ("T4", "  Given a table for four is free\n  When a guest books it\n", "  When a guest books it\n  Given a free table\n"),
        ("T5", "a table for four is free\n", "a table for four is free\n" + "  And a chair is there\n" * 6),
        ("T5", "a table for four is free", "a table " + "very " * 30 + "free"),
        ("T6", "a guest books it", "a guest clicks the button"),
        ("T6", "a guest books it", "a guest books it or calls"),
        ("T7", "the guest sees the booking number", "it works correctly"),
        ("T8", "Points: 3", "Points: 13"),
        ("T9", "Points: 3", "Depends on: US-7"),
        ("T10", "Feature: FE-1. ", ""),
    ],
)  # fmt: skip
def test_each_rule(rule, old, new):
    assert old in GOOD
    assert rule in rules(GOOD.replace(old, new))


def test_rules_over_all_stories():
    one = read_story("US-1", GOOD.replace("Points: 3", "Depends on: US-2"))
    two = read_story("US-2", GOOD.replace("Points: 3", "Depends on: US-1"))
    found = check_stories([one, two], ["FE-1", "FE-2"])
    assert {item.rule for item in found} == {"T9", "T10", "T11"}
    assert any("circle" in item.message for item in found)
    assert any("no story is about FE-2" in item.message for item in found)
