"""Every refusal says what to do, and doing that works: on the command line and for tool clients."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys

import pytest

from clew.catalog.faces import FACES
from clew.catalog.hints import in_tools
from clew.catalog.wording import commands_of
from clew.kit.call import Call
from clew.kit.errors import ClewError
from clew.program import build_service
from clew.work.model import Phase
from clew.work.processes.identity import is_alive
from clew.work.runs.stop import take_over
from clew.work.scheduling.watch import is_watched
from tests.support.waiting import wait_until
from tests.work.conftest import kill

WORKS = ("edit {id}.txt", "commit {id}.txt", "tick")


def make(house, spec_id="001", *steps, **settings):
    """A spec whose agent does it, or what is given."""
    return house.spec(spec_id, *(steps or [s.format(id=spec_id) for s in WORKS]), **settings)


def put(house, status):
    make(house, fields=f"status: {status}")


def archived(house):
    put(house, "completed")
    house.store.archive("001", actor="test")


def blocked(house):
    make(house, "002")
    make(house, fields="depends_on: ['002']")


def needs_approval(house):
    make(house, fields="approval:\n  required: true\n  status: pending")


def has_no_title(house):
    make(house)
    path = house.root / ".chant" / "specs" / "001.md"
    path.write_text(path.read_text("utf-8").replace("# Build 001\n", "\n"), "utf-8")


def running(house):
    make(house, "001", "mark run-001", "once run-once hang", "edit a.txt", "commit a.txt", "tick")
    house.begin("001")
    wait_until((house.root / "run-001").exists)


def held(house):
    running(house)
    take_over(house.work, "001")


def failed(house):
    make(house, "001", "once run-once leave 1", "edit a.txt", "commit a.txt", "tick")
    house.done("001")


def killed(house):
    """The supervisor is killed, and nobody has looked since."""
    running(house)
    owner = house.latest("001").owner
    kill(owner)
    wait_until(lambda: not is_alive(owner))


def released_in_vain(house):
    """Somebody took it over and handed it back as done, which it was not."""
    from clew.work.runs.stop import release_finished

    held(house)
    release_finished(house.work, "001")
    house.settled("001")


def scheduled(house):
    make(house, "002", "mark run-002", "once run-once hang", "edit b.txt", "commit b.txt", "tick")
    make(house)
    house.begin("002", chain=True)
    wait_until((house.root / "run-002").exists)


def unmerged(house):
    house.configure("watch:\n  merge: false")
    make(house, "002")
    make(house, fields="depends_on: ['002']")
    house.done("002")


def has_no_criteria(house):
    make(house, criteria=())


def done_unmerged(house):
    house.configure("watch:\n  merge: false")
    make(house)
    house.done("001")


# What is so, what is asked for, what is said about it; the commands that are then named are run.
REFUSALS = [
    (lambda house: put(house, "completed"), "work 001", "Spec '001' is completed"),
    (lambda house: put(house, "cancelled"), "work 001", "Spec '001' is cancelled"),
    (archived, "work 001", "Spec '001' is archived"),
    (lambda house: put(house, "in_progress"), "work 001", "Clew has no run for it"),
    (blocked, "work 001", "blocked by dependencies: 002"),
    (needs_approval, "work 001", "has to be approved first"),
    (has_no_title, "work 001", "Spec validation failed"),
    (running, "work 001", "is already being worked"),
    (held, "work 001", "has been taken over"),
    (failed, "takeover 001", "Spec not currently being worked"),
    (make, "takeover 001", "Spec not currently being worked"),
    (failed, "release 001", "has not been taken over"),
    (running, "release 001", "has not been taken over"),
    (make, "release 001", "has not been taken over"),
    (make, "release 001 --finish", "has not been taken over"),
    (make, "resume 001", "No agent has worked on spec"),
    (lambda house: put(house, "cancelled"), "archive 001", "must be completed to archive"),
    (make, "archive 001", "must be completed to archive"),
    (lambda house: put(house, "needs_attention"), "archive 001", "must be completed to archive"),
    (scheduled, "work 001 --chain", "Another work process is already running"),
    (unmerged, "work 001", "whose work is not in main yet"),
    (has_no_criteria, "work 001", "has no acceptance criteria"),
    (done_unmerged, "archive 001", "has not been merged to main"),
]
# The same of commands that succeed and tell what comes next.
ADVICE = [
    (killed, "diagnose 001", "its supervisor was killed"),
    (failed, "show 001", "The agent exited with status 1"),
    (held, "takeover 001", "Then hand it back"),
    (released_in_vain, "takeover 001", "Then hand it back"),
    (make, "list --label nobody", "No spec matches"),
    (archived, "list", "1 archived"),
    (lambda house: None, "list", "No specs"),
]


def run_command(house, words, capsys, monkeypatch):
    """The exit code and all that is said, of a command under `chant`."""
    from clew.cli.core.app import run
    from clew.cli.faces import build_group

    monkeypatch.chdir(house.root)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    if words[0] in ("work", "resume", "release") and "--no-watch" not in words:
        words = [*words, *([] if words[0] == "release" else ["--no-watch"]), "--detach"]
    code = run(build_group("chant"), "chant", list(words))
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def commands_in(text):
    """The commands that a text names, each as its words."""
    return [shlex.split(found) for found in re.findall(r"`chant ([^`]+)`", text)]


@pytest.mark.parametrize(("so", "asked", "said"), REFUSALS + ADVICE)
def test_what_a_command_proposes_works(house, capsys, monkeypatch, so, asked, said):
    so(house)
    code, text = run_command(house, shlex.split(asked), capsys, monkeypatch)
    assert said in text
    assert (code != 0) is ((so, asked, said) in REFUSALS), text
    assert "`clew " not in text
    assert "None" not in text
    proposed = commands_in(text)
    assert proposed, text
    code, text = run_command(house, proposed[0], capsys, monkeypatch)
    assert code == 0, (proposed[0], text)


def call(house, name, **arguments):
    """What a tool answers."""
    service = build_service(FACES["chant"], {"project": str(house.root), "extended": "true"})
    made = Call(settings={"project": str(house.root)})
    return service.call_tool(name, service.check_call(name, arguments, made), made)


TOOL_REFUSALS = [
    (lambda house: put(house, "completed"), "chant_work_start", "Spec '001' is completed"),
    (lambda house: put(house, "in_progress"), "chant_work_start", "Clew has no run for it"),
    (blocked, "chant_work_start", "blocked by dependencies: 002"),
    (running, "chant_work_start", "is already being worked"),
    (held, "chant_work_start", "has been taken over"),
    (failed, "chant_release", "has not been taken over"),
    (lambda house: put(house, "cancelled"), "chant_archive", "must be completed to archive"),
    (has_no_criteria, "chant_work_start", "has no acceptance criteria"),
    (done_unmerged, "chant_archive", "has not been merged to main"),
]


@pytest.mark.parametrize(("so", "name", "said"), TOOL_REFUSALS)
def test_what_a_tool_proposes_is_a_tool_and_works(house, so, name, said):
    so(house)
    with pytest.raises(ClewError, match=re.escape(said)) as refused:
        call(house, name, id="001")
    (proposed, arguments), *_ = re.findall(r"`(chant_\w+) ?([^`]*)`", refused.value.hint)
    call(house, proposed, **json.loads(arguments or "{}"))


def test_what_is_ready_can_be_started_and_is_watched(house):
    """What it builds on is done but not merged: that comes first."""
    make(house, "002")
    make(house, fields="depends_on: ['002']")
    house.done("002")
    ready = [spec["id"] for spec in call(house, "chant_ready").data["specs"]]
    assert ready == ["001"]
    call(house, "chant_work_start", id="001")
    assert is_watched(house.paths)
    assert house.settled("001").phase is Phase.FINISHED
    wait_until(lambda: house.status("001") == "completed")
    assert "002.txt" in house.repo.text("ls-tree", "--name-only", "main")


def test_why_a_spec_waits_is_told_by_tools_in_tools(house):
    failed(house)
    for name in ("chant_spec_get", "chant_diagnose"):
        reason = call(house, name, id="001").data["reason"]
        assert "The agent exited with status 1" in reason["why"]
        assert "branch chant/001, worktree " in reason["kept"]
        assert reason["next_step"] == 'Let the agent go on: `chant_work_start {"id":"001"}`.'


def test_what_happened_has_the_takeover_and_the_release(house):
    from clew.specs.query.activity import audit_events
    from clew.work.runs.stop import release

    held(house)
    assert house.status("001") == "in_progress"
    release(house.work, "001")
    assert house.status("001") == "in_progress"
    happened = [event.action for event in audit_events(house.store, "001")]
    assert happened[-2:] == ["TAKEN OVER", "RELEASED"]
    reason = call(house, "chant_spec_get", id="001").data["reason"]
    assert reason["why"] == "The work is paused"


def test_commands_become_those_of_the_face_and_tools_where_there_are_some():
    text = "Try `chant reset 001`, `clew pause 001` or `clew doctor`."
    assert (
        commands_of("chant", text) == "Try `chant reset 001`, `chant pause 001` or `clew doctor`."
    )
    assert (
        commands_of("clew", text) == "Try `clew spec reset 001`, `clew pause 001` or `clew doctor`."
    )
    assert (
        in_tools("`chant release 1 --finish`", "chant")
        == '`chant_release {"id":"1","then":"finish"}`'
    )
    assert in_tools("`chant runs 001`", "chant") == '`chant_work_list {"include_completed":true}`'
    assert in_tools("`chant approve 001`.", "chant") == "`chant approve 001` on the command line."
    assert (
        in_tools("`chant pause 1`", "chant", {"chant_log"}) == "`chant pause 1` on the command line"
    )


def test_every_tool_that_a_hint_may_name_exists_and_takes_what_it_gets():
    from clew.catalog import hints
    from clew.program import all_tools

    tools = {tool.name: tool for tool in all_tools()}
    for name, first, fixed in hints._TOOLS.values():
        assert set(fixed) | ({first} if first else set()) <= set(
            tools[name].input_schema["properties"]
        )
