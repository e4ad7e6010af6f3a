"""Who wrote what a fix had to change, and who fixed what a commit wrote."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from clew.history.questions.culprit import culprit, fixed_by
from clew.history.questions.hunks import commit_hunks
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.errors import Invalid, NotFound
from tests.history.questions.conftest import BOB, Story, shas

BODY = [f"    step_{number}(value)" for number in range(20)]


def source(total, *more):
    """A program whose answer is computed in one line."""
    return ["def price(items):", *BODY, f"    total = {total}", "    return total", *more]


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A bug that is written, reformatted, moved and fixed."""
    story = Story(tmp_path_factory.mktemp("culprit") / "shop")
    story.write("src/shop.py", *source("sum(item.net for item in items)"))
    story.commit("start", "Start the shop")
    story.write("src/shop.py", *source("sum(item.gross for item in items)"))
    story.commit("bug", "Count gross prices", BOB)
    wide = "sum(\n        item.gross\n        for item in items,\n    )"
    story.write("src/shop.py", *source(wide))
    story.commit("format", "Reformat everything")
    story.git("mv", "src/shop.py", "src/store.py")
    story.commit("move", "Rename the module")
    story.write("src/store.py", *source(wide, "", "def other():", "    return None"))
    story.write("tests/test_store.py", "assert True")
    story.commit("other", "Add another function")
    fixed = wide.replace("gross", "net or item.gross")
    story.write("src/store.py", *source(fixed, "", "def other():", "    return None"))
    story.write("tests/test_store.py", "assert 1")
    story.commit("fix", "Fix the price of untaxed items")
    guarded = [*source(fixed), "", "def other():", "    check()", "    return None"]
    story.write("src/store.py", *guarded)
    story.commit("guard", f"Check first\n\nRegression in {story['other'][:10]}.")
    return story


@pytest.fixture(scope="module")
def shop(story, tmp_path_factory):
    """The index of the story."""
    store = SqliteHistory.create(tmp_path_factory.mktemp("index") / "db.sqlite3")
    sync_repo(store, register(store, Path(story.root), name="shop"))
    yield store
    store.close()


def test_a_fix_leads_to_the_writer_behind_reformatting_and_renaming(shop, story):
    first = culprit(shop, "shop", story["fix"])["commits"][0]

    assert (story.name_of(first["sha"]), first["evidence"]) == ("bug", "removed")
    assert first["path"] == "src/shop.py"
    assert "+    total = sum(item.gross for item in items)" in first["hunk"].split("\n")


def test_an_insertion_leads_to_the_lines_around_it(shop, story):
    found = culprit(shop, "shop", story["guard"])

    assert next(story.name_of(sha) for sha in shas(found)) == "other"
    assert found["commits"][0]["evidence"] == "named"


def test_lines_of_a_file_are_asked_about_by_place(shop, story):
    line = source("x").index("    total = x") + 2
    found = culprit(shop, "shop", f"src/store.py:{line}-{line + 1}", rev=story["other"])

    assert [story.name_of(sha) for sha in shas(found)] == ["bug"]
    assert found["at"] == story["other"]


def test_commits_that_the_repository_ignores_in_blame_are_passed_over(tmp_path):
    story = Story(tmp_path / "ignoring")
    story.write("a.py", "value = compute(first, second)")
    story.commit("wrote", "Compute")
    story.write("a.py", "result = compute(first, second)")
    story.commit("renamed", "Rename all variables")
    story.write(".git-blame-ignore-revs", "# renamed", story["renamed"], "0" * 40)
    story.commit("listed", "List what blame should ignore")
    story.write("a.py", "result = compute(second, first)")
    story.commit("fix", "Fix the order")
    store = SqliteHistory.create(tmp_path / "db.sqlite3")
    sync_repo(store, register(store, Path(story.root), name="r"))

    found = culprit(store, "r", story["fix"])
    store.close()

    assert [story.name_of(sha) for sha in shas(found)] == ["wrote"]


def test_what_cannot_be_asked(shop, story):
    with pytest.raises(Invalid, match="first commit"):
        culprit(shop, "shop", story["start"])
    with pytest.raises(NotFound):
        culprit(shop, "shop", "nothing:3")
    with pytest.raises(Invalid, match="no line 999"):
        culprit(shop, "shop", "src/store.py:999")
    with pytest.raises(NotFound):
        culprit(shop, "shop", "0" * 40)


def test_a_commit_is_fixed_by_what_names_it(shop, story):
    (found,) = fixed_by(shop, "shop", story["other"])["commits"]

    assert (story.name_of(found["sha"]), found["evidence"]) == ("guard", "regression_named_by")


def test_a_commit_is_fixed_by_a_fix_that_removes_its_lines(shop, story):
    (found,) = fixed_by(shop, "shop", story["format"])["commits"]

    assert (story.name_of(found["sha"]), found["evidence"]) == ("fix", "removes_line")
    assert found["text"] == "item.gross"
    assert fixed_by(shop, "shop", story["fix"])["commits"] == []


def test_who_wrote_lines_before_a_shallow_clone_is_not_claimed(story, tmp_path):
    clone = tmp_path / "clone"
    story.git("clone", "--quiet", "--depth=2", f"file://{story.root}", str(clone))
    store = SqliteHistory.create(tmp_path / "db.sqlite3")
    sync_repo(store, register(store, clone, name="clone"))

    found = culprit(store, "clone", "src/store.py:5", rev="HEAD")
    store.close()

    assert [(one["evidence"], one["hunk"]) for one in found["commits"]] == [("shallow", None)]


