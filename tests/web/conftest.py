"""The project of these tests, its running board, and a browser that looks at it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.shop import Shop

MILLISECONDS = 180_000  # reached only by what never comes
expect.set_options(timeout=MILLISECONDS)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDE = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def shop(tmp_path):
    """A project with nothing in it yet."""
    made = Shop(tmp_path / "shop")
    with made.work:
        yield made


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install the package `chromium`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield running
        running.close()


class Visit:
    """One browser looking at one server: its page, and whatever went wrong in it."""

    def __init__(self, browser, server, elsewhere=(), **settings):
        """With `elsewhere`, the browser may ask there too: to sign in."""
        self.own = ("data:", *elsewhere)
        settings = {"viewport": WIDE, "color_scheme": "light", **settings}
        self.context = browser.new_context(**settings)
        self.context.set_default_timeout(MILLISECONDS)
        self.server = server
        self.origin = server.url.partition("/?")[0].rstrip("/")
        self.troubles = []
        self.page = self.new_page()
        self.page.goto(server.url)

    def new_page(self):
        """One more tab."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("console", self._said)
        page.on("request", self._asked)
        return page

    def _said(self, message):
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            self.troubles.append(f"{message.type}: {message.text}")

    def _asked(self, request):
        if not request.url.startswith((self.origin, *self.own)):
            self.troubles.append(f"asked elsewhere: {request.url}")

    def go(self, path):
        """Open a page of the board."""
        response = self.page.goto(self.origin + path)
        return response.status

    def connected(self):
        """Wait until news come from the server."""
        self.page.locator('html[data-connected="yes"]').wait_for(state="attached")
        return self.page


@pytest.fixture
def visit(browser):
    """Opens visits, and looks in the end whether anything went wrong in one."""
    visits = []

    def open_visit(server, **settings):
        visits.append(Visit(browser, server, **settings))
        return visits[-1]

    yield open_visit
    troubles = [trouble for one in visits for trouble in one.troubles]
    for one in visits:
        one.context.close()
    assert not troubles


@pytest.fixture
def pictures(tmp_path):
    """Where screenshots are kept: `CLEW_SCREENSHOTS`, or beside the test's other files."""
    place = Path(os.environ.get("CLEW_SCREENSHOTS") or tmp_path / "screenshots")
    place.mkdir(parents=True, exist_ok=True)
    return place
