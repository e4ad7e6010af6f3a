"""The thread walked by clicking: from a vision to a line, and from the line back."""

from __future__ import annotations

import re

from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from tests.support.repos import Repository


def test_from_a_vision_to_a_line_and_back(shop, visit):
    shop.filled()
    with shop.serve() as server:
        opened = visit(server)
        page = opened.page
        page.get_by_role("link", name="Thread").click()
        page.get_by_role("link", name="BO-1 Raise completed orders").click()
        page.get_by_text("BO-1 in").get_by_role("link", name="docs/vision.md").wait_for()
        page.get_by_role("link", name="2026-03-01-007-stu").first.click()
        page.get_by_role("heading", name="Lay the groundwork, part 1").wait_for()
        page.get_by_role("link", name="Where it comes from").click()
        page.get_by_role("link", name=re.compile("[0-9a-f]{12} lay the groundwork")).click()
        page.get_by_role("heading", name="chant(2026-03-01-007-stu): lay the groundwork").wait_for()
        page.get_by_role("link", name="src/base.py").click()
        page.get_by_role("link", name="Why line 1 is there").click()
        chain = page.get_by_role("list", name="The thread, link by link")
        stations = chain.get_by_role("listitem").all_inner_texts()
        assert ["BASE = 1" in stations[0], "Raise completed orders" in stations[-1]] == [True, True]
        chain.get_by_role("link", name="Raise completed orders").click()
        page.get_by_role("heading", name="Raise completed orders").wait_for()


def test_gaps_are_told_with_where_to_look(shop, visit):
    shop.filled()
    with shop.serve() as server:
        opened = visit(server)
        opened.go("/thread")
        page = opened.page
        page.get_by_text("Features without a spec").wait_for()
        page.locator(".gaps").get_by_role("link", name="FE-3").click()
        page.get_by_role("heading", name="Gift wrapping").wait_for()


def test_why_is_asked_in_words(shop, visit):
    shop.filled()
    with shop.serve() as server:
        opened = visit(server)
        opened.go("/thread")
        page = opened.page
        page.get_by_label("Why is this here?").fill("src/orders.py:3")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Why src/orders.py:3").wait_for()
        assert opened.go("/thread?why=../../etc/passwd:1") in (400, 404)
        assert "root:" not in page.content()


def test_history_pages_keep_to_the_project_and_ask_all_when_told(shop, visit, tmp_path):
    shop.history()
    other = Repository(tmp_path / "elsewhere")
    other.commit("Teach orders elsewhere", {"strange.py": "x = 1\n"})
    store = SqliteHistory.open(shop.database)
    sync_repo(store, register(store, other.path, name="elsewhere"))
    store.close()
    with shop.serve() as server:
        opened = visit(server)
        for path, strange in (("/history?q=orders", "elsewhere"), ("/pulse", "strange.py")):
            opened.go(path)
            shown = opened.page.locator("main")
            assert strange not in shown.locator(".results, .plots").inner_html()
            opened.page.get_by_text("Ask all repositories").click()
            opened.page.wait_for_url("**all=yes*")
            assert strange in shown.locator(".results, .plots").inner_html()
