"""Agents that leave their worktree: told loudly, and put right by the command that is offered."""

from __future__ import annotations

import os
import re
import subprocess


def move_command(run):
    """The command that the run's failure offers."""
    return re.search(r"^  (git -C .+)$", run.failure, re.MULTILINE).group(1)


def follow(run, **variables):
    """Do what is said: move the commits."""
    words, env = ["/bin/sh", "-ec", move_command(run)], {**os.environ, **variables}
    subprocess.run(words, env=env, check=True, capture_output=True)


def test_commits_to_main_are_named_and_the_offered_command_moves_them(house):
    house.spec("001", "stray a.txt", "stray b.txt", "tick")
    house.repo.commit("the specs are in git")
    before = house.repo.text("rev-parse", "main")
    house.repo.write("README.md", "somebody is writing here\n")
    run = house.done("001")
    assert (run.failure_class, house.status("001")) == ("strayed", "needs_attention")
    assert "committed to 'main'" in run.failure
    assert "chant(001): make a.txt" in run.failure
    assert "WARNING: The agent left its worktree" in house.log("001")
    assert house.repo.text("rev-parse", "main") != before
    follow(run)
    assert house.repo.text("rev-parse", "main") == before
    assert (house.root / "README.md").read_text(encoding="utf-8") == "somebody is writing here\n"
    subjects = house.repo.text("log", "--format=%s", "main..chant/001").splitlines()
    assert subjects == ["chant(001): make b.txt", "chant(001): make a.txt"]
    from clew.work.runs.stop import release_finished, take_over

    take_over(house.work, "001", force=True)
    release_finished(house.work, "001")
    assert house.settled("001").phase == "finished"


def test_other_peoples_commits_stay_where_they_are(house):
    house.spec("001", "stray a.txt", "commit_as_a_person", "tick")
    house.repo.commit("the specs are in git")
    run = house.done("001")
    assert "theirs.txt" not in run.failure
    (stray,) = house.repo.text("log", "--format=%ct", "--grep=make a.txt", "main").split()
    follow(run, GIT_COMMITTER_DATE=f"@{stray} +0000")  # in the very second of the commit
    assert (house.root / "theirs.txt").exists()
    assert not (house.root / "a.txt").exists()
    assert house.repo.text("log", "--format=%s", "main..chant/001") == "chant(001): make a.txt"


def test_a_commit_that_names_no_spec_is_mentioned_and_nobody_is_accused(house):
    house.spec("001", "edit a.txt", "commit a.txt", "commit_as_a_person", "tick")
    assert house.done("001").phase == "finished"
    log = house.log("001")
    assert "NOTE: While the agent worked, somebody committed to 'main', naming no spec:" in log
    assert "Change something else (by " in log
    assert "If that was you, all is well." in log
    assert "left its worktree" not in log


def test_the_command_that_goes_with_the_mention_moves_the_commit(house):
    house.spec("001", "commit_as_a_person", "tick")
    house.repo.commit("the specs are in git")
    before = house.repo.text("rev-parse", "main")
    run = house.done("001")
    assert run.failure_class == "no_work"
    assert "made no commits\nWhile the agent worked, somebody committed" in run.failure
    follow(run)
    assert house.repo.text("rev-parse", "main") == before
    assert house.repo.text("log", "--format=%s", "main..chant/001") == "Change something else"


def test_a_commit_that_git_named_to_the_agent_is_the_agents(house):
    house.spec("001", "stray_aloud", "tick")
    run = house.done("001")
    assert (run.failure_class, house.status("001")) == ("strayed", "needs_attention")
    assert "Change something else" in run.failure


def test_what_is_brought_from_elsewhere_meanwhile_is_not_mentioned(house):
    house.repo.git("checkout", "-q", "-b", "other")
    house.repo.commit("work of another branch", {"other.txt": "made before\n"})
    house.repo.git("checkout", "-q", "main")
    house.spec("001", "edit a.txt", "commit a.txt", "pull other", "tick")
    assert house.done("001").phase == "finished"
    assert (house.root / "other.txt").exists()
    assert "NOTE:" not in house.log("001")


def test_strays_of_a_run_whose_supervisor_was_killed_are_told_too(house):
    house.spec("001", "stray a.txt", "end_parent", "hang")
    house.repo.commit("the specs are in git")
    house.begin("001")
    run = house.reconciled("001")
    assert run.failure_class == "supervisor"
    assert "The agent left its worktree and committed to 'main':" in run.failure


def test_a_checkout_without_a_branch_is_watched_too(house):
    house.spec("001", "stray a.txt", "tick")
    house.repo.commit("the specs are in git")
    house.repo.git("checkout", "-q", "--detach")
    before = house.repo.text("rev-parse", "HEAD")
    run = house.done("001")
    assert "committed to the user's checkout" in run.failure
    follow(run)
    assert house.repo.text("rev-parse", "HEAD") == before
    assert house.repo.text("log", "--format=%s", "main..chant/001") == "chant(001): make a.txt"
