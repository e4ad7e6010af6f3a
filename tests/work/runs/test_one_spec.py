"""One spec from its start to its end, by a real agent in a real worktree."""

from __future__ import annotations

import os

import pytest

from clew.kit.errors import Conflict, Invalid, NotFound, Unavailable
from clew.specs.change.approval import approve, reject
from clew.work.agents.options import WorkOptions
from clew.work.merging.preconditions import check_mergeable
from clew.work.workspace import Wiring, Workspace
from tests.support.waiting import wait_until


def test_an_agent_that_edits_commits_and_ticks_its_boxes_completes_its_spec(house):
    house.spec("001", "edit made.txt", "commit made.txt", "tick", "say All done")
    begun = house.begin("001")
    assert set(begun.record) == {"process_id", "spec_id", "pid", "started_at", "mode"}
    assert begun.record["process_id"] == f"001-{begun.record['pid']}"
    assert begun.record["mode"] == "single"
    run = house.settled("001")
    assert (run.phase, run.failure) == ("finished", None)
    spec = house.store.load("001")
    assert spec.status == "completed"
    assert spec.text("branch") == "chant/001"
    assert len(spec.words("commits")) == 1
    assert "evidence: seen by the agent" in spec.body
    assert "## Agent Output" in spec.body
    assert "All done" in spec.body
    assert house.repo.text("log", "-1", "--format=%s", "chant/001") == "chant(001): make made.txt"
    assert house.repo.text("status", "--porcelain", "--untracked-files=no") == ""


def test_what_an_agent_did_waits_for_approval_where_that_is_wanted(house):
    house.configure("approval:\n  require_approval_for_agent_work: true")
    house.spec("001", "edit made.txt", "commit made.txt", "tick")
    house.settled(house.begin("001").record["spec_id"])
    head = house.store.load("001").head
    assert (head.status, head.approval_required) == ("completed", True)
    assert head.approval_status == "pending"
    with pytest.raises(Conflict, match="is not approved"):
        check(house, "001")
    reject(house.store, "001", by="Ann", reason="Too slow", actor="t")
    with pytest.raises(Conflict, match="is not approved"):
        check(house, "001")
    approve(house.store, "001", by="Ann", actor="t")
    check(house, "001")


def check(house, spec_id):
    """Whether the merge queue would take a spec's branch."""
    check_mergeable(house.work, house.work.config(), house.store.load(spec_id))


def test_an_agent_that_does_nothing_has_not_succeeded(house):
    house.spec("001", "say I am done")
    run = house.done("001")
    assert (run.phase, run.failure_class) == ("failed", "no_work")
    assert house.status("001") == "failed"
    assert "made no commits" in run.failure


def test_an_agent_may_do_nothing_where_that_is_allowed(house):
    house.spec("001", "tick")
    run = house.done("001", options=WorkOptions(allow_no_commits=True))
    assert (run.phase, house.status("001")) == ("finished", "completed")


def test_commits_of_bookkeeping_alone_are_no_work(house):
    house.spec("001", "edit .chant/notes.md", "commit .chant/notes.md", "tick")
    run = house.done("001")
    assert run.failure_class == "no_work"


def test_open_boxes_need_attention_and_are_never_ticked_for_the_agent(house):
    steps = ("edit a.txt", "commit a.txt", "tick 1")
    house.spec("001", *steps, criteria=("First", "Second", "Third"))
    run = house.done("001")
    assert (run.phase, run.failure_class) == ("failed", "criteria")
    assert house.status("001") == "needs_attention"
    assert "2 of 3 acceptance criteria are not checked:\n- Second\n- Third" in run.failure
    assert "- [ ] Second" in house.body("001")


def test_an_agent_that_calls_itself_done_is_not_believed(house):
    house.spec("001", "edit a.txt", "commit a.txt", "claim_done")
    run = house.done("001")
    assert run.failure_class == "criteria"
    assert house.status("001") == "needs_attention"


def test_an_agent_cannot_take_its_criteria_away(house):
    house.spec("001", "edit a.txt", "commit a.txt", "drop_criteria")
    run = house.done("001")
    assert "Criteria were changed during the run: It works" in run.failure
    assert house.status("001") == "needs_attention"


