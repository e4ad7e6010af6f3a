"""How likely a commit is the cause of a bug that a report tells."""

from __future__ import annotations

import json
from contextlib import closing

from clew.history.questions.culprit import culprit
from clew.history.search.likelihood import FILE
from clew.history.search.suspects import FEATURES
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.history.tools.commits import COMMIT_TOOLS
from tests.history.questions.conftest import Story

REPORT = "cart: expired coupons count\n\napply_coupon() takes an expired coupon off the total."


def test_every_feature_has_a_learned_weight():
    assert set(json.loads(FILE.read_text("utf-8"))["cause"]["weights"]) == set(FEATURES)


def test_the_answer_says_how_sure_it_is_and_shows_the_line_that_decides(tmp_path):
    story = Story(tmp_path / "shop")
    story.write("src/cart.py", "def total(cart):", "    return 0")
    story.commit("start", "Start")
    story.write("src/cart.py", "def total(cart):", "    return apply_coupon(cart.coupon)")
    story.commit("cause", "cart: Take a coupon off")
    story.write("src/menu.py", "def menu():", "    return 1")
    story.commit("other", "menu: Draw the total")
    with closing(SqliteHistory.create(tmp_path / "db.sqlite3")) as store:
        sync_repo(store, register(store, story.root, name="shop"))
        found = culprit(store, "shop", REPORT)

    first, *rest = found["commits"]
    assert story.name_of(first["sha"]) == "cause"
    assert (first["path"], first["stands"]) == ("src/cart.py", 2)
    assert first["matches"][0] == "apply_coupon"
    assert 1 > first["likely"] > max(one["likely"] for one in rest)
    (tool,) = (one for one in COMMIT_TOOLS if one.name == "commitmux_culprit")
    text = list(tool.command.lines(found))
    assert text[0].endswith(f"(right in {round(10 * first['likely'])} of 10 such cases)")
    assert ">     return apply_coupon(cart.coupon)" in [line.replace("+", "", 1) for line in text]
