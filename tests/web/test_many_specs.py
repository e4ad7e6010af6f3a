"""A project with 2,000 specs: the board is there at once, and stays usable."""

from __future__ import annotations

import time

STATUSES = ("pending", "pending", "completed", "completed", "in_progress", "failed")


def test_two_thousand_specs_are_quick_to_look_at(shop, visit, record_property):
    for number in range(2000):
        shop.spec(
            f"2026-02-{number % 28 + 1:02}-{number:04}-abc", f"Spec number {number}",
            status=STATUSES[number % 6], criteria=(("It works", False),), labels=[f"l{number % 9}"],
        )  # fmt: skip
    with shop.serve() as server:
        opened = visit(server)
        page = opened.page
        times = []
        for _ in range(5):
            started = time.perf_counter()
            page.goto(f"{opened.origin}/", wait_until="domcontentloaded")
            page.locator("html[data-connected]").wait_for(state="attached")
            page.get_by_label("What is to be done?").focus()
            times.append(time.perf_counter() - started)
        record_property("seconds", times)
        print(f"the board of 2,000 specs is interactive after {min(times):.2f} s")
        assert min(times) < 10, times  # under 1 s on a machine that does nothing else
        assert "668" in page.locator("#head-ready").inner_text()
        page.locator("#col-ready").get_by_role("link", name="Show more").click()
        page.locator("#col-ready .card").nth(100).wait_for(state="attached")
        page.locator("#col-ready .card").first.drag_to(page.locator("#col-in_progress"))
        page.get_by_text("is in progress now").wait_for()
        opened.go("/?q=label:l5+status:failed")
        assert 0 < page.locator(".card").count() < 120
