"""What a worker is told before it starts."""

from __future__ import annotations

import pytest

from clew.daemons import WIRING
from clew.kit.errors import Invalid, NotFound
from clew.thread.brief.brief import brief, for_prompt
from clew.thread.budget import pack_data, pack_text
from tests.thread.story import OPEN, SPEC, add_index, spec_text


def asked(story, task, **options):
    return pack_data(brief(story.rooms(), task, budget=options.pop("budget", 4000), **options))


def said(data, section):
    return [one["text"] for one in data["statements"] if one["section"] == section]


def test_a_spec_has_criteria_decisions_vision_and_earlier_attempts(story):
    data = asked(story, SPEC)
    assert data["spec"] == SPEC
    assert said(data, "task") == ["[x] An order is there after a crash", "files: shop/orders.py"]
    assert said(data, "decisions")[0].startswith("ADR-0001 Keep orders in SQLite (accepted): ")
    assert said(data, "decisions")[1] == "not chosen: PostgreSQL, Plain files"
    assert said(data, "vision")[0] == "FE-1 Orders survive a crash"
    assert said(data, "attempts") == ["attempt 1 by claude failed: The tests failed"]


def test_open_specs_on_the_same_files_are_told(story):
    assert said(asked(story, SPEC), "overlap") == [
        f"{OPEN} “Nightly job” (ready) also means to change shop/orders.py"
    ]
    assert said(asked(story, OPEN), "overlap") == []  # the other one is done


def test_related_commits_come_with_their_files_in_one_line(story):
    commits = said(asked(story, "make retries wait longer in shop/retry.py"), "commits")
    assert any(
        "Wait longer between retries" in one and one.endswith("[shop/retry.py]") for one in commits
    )


def test_a_list_of_changes_that_was_moved_comes_behind_commits_of_code(bare_story):
    lines = "- retries by a list wait longer\n" * 9
    bare_story.commit("moved", "Say by a list how retries wait", {"CHANGES.md": lines})
    add_index(bare_story)

    commits = said(asked(bare_story, "retries by a list wait longer"), "commits")

    assert [one.split("[")[1] for one in commits[:2]] == ["shop/retry.py]", "CHANGES.md]"]


def test_a_path_hides_nothing_that_the_words_find(story):
    plain = said(asked(story, "wait longer between retries"), "commits")
    with_path = said(asked(story, "wait longer between retries in report.py"), "commits")
    assert any("Wait longer between retries" in one for one in plain)
    assert any("Wait longer between retries" in one for one in with_path)


def test_names_of_the_task_are_found_in_the_current_tree(story):
    story.commit("use", "Use it", {"shop/use.py": "def run(c):\n    save_order(c, 1)\n"})
    (symbol,) = said(asked(story, "let save_order() take many orders"), "symbols")
    assert symbol == "save_order (function): shop/saving.py:1; called by run (shop/use.py:2)"
    assert "shop/saving.py" in asked(story, "let save_order() take many orders")["files"]


def test_only_files_that_are_there_are_named(story):
    data = asked(story, "keep orders in a store, in orders.py and gone.py")
    for path in data["files"]:
        assert (story.root / path).is_file()
    assert "shop/orders.py" in data["files"]


def test_the_open_spec_that_the_words_are_about_is_told(story):
    told = said(asked(story, "the nightly job"), "spec")
    assert told[0] == (
        f"{OPEN} “Nightly job” (pending); files: shop/night.py, shop/orders.py;"
        f" open it: clew show {OPEN}"
    )
    assert told[1] == "[ ] An order is there after a crash"
    assert said(asked(story, "something else entirely"), "spec") == []


def test_words_that_nothing_answers_bring_no_noise(story):
    data = asked(story, "quantum chromodynamics lattice")
    assert data["files"] == []
    assert [one for one in data["statements"] if one["section"] != "missing"] == []


def test_a_reformatting_is_no_related_commit(story):
    commits = said(asked(story, "Reformat everything"), "commits")
    assert not any("Reformat" in text for text in commits)


def test_reverts_are_pitfalls(story):
    pitfalls = said(asked(story, "wait in shop/retry.py"), "pitfalls")
    assert pitfalls[0].startswith(f"reverted in shop/retry.py: {story.shas['revert'][:12]}")


def test_files_that_change_along_are_told_unless_listed(bare_story):
    for number in range(4):
        files = {"shop/a.py": f"a = {number}\n", "shop/b.py": f"b = {number}\n"}
        bare_story.commit(f"ab{number}", f"Change {number}", files)
    specs = bare_story.root / ".chant" / "specs"
    specs.mkdir(parents=True)
    (specs / f"{OPEN}.md").write_text(spec_text("pending", "A", target_files="[shop/a.py]"))
    (specs / f"{SPEC}.md").write_text(
        spec_text("pending", "B", target_files="[shop/a.py, shop/b.py]")
    )
    add_index(bare_story)
    data = asked(bare_story, OPEN)
    assert data["files"][0] == "shop/a.py"
    assert said(data, "together") == ["shop/b.py changed in 100% of the commits of shop/a.py"]
    assert said(asked(bare_story, SPEC), "together") == []


def test_commands_that_fit_are_named(story):
    data = asked(story, "group unstaged changes into commits")
    assert any(
        text.startswith("git group-commit unstaged-changes") for text in said(data, "commands")
    )


def test_free_words_have_the_files_that_related_commits_touched(story):
    data = asked(story, "the report of the day")
    assert data["spec"] is None
    assert data["files"][0] == "report.py"


def test_the_same_question_gives_the_same_brief(story):
    first = pack_text(brief(story.rooms(), SPEC))
    assert all(pack_text(brief(story.rooms(), SPEC)) == first for _ in range(3))


def test_nothing_is_said_twice(story):
    for task in (SPEC, OPEN, "retry orders", "shop/retry.py"):
        data = asked(story, task)
        texts = [(one["section"], one["text"]) for one in data["statements"]]
        assert len(texts) == len(set(texts))


def test_own_commits_are_no_related_commits(story):
    assert not any("Keep orders in a store" in text for text in said(asked(story, SPEC), "commits"))


def test_a_part_of_an_id_is_enough_and_a_wrong_id_is_said(story):
    assert asked(story, "x7m")["spec"] == SPEC
    with pytest.raises(NotFound):
        asked(story, "2026-09-09-001-zzz")
    with pytest.raises(Invalid):
        asked(story, "?")


def test_git_alone_is_enough(bare_story):
    data = asked(bare_story, "retry three times in shop/retry.py")
    assert any("Retry three times" in text for text in said(data, "commits"))
    assert any("not in the index" in text for text in said(data, "missing"))


def test_runs_get_it_with_their_prompt(story):
    text = WIRING.brief(story.root, OPEN)
    assert text == for_prompt(story.root, OPEN)
    assert "Nightly job" in text
    assert text.startswith("What this project's history")
