"""A spec's page in a browser: its log as it grows, comments on its diff, changing its text."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from playwright.sync_api import expect

from clew.specs.store.consent import Consent, command_hash
from clew.work.agents.prompt import build_prompt
from clew.work.model import RunPlan
from clew.work.scheduling.start import Mode, begin_work
from tests.support.journals import open_journal
from tests.support.waiting import wait_until

READY, ATTENTION = "2026-03-02-001-abc", "2026-03-02-005-mno"


def go_on(home):
    """Let the agent of these tests end."""
    (Path(home) / "agent-goes-on").touch()


def test_a_live_log_is_followed_to_its_end(shop, visit, private_home):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}")
        page = opened.connected()
        page.get_by_role("button", name="Start an agent").click()
        page.locator(".notice", has_text="Started:").wait_for()
        log = page.locator("#log")
        log.get_by_text("step 2").first.wait_for()
        page.get_by_role("button", name="Pause").wait_for()
        go_on(private_home)
        log.get_by_text("All done").wait_for()
        page.locator("#spec-head .badge", has_text="Needs attention").wait_for()
        text = log.inner_text()
        assert text.count("I have read the spec") == 1, "every line is there once"
        assert shop.store.load(READY).status == "needs_attention"


def test_the_board_shows_the_last_line_of_a_running_agent(shop, visit, private_home):
    shop.specs()
    begin_work(shop.work, (READY,), Mode())
    with shop.serve() as server:
        page = visit(server).connected()
        line = page.locator(f'[data-log="{READY}"]')
        expect(line).to_have_text(re.compile(r"step ([3-9]|\d\d)"))
        before = page.locator(f"#card-{READY} time").inner_text()
        expect(page.locator(f"#card-{READY} time")).not_to_have_text(before)
        go_on(private_home)
        page.locator(f"#col-attention #card-{READY}").wait_for()


def test_a_run_whose_owner_died_is_put_right_while_one_looks(shop, visit):
    shop.specs()
    begin_work(shop.work, (READY,), Mode())
    with shop.serve() as server:
        page = visit(server).connected()
        page.locator(f"#card-{READY} .running").wait_for()
        with open_journal(shop.paths) as journal:
            os.kill(journal.open_run(READY).owner.pid, signal.SIGKILL)
        page.locator(f"#card-{READY} .running").wait_for(state="detached")
        with open_journal(shop.paths) as journal:
            assert journal.latest(READY).phase == "interrupted"


def test_an_agent_is_paused_taken_over_and_released(shop, visit, private_home):
    shop.specs()
    begin_work(shop.work, (READY,), Mode())
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}")
        page = opened.page
        page.get_by_role("button", name="Take over").click()
        page.get_by_text("It is yours").wait_for()
        page.get_by_role("button", name="Hand back, paused").click()
        page.get_by_text("Handed back; paused").wait_for()
        page.get_by_role("button", name="Start an agent").wait_for()
        go_on(private_home)


def test_a_comment_on_a_diff_reaches_the_next_attempt(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{ATTENTION}")
        page = opened.page
        row = page.locator("tr.added", has_text="rows = open(path).read()")
        row.hover()
        row.get_by_role("button", name="Comment on line 2").click()
        page.keyboard.type("Close the file, please.\nUse with.")
        page.get_by_role("button", name="Add comment").first.click()
        page.get_by_text("the next attempt gets it").wait_for()
        page.locator("tr.remark", has_text="Close the file, please.").wait_for()
    spec = shop.store.load(ATTENTION)
    assert "- `src/customers.py:2` Close the file, please.\n  Use with." in spec.body
    config = shop.work.config()
    prompt = build_prompt(shop.paths, config, spec, RunPlan(), earlier=None, brief=None)
    assert "Close the file, please." in prompt


def test_two_people_on_two_tabs_lose_nothing(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        first, second = opened.page, opened.new_page()
        for page in (first, second):
            page.goto(f"{opened.origin}/specs/{READY}/edit")
        first.get_by_label("Text").fill("# First\n\nWhat the first one wrote\n")
        first.get_by_role("button", name="Save").click()
        first.get_by_text("Saved").wait_for()
        second.get_by_label("Text").fill("# Second\n\nWhat the second one wrote\n")
        second.get_by_role("button", name="Save").click()
        second.get_by_role("alert").wait_for()
        assert (
            "What the first one wrote"
            in second.get_by_role("textbox", name="As it is now").input_value()
        )
        assert (
            "What the second one wrote" in second.get_by_role("textbox", name="Yours").input_value()
        )
        assert "What the first one wrote" in shop.store.load(READY).body
        second.get_by_role("textbox", name="Yours").fill("# Both\n\nWhat both wrote\n")
        second.get_by_role("button", name="Save mine").click()
        second.get_by_text("Saved").wait_for()
    assert shop.store.load(READY).body.strip() == "# Both\n\nWhat both wrote"


def test_saving_keeps_every_byte_that_was_not_changed(shop, visit):
    shop.specs()
    before = shop.file(READY).read_bytes()
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}/edit")
        opened.page.get_by_role("button", name="Save").click()
        opened.page.get_by_text("Nothing was changed").wait_for()
    assert shop.file(READY).read_bytes() == before


def test_a_criterion_is_checked_with_evidence(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}")
        page = opened.page
        first = page.locator(".criteria-list > li").first
        first.get_by_text("Check", exact=True).click()
        first.get_by_label("What proves it").fill("tests/cart, 3 passed")
        first.get_by_role("button", name="Check it").click()
        page.get_by_text("Criterion 1 is checked").wait_for()
        page.get_by_text("tests/cart, 3 passed").wait_for()
    assert shop.store.load(READY).head.criteria_checked == 1


def test_a_criterion_that_became_another_is_not_checked(shop, visit):
    shop.specs()
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}")
        page = opened.page
        first = page.locator(".criteria-list > li").first
        first.get_by_text("Check", exact=True).click()
        first.get_by_label("What proves it").focus()  # a form in use is not taken away
        shop.spec(READY, "Keep", criteria=(("Something else", False),))
        first.get_by_role("button", name="Check it").click()
        page.get_by_text("The criteria have changed meanwhile").wait_for()
    assert shop.store.load(READY).head.criteria_checked == 0


def test_a_completed_branch_is_merged_by_its_button(shop, visit):
    shop.specs()
    shop.spec(
        ATTENTION, "Import the old customer list", status="completed",
        criteria=(("All are there", True),), branch=f"chant/{ATTENTION}",
    )  # fmt: skip
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{ATTENTION}")
        opened.page.once("dialog", lambda dialog: dialog.accept())
        opened.page.get_by_role("button", name="Merge").click()
        opened.page.get_by_text("Merg").first.wait_for()
        wait_until(lambda: "read the list" in shop.repo.text("log", "--format=%s", "main"))


def test_approval_is_given_and_refused(shop, visit):
    shop.spec(READY, "Ask first", approval={"required": "true", "status": "pending"})
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}")
        page = opened.page
        page.get_by_text("has to be approved").wait_for()
        page.get_by_text("Reject…").click()
        page.get_by_label("What has to change").fill("Say why")
        page.get_by_role("button", name="Reject", exact=True).click()
        page.get_by_text("Rejected").first.wait_for()
        assert shop.store.load(READY).head.approval_status == "rejected"
        page.get_by_role("button", name="Approve").click()
        page.get_by_text("Approved").first.wait_for()
    assert shop.store.load(READY).head.approval_status == "approved"


def test_a_spec_that_is_not_there_says_so(shop, visit):
    with shop.serve() as server:
        opened = visit(server)
        assert opened.go("/specs/nothing-here") == 404
        opened.page.get_by_text("Spec not found").wait_for()


def test_commands_are_approved_on_the_page_exactly_as_they_are_shown(shop, visit):
    shop.spec(READY, "Prove it", criteria=[("It holds\n  check: `make test`", False)])
    other = command_hash(shop.root, "make other")
    with shop.serve() as server:
        opened = visit(server)
        opened.go(f"/specs/{READY}")
        page = opened.connected()
        page.on("dialog", lambda dialog: dialog.accept())
        page.locator("#commands code", has_text="make test").wait_for()
        page.locator("input[name=hashes]").evaluate("(field, value) => field.value = value", other)
        page.get_by_role("button", name="Approve these commands").click()
        page.get_by_text("No command here has the hash").wait_for()
        assert Consent(shop.root).approvals() == []
        opened.go(f"/specs/{READY}")
        page.get_by_role("button", name="Approve these commands").click()
        page.get_by_text("Approved 1 command").wait_for()
    assert [(one.command, one.by) for one in Consent(shop.root).approvals()] == [
        ("make test", "the board")
    ]
