"""Every page in light, dark and at a phone's width: accessible, kept as a picture, no surprises."""

from __future__ import annotations

import pytest

from clew.work.scheduling.start import Mode, begin_work
from tests.web.accessible import findings
from tests.web.conftest import PHONE, WIDE

PAGES = {
    "board": "/",
    "board-filtered": "/?q=nothing-like-this",
    "spec": "/specs/2026-03-02-005-mno",
    "spec-running": "/specs/2026-03-02-001-abc",
    "edit": "/specs/2026-03-02-001-abc/edit",
    "thread": "/thread",
    "thread-item": "/thread?item=FE-2",
    "why": "/thread?repo=shop&file=src/base.py&line=1",
    "history": "/history?q=ORDER_3",
    "history-nothing": "/history?q=xyzzy",
    "file": "/file?repo=shop&path=src/orders.py",
    "documents": "/documents",
    "document": "/documents/docs/vision.md",
    "commands": "/commands",
    "command": "/commands/git/merge-up/base-branch",
    "pulse": "/pulse",
    "error": "/specs/nothing-like-this",
}
LOOKS = {
    "light": {"viewport": WIDE, "color_scheme": "light"},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light", "has_touch": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_accessible_and_fits(shop, visit, pictures, private_home, look):
    shop.filled()
    begin_work(shop.work, ("2026-03-02-001-abc",), Mode())
    sha = shop.repo.head()
    troubles = []
    with shop.serve() as server:
        opened = visit(server, **LOOKS[look])
        for name, path in {**PAGES, "commit": f"/commits/{sha}"}.items():
            assert opened.go(path) == (404 if name == "error" else 200), name
            page = opened.page
            page.screenshot(path=pictures / f"{name}-{look}.png", full_page=True)
            troubles += [f"{name}: {finding}" for finding in findings(page)]
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > LOOKS[look]["viewport"]["width"]:
                troubles.append(f"{name}: is {width} wide")
        (private_home / "agent-goes-on").touch()
    assert not troubles, "\n".join(troubles)


def test_pages_of_an_empty_project_say_what_to_do_next(shop, visit, pictures):
    with shop.serve() as server:
        opened = visit(server)
        words = {
            "/": "Nothing to do yet",
            "/history": "clew log",
            "/documents": "clew advise vision",
            "/thread": "clew advise vision",
            "/pulse": "clew log",
        }
        for path, text in words.items():
            opened.go(path)
            opened.page.get_by_text(text).first.wait_for()
            name = path.strip("/") or "board"
            opened.page.screenshot(path=pictures / f"empty-{name}.png", full_page=True)
            assert findings(opened.page) == []


def test_the_pages_are_walked_by_keyboard(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page = visit(server).page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "quick"


def test_the_checker_sees_what_is_wrong(browser):
    page = browser.new_page()
    page.set_content(
        "<p style='color: #aaa; background: #fff'>pale</p><img src=x><input><h3>skips</h3>"
        "<button></button><a href='#'></a><div id=a></div><div id=a></div>"
    )
    found = " ".join(findings(page))
    page.close()
    for rule in (
        "lang",
        "title",
        "main",
        "h1",
        "skipped",
        "contrast",
        "alt",
        "label",
        "no name",
        "twice",
    ):
        assert rule in found
