"""Commands run only with a person's consent to exactly their text; each would leave a mark."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from clew.specs.store.consent import Consent, NeedsApproval, command_hash, readable
from clew.work.merging.queue import Merger
from clew.work.scheduling.watch import Watch, WatchOptions
from tests.specs.tools.project import Chant
from tests.support.client import StdioServer, face, modern
from tests.support.repos import trust_everything
from tests.support.waiting import wait_until

SERVER = face("chant", "mcp", "--extended")
DONE = ("edit a.txt", "commit a.txt", "tick")


@pytest.fixture(autouse=True)
def trusting_user(private_home):
    """Nobody has approved anything."""


@pytest.fixture
def mark(tmp_path):
    """The file that a command would make."""
    return tmp_path / "mark"


def clew(house, *words, code=0, **variables):
    """What the command line says."""
    done = subprocess.run(
        face("clew", *words),
        cwd=house.root,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_starting_at_the_command_line_lists_the_commands_and_is_consent(house, mark):
    house.configure(f"worktree:\n  setup: ['touch {mark}-setup']")
    house.spec("001", *DONE, checks=[f"touch {mark}"])
    said = clew(house, "work", "001", "--no-watch").stderr
    assert f"touch {mark}  (001, criterion 1)" in said
    assert f"touch {mark}-setup  (worktree.setup)" in said
    assert mark.exists()
    assert mark.with_name("mark-setup").exists()
    log = house.log("001")
    for shown in (f"setup: touch {mark}-setup", f"check: touch {mark}"):
        assert f"{shown} (approved by `clew work` at the command line, 2" in log
    rows = json.loads(clew(house, "trust", "--json").stdout)["data"]["commands"]
    assert {row["approved_by"] for row in rows} == {"`clew work` at the command line"}


def test_a_client_cannot_have_its_command_run_and_a_person_can_approve_it(house, mark):
    house.configure(f"worktree:\n  setup: ['touch {mark}-setup']")
    house.spec("001", *DONE, checks=[f"touch {mark}"])
    with Chant(house.root, SERVER) as server:
        started = server.json("chant_work_start", id="001")
    assert started["needs_approval"]["commands"] == [f"touch {mark}-setup", f"touch {mark}"]
    run = house.settled("001")
    assert house.status("001") == "needs_attention"
    assert run.failure_class == "approval"
    assert not mark.exists()
    assert not mark.with_name("mark-setup").exists()
    approve = run.failure.rpartition("`clew ")[2].rstrip("`.").split()
    clew(house, *approve)  # the hint, followed to the letter
    wait_until(lambda: house.status("001") == "completed", 60)
    assert mark.exists()
    assert mark.with_name("mark-setup").exists()
    assert "approved by `clew trust`" in house.log("001")


def test_a_changed_text_needs_a_new_approval(house, mark):
    house.spec("001", *DONE, checks=["true"])
    Consent(house.root).approve(["true"], "a person")
    house.spec("001", *DONE, checks=[f"true; touch {mark}"])
    run = house.done("001")
    assert (run.failure_class, mark.exists()) == ("approval", False)


def test_an_agent_cannot_change_its_own_check(house, mark):
    change = f"change_check touch {mark}"
    house.spec("001", "edit a.txt", change, "commit a.txt", "tick", checks=["true"])
    house.repo.commit("the spec")
    Consent(house.root).approve(["true"], "a person")
    assert house.done("001").phase == "finished"
    assert f"check: touch {mark}" in house.body("001")
    assert not mark.exists()
    clew(house, "spec", "update", "001", "--status", "pending")
    assert house.done("001").failure_class == "approval"  # nor does the next run start it
    assert not mark.exists()


def test_an_agent_at_work_is_no_person(house, mark):
    house.spec("001", *DONE, checks=[f"touch {mark}"])
    refused = clew(house, "trust", "--all", code=1, CLEW_RUN_ID="20260101T000000-00000000")
    assert "cannot approve" in refused.stderr
    clew(house, "work", "001", "--no-watch", code=1, CLEW_RUN_ID="20260101T000000-00000000")
    assert not mark.exists()


def test_the_watch_waits_with_a_merge_until_its_checks_are_approved(house, mark):
    house.spec("001", *DONE)
    house.done("001")
    house.configure(f"merge:\n  checks: ['touch {mark}']")
    watch = Watch(house.root, options=WatchOptions())
    watch.look()
    (entry,) = house.work.journal.merges()
    assert entry.status == "waiting"
    assert entry.note.startswith("Needs approval")
    assert not mark.exists()
    Consent(house.root).approve([f"touch {mark}"], "a person")
    watch.look()
    assert mark.exists()
    assert house.work.journal.latest_merge("001").status == "merged"
    assert f"check before the merge: touch {mark} (approved by a person" in house.log("001")


def test_a_worktree_stays_while_its_teardown_is_not_approved(house, mark):
    house.spec("001", *DONE)
    house.done("001")
    Merger(house.work, house.work.config()).merge(["001"])
    house.configure(f"worktree:\n  teardown: ['touch {mark}']")
    Watch(house.root, options=WatchOptions()).look()
    assert not mark.exists()
    clew(house, "cleanup", "001")
    assert mark.exists()


def test_approvals_are_private_listed_and_revocable(house, private_home, mark):
    house.spec("001", *DONE, checks=[f"touch {mark}"])
    clew(house, "trust", "--all")
    file = private_home / ".clew" / "approved-commands.json"
    assert file.stat().st_mode & 0o777 == 0o600
    short = command_hash(house.root, f"touch {mark}")[:12]
    assert short in clew(house, "trust").stdout
    clew(house, "trust", "--revoke", short)
    assert Consent(house.root).approvals() == []
    assert house.done("001").failure_class == "approval"
    assert not mark.exists()
    unknown = clew(house, "trust", "abcdef123456", code=1)
    assert "No command here has the hash" in unknown.stderr


def test_nothing_in_a_command_hides_a_part_of_it(house):
    tricky = "make test\r\x1b[2K\u202e\ntouch x"
    assert readable(tricky) == "make test\\x0d\\x1b[2K\\u202e\\ntouch x"
    assert str(NeedsApproval(house.root, [tricky])).count("\n") == 1


def test_an_approval_counts_in_its_own_project_only(house, tmp_path):
    Consent(tmp_path).approve(["make test"], "a person")
    assert Consent(house.root).to("make test") is None
    assert Consent(tmp_path).to("make test").by == "a person"
    assert Consent(tmp_path).to("make  test") is None
    assert Consent(tmp_path).to(("make test",)) is None


def test_only_the_users_own_settings_trust_every_command(house, private_home, mark):
    house.configure("work:\n  trust_checks: true")
    house.spec("001", *DONE, checks=[f"touch {mark}"])
    warned = [problem.cause for problem in house.work.config().warnings]
    assert any("`work.trust_checks` has no effect here" in cause for cause in warned)
    assert house.done("001").failure_class == "approval"
    trust_everything(private_home)
    assert house.done("001").phase == "finished"
    assert mark.exists()
    assert "approved by work.trust_checks" in house.log("001")


def test_the_person_at_the_client_is_asked_where_it_can_ask(house, mark):
    house.spec("001", *DONE, checks=["echo seen"])
    with StdioServer(SERVER, cwd=house.root) as server:

        def start(**answered):
            call = {"name": "chant_work_start", "arguments": {"id": "001"}, **answered}
            return server.result("tools/call", modern({"elicitation": {}}, **call))

        first = start()
        (key,) = first["inputRequests"]
        assert "echo seen" in first["inputRequests"][key]["params"]["message"]
        house.spec("001", *DONE, checks=[f"touch {mark}"])  # changed while the person reads
        accepted = {"inputResponses": {key: {"action": "accept", "content": {}}}}
        second = start(**accepted, requestState=first["requestState"])
        (key,) = second["inputRequests"]  # asked anew, for the new text
        assert f"touch {mark}" in second["inputRequests"][key]["params"]["message"]
        accepted = {"inputResponses": {key: {"action": "accept", "content": {}}}}
        third = start(**accepted, requestState=second["requestState"])
    assert "needs_approval" not in third["structuredContent"]
    assert house.settled("001").phase == "finished"
    assert mark.exists()


def test_lint_names_what_is_not_approved(house, mark):
    house.spec("001", *DONE, checks=[f"touch {mark}"])
    found = json.loads(clew(house, "spec", "lint", "001", "--json").stdout)["data"]["diagnostics"]
    (finding,) = [one for one in found if one["rule"] == "consent"]
    approve = finding["suggestion"].rpartition("`clew ")[2].rstrip("`").split()
    clew(house, *approve)
    found = json.loads(clew(house, "spec", "lint", "001", "--json").stdout)["data"]["diagnostics"]
    assert [one for one in found if one["rule"] == "consent"] == []
