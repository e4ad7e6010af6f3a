"""The request beside the diff: escaped, only of this project, and never in an export."""

from __future__ import annotations

import pytest

from clew.sessions.index.sqlite import opened_index
from clew.sessions.model import Header, Request, Words
from clew.sessions.readers.changes import edit_of_texts
from tests.web.accessible import findings
from tests.web.conftest import PHONE, WIDE
from tests.web.test_export import export

TEXT = "def price(order):\n    total = sum(order.amounts)\n    return total\n"
ASKED = "Add prices <script>window.hacked = 1</script><img src=x onerror='window.hacked=1'> please"


@pytest.fixture
def asked(shop):
    """A commit of the shop whose lines an agent wrote, and one that a person changed."""
    now = 1_600_000_000.0  # before the commits of the shop
    root = str(shop.root.resolve())
    with opened_index() as index:
        index.open_project(root)
        for uid, project in (("abc-1", root), ("other-1", "/elsewhere")):
            session = index.begin("claude", Header(uid, project), project)
            edit = edit_of_texts(f"c-{uid}", now, "src/price.py", "", TEXT)
            said = Words("I add <b>prices</b>")
            events = [Request(f"r-{uid}", now - 1, ASKED), said, edit]
            index.add(session, "claude", events, is_side=False)
    changed = TEXT.replace("sum(order.amounts)", "sum(order.amounts, 5)") + "\nMINE = True\n"
    shop.sha = shop.repo.commit("Add prices", {"src/price.py": changed})
    return shop.filled()


def test_the_request_is_beside_the_lines_that_came_of_it(asked, visit, pictures):
    sha = asked.sha
    with asked.serve() as server:
        for look in (WIDE, PHONE):
            opened = visit(server, viewport=look)
            assert opened.go(f"/commits/{sha}") == 200
            page = opened.page
            page.screenshot(path=pictures / f"requests-{look['width']}.png", full_page=True)
            assert page.locator("blockquote.request").inner_text() == ASKED
            marks = page.locator("table.diff tr.added").all_inner_texts()
            shown = [words.split("\t")[2].strip() for words in marks]
            assert shown == ["1", "1*", "1", "", ""]
            assert findings(page) == []
            assert page.evaluate("window.hacked") is None
            page.get_by_role("link", name="The session, turn 1").click()
            page.get_by_role("heading", name="claude session").wait_for()
            assert page.locator("blockquote.request").inner_text() == ASKED
            assert page.evaluate("window.hacked") is None
            assert findings(page) == []
            page.screenshot(path=pictures / f"session-{look['width']}.png", full_page=True)
        assert opened.go("/sessions/claude:other-1") == 404
        assert opened.go("/sessions/claude:none") == 404


def test_an_export_has_no_requests(asked, tmp_path):
    done = export(asked, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = [page.read_text("utf-8") for page in (tmp_path / "site").rglob("*.html")]
    assert any("MINE = True" in html for html in pages)
    assert not any("window.hacked" in html or "What agents were asked" in html for html in pages)