def test_uncommitted_changes_need_attention_and_are_kept(house):
    house.spec("001", "edit a.txt", "commit a.txt", "edit b.txt", "tick")
    run = house.done("001")
    assert run.failure_class == "uncommitted"
    assert "b.txt" in run.failure
    assert house.status("001") == "needs_attention"
    assert house.repo.text("show", f"{run.snapshot}:b.txt") == "made by an agent"


def test_checks_are_run_by_us_and_their_results_are_kept(house):
    house.spec(
        "001",
        "edit a.txt",
        "commit a.txt",
        "tick",
        criteria=("The file is there", "It says so"),
        checks=("test -f a.txt", "grep -q made a.txt && touch by-the-check"),
    )
    run = house.done("001")
    assert (run.phase, run.failure) == ("finished", None)
    assert house.status("001") == "completed"
    assert f"evidence: passed: test -f a.txt (run {run.run_id})" in house.body("001")
    assert "check of criterion 2 passed" in house.log("001")


def test_a_check_that_fails_keeps_the_spec_from_being_completed(house):
    house.spec(
        "001",
        "edit a.txt",
        "commit a.txt",
        "tick",
        criteria=("One", "Two"),
        checks=("echo two problems; exit 3", "test -f a.txt"),
    )
    run = house.done("001")
    assert run.failure_class == "checks"
    assert "echo two problems; exit 3\ntwo problems" in run.failure
    assert house.status("001") == "needs_attention"
    assert "evidence: passed: test -f a.txt" in house.body("001")


def test_a_check_that_hangs_is_ended(house):
    house.configure("work:\n  check_seconds: 1")
    house.spec("001", "edit a.txt", "commit a.txt", "tick", checks=("sleep 600",))
    run = house.done("001")
    assert "Stopped after 1 s" in run.failure


def test_boxes_ticked_in_the_worktree_count_as_the_agents_word(house):
    house.spec("001", "edit a.txt", "tick_copy", "commit a.txt")
    house.repo.commit("the specs are in git")
    run = house.done("001")
    assert (run.phase, house.status("001")) == ("finished", "completed")
    assert "- [x] It works" in house.body("001")


def test_boxes_named_in_the_summary_count_as_the_agents_word(house):
    steps = ("edit a.txt", "commit a.txt", "say Criteria met: 1, 2", "say - **Criteria met**: 2, 9")
    house.spec("001", *steps, criteria=("One", "Two"))
    run = house.done("001")
    assert (run.failure_class, house.status("001")) == ("criteria", "needs_attention")
    assert "- [ ] One" in house.body("001")
    assert "- [x] Two" in house.body("001")


def test_a_check_ticks_its_criterion_for_an_agent_without_tools(house, tmp_path, monkeypatch):
    script = tmp_path / "bin" / "aider"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\necho x > a.txt && git add a.txt && git commit -qm x && touch .aider.history\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    house.spec("001", criteria=("It works", "It is fine"), checks=("test -f a.txt",))
    house.begin("001", options=WorkOptions(agent="aider"))
    run = house.settled("001")
    assert "1 of 2 acceptance criteria are not checked:\n- It is fine" in run.failure
    assert "- [x] It works" in house.body("001")


def test_output_is_held_against_a_schema_where_that_is_strict(house):
    house.configure("validation:\n  strict_output_validation: true")
    house.repo.write("out.json", '{"type": "object", "required": ["answer"]}')
    wanted = "output_schema: out.json"
    house.spec("001", "edit a.txt", "commit a.txt", "tick", 'say {"no":1}', fields=wanted)
    house.spec("002", "edit b.txt", "commit b.txt", "tick", 'say {"answer":1}', fields=wanted)
    assert house.done("001").failure_class == "output"
    assert house.done("002").phase == "finished"


def test_an_agent_that_fails_has_its_reason_told(house):
    house.spec("001", "complain the service is on fire", "leave 4")
    run = house.done("001")
    assert (run.failure_class, run.exit_code) == ("agent", 4)
    assert "the service is on fire" in run.failure
    assert house.status("001") == "failed"