def test_hunks_are_chosen_by_file_kind_and_text_and_never_cut(shop, story):
    both = [story["fix"], story["other"][:9]]
    fix, other = commit_hunks(shop, "shop", both)["commits"]

    assert fix["files"] == ["src/store.py +1 -1", "tests/test_store.py +1 -1"]
    assert [one["path"] for one in fix["hunks"]] == ["src/store.py", "tests/test_store.py"]
    assert other["subject"] == "Add another function"
    (code,) = commit_hunks(shop, "shop", [story["fix"]], code_only=True)["commits"]
    assert [one["path"] for one in code["hunks"]] == ["src/store.py"]
    (named,) = commit_hunks(shop, "shop", [story["fix"]], paths=["tests/*"])["commits"]
    assert [one["path"] for one in named["hunks"]] == ["tests/test_store.py"]
    (said,) = commit_hunks(shop, "shop", [story["fix"]], text="net or")["commits"]
    assert [one["path"] for one in said["hunks"]] == ["src/store.py"]
    assert (said["body"], said["files"]) == (None, []), "only what has the text was asked for"
    small = commit_hunks(shop, "shop", both, max_chars=10)["commits"]
    assert [(len(one["hunks"]), one["left_out"]) for one in small] == [(1, 1), (0, 2)]
    assert small[0]["hunks"][0] == fix["hunks"][0]


def test_of_a_long_hunk_what_is_near_the_text_is_shown(tmp_path):
    story = Story(tmp_path / "shop")
    story.write("src/long.py", *(f"line {number}" for number in range(60)))
    story.commit("long", "Write a long file")
    with closing(SqliteHistory.create(tmp_path / "db.sqlite3")) as store:
        sync_repo(store, register(store, story.root, name="shop"))
        (found,) = commit_hunks(store, "shop", [story["long"]], text="line 30")["commits"]

    header, *lines = found["hunks"][0]["hunk"].split("\n")
    assert header == "@@ -0,0 +1,60 @@"
    assert lines == ["[…]", *(f"+line {number}" for number in range(26, 35)), "[…]"]


def test_a_report_leads_to_commits_that_fit_it_with_message_and_hunk(shop, story):
    found = culprit(shop, "shop", "gross prices are counted where item.net is meant", limit=3)
    assert found["commits"][0]["sha"] == story["bug"]
    assert found["commits"][0]["message"] == "Count gross prices"
    assert found["commits"][0]["evidence"] == "described"
    assert "+    total = sum(item.gross for item in items)" in found["commits"][0]["hunk"]
    assert found["commits"][0]["path"] == "src/shop.py"


def test_changed_lines_with_the_words_count_more_than_a_message_like_the_report(tmp_path):
    story = Story(tmp_path / "shop")
    story.write("src/cart.py", "def total(cart):", "    return 0")
    story.commit("start", "Start")
    story.write(
        "src/cart.py", "def total(cart):", "    coupon = expired(cart)", "    return coupon"
    )
    story.commit("cause", "Change the cart's total")
    story.write("README", "See the shop.")
    story.commit("said", "Mention that an expired coupon gives a total")
    with closing(SqliteHistory.create(tmp_path / "db.sqlite3")) as store:
        sync_repo(store, register(store, story.root, name="shop"))
        found = culprit(store, "shop", "an expired coupon of a cart gives total zero")["commits"]

    assert story.name_of(found[0]["sha"]) == "cause"
    assert found[0]["lines"] == 1
    assert next(one["lines"] for one in found if story.name_of(one["sha"]) == "said") == 0


def test_a_commit_of_tests_is_blamed_after_the_one_of_code_that_says_the_same(tmp_path):
    story = Story(tmp_path / "shop")
    story.write("src/cart.py", "def total(cart):", "    return 0")
    story.commit("start", "Start")
    story.write("src/cart.py", "def total(cart):", "    return expired(coupon)")
    story.commit("cause", "Take an expired coupon off the total")
    story.write("tests/test_cart.py", "assert total(expired(coupon)) == 0")
    story.commit("tested", "Test an expired coupon in the total")
    with closing(SqliteHistory.create(tmp_path / "db.sqlite3")) as store:
        sync_repo(store, register(store, story.root, name="shop"))
        found = culprit(store, "shop", "an expired coupon gives a total of zero")["commits"]

    assert [story.name_of(one["sha"]) for one in found[:2]] == ["cause", "tested"]


def test_a_picked_commit_is_not_blamed_beside_its_original(tmp_path):
    story = Story(tmp_path / "shop")
    story.write("src/cart.py", "def total(cart):", "    return 0")
    story.commit("start", "Start")
    story.write("src/cart.py", "def total(cart):", "    return expired(coupon)")
    story.commit("cause", "Take an expired coupon off the total")
    story.write("src/old_cart.py", "def total(cart):", "    return expired(coupon)")
    picked = f"(cherry picked from commit {story['cause']})"
    story.commit("copy", f"Take an expired coupon off the total\n\n{picked}")
    with closing(SqliteHistory.create(tmp_path / "db.sqlite3")) as store:
        sync_repo(store, register(store, story.root, name="shop"))
        found = culprit(store, "shop", "an expired coupon gives a total of zero")["commits"]

    names = [story.name_of(one["sha"]) for one in found]
    assert names[0] == "cause"
    assert "copy" not in names
