"""The fleet on the board: who works where, and commands that a person approves or refuses."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing, contextmanager

import pytest

from clew.team.identity.records import Group, Records
from clew.team.working.consent import TeamConsent
from tests.support.client import BIN
from tests.support.issuer import running_issuer
from tests.support.waiting import wait_until
from tests.team.identity.conftest import make_project
from tests.team.test_working import a_fleet
from tests.web.accessible import findings
from tests.web.conftest import PHONE, WIDE
from tests.web.team.conftest import running_board, sign_in_by


@pytest.fixture
def wary(tmp_path, team_database, monkeypatch):
    """A fleet whose machines trust nothing, and a project that names commands."""
    monkeypatch.setenv("CLEW_DATABASE", team_database)
    yield from a_fleet(tmp_path, team_database, monkeypatch, mark=tmp_path / "ran")


@contextmanager
def a_board(fleet):
    """A board for people of a team: who may decide in the fleet's project, and who may look at it."""
    with running_issuer() as issuer, closing(Records(fleet.address)) as records:
        records.grant(Group("owners", ("house",), "admin"))
        records.grant(Group("workers", ("house",), "work"))
        sign_in_by(records, issuer)
        project = make_project(fleet.place / "elsewhere")
        with running_board(fleet.address, project, "--client", "board") as server:
            yield server, issuer, records


def come(visit, server, issuer, group, **settings):
    """Somebody of a group who looks at the fleet."""
    issuer.person = {"groups": [group], "email": f"{group}@example.com"}
    opened = visit(server, elsewhere=(issuer.url,), **settings)
    assert opened.go("/fleet") == 200
    return opened


def test_commands_are_approved_in_a_browser_and_the_order_goes_on(wary, visit, pictures):
    with a_board(wary) as (server, issuer, records):
        looker = come(visit, server, issuer, "workers").connected()
        decider = come(visit, server, issuer, "owners").connected()
        order = wary.orders.add("house", "001", "default")
        wary.start("--once").communicate(timeout=300)
        for page in (looker, decider):  # both are told without being loaded anew
            page.get_by_text("Commands that wait for approval").wait_for()
            page.get_by_role("cell", name="Paused").wait_for()
        assert looker.get_by_role("button", name="Approve").count() == 0
        looker.get_by_text("An administrator of this project decides.").first.wait_for()
        for name, size in (("wide", WIDE), ("phone", PHONE)):
            decider.set_viewport_size(size)
            decider.screenshot(path=pictures / f"fleet-{name}.png", full_page=True)
            assert findings(decider) == []
            assert decider.evaluate("document.documentElement.scrollWidth") <= size["width"]

        decider.on("dialog", lambda dialog: dialog.accept())
        for left in (2, 1, 0):
            decider.get_by_role("button", name="Approve").first.click()
            decider.get_by_text("Approved: 1 command of house").wait_for()
            buttons = decider.locator("#asked").get_by_role("button", name="Approve")
            wait_until(lambda buttons=buttons, left=left: buttons.count() == left)
        assert wary.orders.get(order.order_id).state == "waiting"
        said = wary.start("--once").communicate(timeout=300)[1]
        assert wary.orders.get(order.order_id).state == "finished", said
        decider.get_by_role("cell", name="Finished", exact=True).wait_for()
        assert wary.mark.exists()

        deeds = [
            (one["person"], one["client"], one["tool"], one["outcome"]) for one in records.audit(9)
        ]
        assert deeds == [("owners@example.com (u-1)", "board", "board approve", "done")] * 3
        told = [json.loads(one["arguments"]) for one in records.audit(9)]
        known = TeamConsent(wary.orders.database).commands("house")
        assert {one["project"] for one in told} == {"house"}
        assert {one["hashes"] for one in told} == {one.hash for one in known}
        assert {one.approved_by for one in known} == {"owners@example.com (u-1)"}


def test_a_refused_command_ends_the_order_and_later_ones(wary, visit):
    with a_board(wary) as (server, issuer, records):
        order = wary.orders.add("house", "001", "default")
        wary.start("--once").communicate(timeout=300)
        page = come(visit, server, issuer, "owners").connected()
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Refuse").first.click()
        page.get_by_text("Refused: 1 command of house").wait_for()
        ended = wary.orders.get(order.order_id)
        assert ended.state == "failed"
        assert ended.note == "a command that it needs was refused by owners@example.com (u-1)"
        assert records.audit(1)[0]["tool"] == "board refuse"
        again = wary.orders.add("house", "001", "default")
        wary.start("--once").communicate(timeout=300)
        ended = wary.orders.get(again.order_id)
        assert ended.state == "failed"
        assert ended.note.startswith("refused by owners@example.com (u-1): ")
        assert not wary.mark.exists()


def test_a_run_shows_its_worker_its_state_and_its_last_line(wary, visit):
    order = wary.orders.add("house", "slow1", "default")
    worker = wary.start("--trust-commands", "--lease", "4")
    wait_until(lambda: wary.has_work(order), limit=120)
    name = wary.orders.get(order.order_id).worker
    with a_board(wary) as (server, issuer, _):
        page = come(visit, server, issuer, "workers").connected()
        row = page.get_by_role("row").filter(has_text="slow1")
        row.get_by_text("At work, turn 1").wait_for()
        assert name in row.inner_text()
        row.get_by_text("working on slow1").wait_for()
        page.get_by_role("link", name=str(order.order_id), exact=True).click()
        page.get_by_text("working on slow1").wait_for()
        page.get_by_text("chant/slow1").first.wait_for()
        assert findings(page) == []
        done = subprocess.run(
            [str(BIN / "clew"), "spec", "status", "--json", "--project", str(wary.place / "elsewhere")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        (run,) = json.loads(done.stdout)["data"]["fleet"]
        assert (run["order_id"], run["state"], run["worker"]) == (order.order_id, "leased", name)
        assert run["last_line"]
        assert run["lease_left"] > 0
        worker.kill()
        worker.wait()
        page.get_by_text("Its worker is silent").wait_for()


def test_an_operator_sees_the_fleet_and_is_named_in_the_audit(wary, visit):
    order = wary.orders.add("house", "001", "default")
    wary.start("--once").communicate(timeout=300)
    project = make_project(wary.place / "elsewhere")
    with running_board(wary.address, project) as server, closing(Records(wary.address)) as records:
        page = visit(server).page
        page.get_by_role("link", name="Fleet").click()
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Approve").first.click()
        page.get_by_text("Approved: 1 command of house").wait_for()
        assert records.audit(1)[0]["person"] == "operator"
        assert wary.orders.get(order.order_id).state == "paused", "it waits for the others"