def test_an_agent_that_floods_its_errors_still_ends(house):
    house.spec("001", "flood", "edit a.txt", "commit a.txt", "tick")
    assert house.done("001").phase == "finished"


def test_an_agent_that_hangs_is_stopped_at_its_limit(house):
    house.configure("work:\n  idle_minutes: 0.02")
    house.spec("001", "edit a.txt", "hang")
    run = house.done("001")
    assert run.failure_class == "idle"
    assert house.repo.text("show", f"{run.snapshot}:a.txt") == "made by an agent"


def test_the_prompt_has_the_spec_and_tells_of_the_attempt_before(house):
    house.spec("001", "keep_prompt run-prompt", "complain rubber duck missing", "leave 1")
    house.done("001")
    first = (house.root / "run-prompt").read_text(encoding="utf-8")
    assert "You are the worker for spec 001 of house" in first
    assert "Some words about it." in first
    assert "attempt before" not in first
    house.done("001")
    second = (house.root / "run-prompt").read_text(encoding="utf-8")
    assert "## The attempt before this one" in second
    assert "rubber duck missing" in second


def test_a_brief_and_extensions_go_into_the_prompt(house):
    from clew.work.runs.prepare import start_work

    house.configure("  prompt_extensions: [tone]")
    house.repo.write(".chant/prompts/extensions/tone.md", "Speak softly.\n")
    house.spec("001", "keep_prompt run-prompt", "leave 1")
    wiring = Wiring(brief=lambda root, spec_id: f"Background of {spec_id} in {root.name}")
    with Workspace(house.root, wiring) as work:
        start_work(work, "001")
    house.settled("001")
    text = (house.root / "run-prompt").read_text(encoding="utf-8")
    assert "## Brief\n\nBackground of 001 in house" in text
    assert "## tone\n\nSpeak softly." in text


WRONG = [
    ("status: completed", Conflict, "Spec '001' is completed"),
    ("status: cancelled", Conflict, "Spec '001' is cancelled"),
    ("status: in_progress", Conflict, "Clew has no run for it"),
    ("depends_on: [002]", Conflict, "blocked by dependencies: 002"),
    ("approval:\n  required: true\n  status: pending", Conflict, "has to be approved first"),
    ("type: group", Invalid, "Cannot execute an empty driver"),
    ("prompt: nobody-wrote-it", NotFound, "Prompt not found: nobody-wrote-it"),
    ("provider: abacus", NotFound, "Unknown agent: abacus"),
    ("provider: codex", Unavailable, "Failed to invoke agent 'codex'"),
]


@pytest.mark.parametrize(("fields", "error", "said"), WRONG)
def test_whatever_is_wrong_is_told_before_anything_changes(house, monkeypatch, fields, error, said):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    house.spec("002")
    path = house.root / ".chant" / "specs" / "001.md"
    house.spec("001", "edit a.txt", fields=fields)
    before = path.read_bytes()
    with pytest.raises(error, match=said):
        house.begin("001")
    assert path.read_bytes() == before
    assert not house.paths.journal.exists()
    assert house.repo.text("branch", "--list", "chant/*") == ""


def test_an_unknown_agent_in_the_settings_is_told_and_nobody_else_is_started(house):
    house.spec("001", "edit a.txt")
    text = house.paths.config.read_text(encoding="utf-8")
    house.paths.config.write_text(text.replace("provider: command", "provider: qwenn"), "utf-8")
    with pytest.raises(NotFound) as raised:
        house.begin("001")
    assert "`defaults.provider` in .chant/config.md" in raised.value.message
    assert "Did you mean qwen? Agents: claude, codex" in raised.value.full_text()
    assert not house.paths.journal.exists()


def test_lint_errors_are_told_unless_they_are_to_be_skipped(house):
    house.spec("001", "edit a.txt", "commit a.txt", "tick", fields="depends_on: []")
    path = house.root / ".chant" / "specs" / "001.md"
    path.write_text(path.read_text("utf-8").replace("# Build 001\n", "\n"), "utf-8")
    with pytest.raises(Invalid, match="Spec validation failed with 1 error"):
        house.begin("001")
    house.begin("001", options=WorkOptions(skip_criteria=True))
    assert house.settled("001").phase == "finished"


