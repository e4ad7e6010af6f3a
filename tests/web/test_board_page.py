"""The board in a browser: dragging, keys, news, adding, filtering."""

from __future__ import annotations

import re

READY, RUNNING, ATTENTION = "2026-03-02-001-abc", "2026-03-02-004-jkl", "2026-03-02-005-mno"


def column(page, name):
    return page.locator(f"#col-{name}")


def card(page, name, spec_id):
    return column(page, name).locator(f"#card-{spec_id}")


def test_a_card_is_dragged_to_another_state(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page = visit(server).connected()
        card(page, "ready", READY).drag_to(column(page, "in_progress"))
        card(page, "in_progress", READY).wait_for()
        page.get_by_text("in progress now").wait_for()
        assert shop.store.load(READY).status == "in_progress"


def test_a_card_does_not_go_where_the_lifecycle_does_not_let_it(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page = visit(server).connected()
        card(page, "ready", READY).drag_to(column(page, "completed"))
        assert card(page, "ready", READY).count() == 1
        card(page, "in_progress", RUNNING).drag_to(column(page, "completed"))
        page.locator("#toasts").get_by_text("commit").or_(
            card(page, "completed", RUNNING)
        ).first.wait_for()
        assert shop.store.load(READY).status == "pending"


def test_completing_a_card_goes_through_the_gate(shop, visit):
    shop.spec(READY, "Half done", status="in_progress", criteria=(("All of it", False),))
    with shop.serve() as server:
        page = visit(server).connected()
        card(page, "in_progress", READY).drag_to(column(page, "completed"))
        page.get_by_text("unchecked acceptance criteria").wait_for()
        card(page, "in_progress", READY).wait_for()
        assert shop.store.load(READY).status == "in_progress"


def test_a_card_moves_by_keyboard_alone(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page = visit(server).connected()
        card(page, "attention", ATTENTION).locator(".card-title").focus()
        page.keyboard.press("m")
        page.get_by_role("dialog").get_by_role("button", name="Ready").focus()
        page.keyboard.press("Enter")
        page.get_by_text("is pending now").wait_for()
        card(page, "ready", ATTENTION).wait_for()
        assert shop.store.load(ATTENTION).status == "pending"


def test_a_card_that_changed_meanwhile_is_not_moved(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        page = opened.connected()
        page.route(re.compile(r"/live$"), lambda route: route.abort())
        opened.go("/")
        shop.spec(READY, "Another title altogether", labels=["new"])
        card(page, "ready", READY).drag_to(column(page, "in_progress"))
        page.get_by_text("has changed meanwhile").wait_for()
        assert shop.store.load(READY).status == "pending"
        opened.troubles.clear()  # the stream was cut off on purpose


def test_what_others_do_shows_up_by_itself(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page = visit(server).connected()
        shop.spec("2026-03-03-001-new", "Written by somebody else")
        card(page, "ready", "2026-03-03-001-new").wait_for()
        shop.file("2026-03-03-001-new").unlink()
        card(page, "ready", "2026-03-03-001-new").wait_for(state="detached")


def test_a_spec_is_added_in_one_line(shop, visit):
    with shop.serve() as server:
        page = visit(server).page
        page.get_by_text("Nothing to do yet").wait_for()
        page.get_by_label("What is to be done?").fill("Sell tea <b>& coffee</b>")
        page.keyboard.press("Enter")
        column(page, "ready").get_by_text("Sell tea <b>& coffee</b>").wait_for()
        assert shop.store.heads()[0].title == "Sell tea <b>& coffee</b>"


def test_the_first_spec_of_somebody_else_ends_the_welcome(shop, visit):
    with shop.serve() as server:
        page = visit(server).connected()
        page.get_by_text("Nothing to do yet").wait_for()
        shop.spec("2026-03-03-001-new", "The first one")
        card(page, "ready", "2026-03-03-001-new").wait_for()
        page.get_by_text("Nothing to do yet").wait_for(state="detached")


def test_filters_are_in_the_address(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        page = opened.page
        page.keyboard.press("/")
        page.keyboard.type("label:frontend")
        page.keyboard.press("Enter")
        page.wait_for_url("**/?q=label%3Afrontend*")
        assert page.locator(".card").count() == 2
        opened.go("/?label=payment")
        assert page.locator(".card").count() == 1
        opened.go("/?q=completed%3A%3Eyesterdayish")
        page.get_by_role("alert").wait_for()
        assert page.locator(".card").count() > 5


def test_blocked_cards_say_what_they_wait_for(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page = visit(server).page
        refund = card(page, "blocked", "2026-03-02-003-ghi")
        assert "2026-01-01-009-zzz (missing)" in refund.inner_text()
        refund.get_by_role("link", name="2026-03-02-002-def").click()
        page.get_by_role("heading", name="Pay by invoice").wait_for()


def test_files_that_are_no_specs_are_told(shop, visit):
    shop.specs()
    shop.file("2026-03-09-001-bad").write_text("---\nstatus: odd\n---\n# Bad\n")
    with shop.serve() as server:
        page = visit(server).page
        page.get_by_text("1 file cannot be read as specs").wait_for()


def test_without_specs_the_page_says_what_to_do(shop, visit):
    (shop.root / ".chant" / "specs").rmdir()
    with shop.serve() as server:  # a clone has no empty directories; its settings make it a project
        opened = visit(server)
        opened.page.get_by_text("Nothing to do yet").wait_for()
        (shop.root / ".chant" / "config.md").unlink()
        opened.go("/")
        opened.page.get_by_text("chant init").wait_for()
