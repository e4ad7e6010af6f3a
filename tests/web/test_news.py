"""News for open pages: none is lost, however slow the connections are."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.waiting import wait_until

READY = "2026-03-02-001-abc"


def retitle(shop, title):
    path = shop.root / ".chant" / "specs" / f"{READY}.md"
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines) if line.startswith("# "))
    lines[number] = f"# {title}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_what_changes_before_the_connection_is_there_is_shown(shop, browser):
    shop.specs()
    held = []
    with shop.serve() as server, browser.new_context() as context:
        page = context.new_page()
        page.route("**/live", lambda route: held.append(route))  # noqa: PLW0108 - not a builtin
        page.goto(server.url)
        wait_until(lambda: held or page.wait_for_timeout(50))
        retitle(shop, "Changed meanwhile")
        held[0].continue_()
        expect(page.locator(f"#card-{READY}")).to_contain_text("Changed meanwhile")


def test_an_answer_that_was_overtaken_is_not_shown(shop, visit):
    shop.specs()
    held = []

    def hold_the_first(route):
        if route.request.resource_type != "fetch" or held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    with shop.serve() as server:
        opened = visit(server)
        page = opened.connected()
        page.route("**/*", hold_the_first)
        retitle(shop, "First title")
        wait_until(lambda: held or page.wait_for_timeout(50))
        retitle(shop, "Second title")
        card = page.locator(f"#card-{READY}")
        expect(card).to_contain_text("Second title")
        route, answer = held[0]
        with page.expect_request_finished():
            route.fulfill(response=answer)
        page.evaluate("fetch(location.href).then((answer) => answer.text())")  # one more turn
        expect(card).to_contain_text("Second title")


def test_news_take_nothing_from_under_the_hands_of_the_reader(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}")
        page = opened.connected()
        first = page.locator(".criteria-list > li").first
        first.get_by_text("Check", exact=True).click()
        page.evaluate("document.getElementById('criteria').wasHere = true")
        retitle(shop, "Changed while it was open")
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_contain_text("Changed while it was open")
        assert page.evaluate("document.getElementById('criteria').wasHere")  # nothing new in there
        first.get_by_label("What proves it").fill("half a sentence")
        heading.click()  # the focus is elsewhere
        path = shop.file(READY)
        path.write_text(path.read_text("utf-8").replace("A closed tab", "Any tab"), "utf-8")
        retitle(shop, "Changed while it was written")
        expect(heading).to_contain_text("Changed while it was written")
        expect(first.get_by_label("What proves it")).to_have_value("half a sentence")
        expect(first).to_contain_text("A closed tab")
        first.get_by_label("What proves it").fill("")
        heading.click()
        expect(first).to_contain_text("Any tab")
        expect(first.get_by_label("What proves it")).to_be_visible()


def test_a_pressed_button_stays_until_it_is_let_go(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page, other = visit(server).connected(), visit(server).connected()
        card = page.locator(f"#card-{READY}")
        card.get_by_role("button", name="Move").hover()
        page.mouse.down()
        retitle(shop, "Changed meanwhile")
        expect(other.locator(f"#card-{READY}")).to_contain_text("Changed meanwhile")
        page.mouse.up()
        page.get_by_role("button", name="Leave it").click()
        expect(card).to_contain_text("Changed meanwhile")


def test_the_focus_goes_along_with_a_card_that_others_move(shop, visit):
    shop.specs()
    with shop.serve() as server:
        page = visit(server).connected()
        page.locator(f"#card-{READY}").get_by_role("button", name="Move").focus()
        shop.spec(READY, "Failed meanwhile", status="failed")
        button = page.locator(f"#col-attention #card-{READY}").get_by_role("button", name="Move")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        page.get_by_role("dialog").get_by_role("button", name="Leave it").click()
        expect(button).to_be_focused()
        title = page.locator(f"#card-{READY} .card-title")
        title.focus()
        shop.spec(READY, "Done meanwhile", status="completed")
        expect(title).to_have_text("Done meanwhile")
        expect(title).to_be_focused()


def test_a_card_that_was_just_added_stays_marked(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/?new={READY}")
        page = opened.connected()
        shop.spec("2026-03-03-001-new", "Written by somebody else", status="failed")
        page.locator("#card-2026-03-03-001-new").wait_for()
        expect(page.locator(f"#card-{READY}")).to_contain_class("new")