def test_a_spec_without_criteria_is_worked_on_only_where_that_is_allowed(house):
    house.spec("001", "edit junk.txt", "commit junk.txt", criteria=())
    house.spec("002", "edit a.txt", "commit a.txt", criteria=())
    with pytest.raises(Invalid, match="has no acceptance criteria") as refused:
        house.begin("001")
    assert "chant criterion add 001" in refused.value.hint
    assert house.status("001") == "pending"
    run = house.done("001", options=WorkOptions(allow_no_criteria=True))
    assert (run.phase, house.status("001")) == ("finished", "completed")
    assert "done, but nothing was checked" in house.log("001")
    house.configure("work:\n  allow_no_criteria: true")
    assert house.done("002").phase == "finished"


def test_a_chain_passes_over_what_has_no_criteria(house):
    house.spec("001", "edit junk.txt", "commit junk.txt", criteria=())
    house.spec("002", "edit a.txt", "commit a.txt", "tick")
    begun = house.begin(chain=True)
    assert house.ended(begun.schedule_id).note == "1 completed, 1 left"
    assert (house.status("001"), house.status("002")) == ("pending", "completed")
    with pytest.raises(Invalid, match="has no acceptance criteria"):
        house.begin("001", chain=True)


def test_a_directory_without_a_repository_is_told(tmp_path):
    from clew.work.scheduling.start import Mode, begin_work

    (tmp_path / ".chant" / "specs").mkdir(parents=True)
    (tmp_path / ".chant" / "specs" / "001.md").write_text("---\ntype: code\n---\n# One\n", "utf-8")
    options = WorkOptions(agent="claude", skip_criteria=True)
    with Workspace(tmp_path) as work, pytest.raises(Invalid, match="Not a git repository"):
        begin_work(work, ("001",), Mode(), options)
    assert not (tmp_path / ".chant" / ".store" / "runs.sqlite3").exists()


def test_a_setup_that_fails_is_told_in_its_own_words_and_the_spec_says_so(house):
    house.configure("worktree:\n  setup: ['echo no such library >&2; exit 7']")
    house.spec("001", "edit a.txt")
    with pytest.raises(Unavailable, match="The setup command failed"):
        house.begin("001")
    assert house.status("001") == "failed"
    assert house.settled("001").failure_class == "setup"


def test_a_failed_member_fails_its_driver_until_it_is_tried_again(house):
    house.spec("d", criteria=(), fields="type: group")
    steps = ("once run-first leave 1", "edit a.txt", "commit a.txt", "tick")
    house.spec("d.1", *steps)
    house.done("d.1")
    assert (house.status("d.1"), house.status("d")) == ("failed", "failed")
    house.begin("d.1")
    assert house.status("d") == "in_progress"
    house.settled("d.1")
    wait_until(lambda: house.status("d") == "completed")


def test_an_agent_that_says_no_and_does_nothing_has_refused(house):
    house.spec("001", "say I'm sorry, but I can't help with that request.")
    run = house.done("001")
    assert (run.failure_class, house.status("001")) == ("refusal", "failed")
    assert "can't help with that request." in run.failure
    house.spec("002", "edit a.txt", "commit a.txt", "tick", "say I can't help with that part.")
    assert house.done("002").phase == "finished"


def test_what_was_used_is_recorded_and_a_limit_that_cannot_hold_is_told(house):
    house.configure("work:\n  cost_usd: 100")
    house.spec("001", "edit a.txt", "commit a.txt", "tick", "stream_usage")
    run = house.done("001")
    assert (run.input_tokens, run.output_tokens, run.cost_usd) == (1200, 30, None)
    assert "the limit of $100.00 cannot stop command: it tells nothing" in house.log("001")


def test_a_price_table_in_the_settings_gives_the_cost_of_tokens(house):
    house.configure("work:\n  prices:\n    m-1.5: {input: 10, output: 100}\n    other: {input: 1}")
    house.spec("001", "edit a.txt", "commit a.txt", "tick", "stream_usage")
    assert house.done("001").cost_usd == pytest.approx(0.015)
