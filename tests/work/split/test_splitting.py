"""Splitting specs: by an agent or by rules, as a whole or not at all, and back."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest

from clew.kit.call import Call
from clew.kit.errors import Cancelled, Conflict, Invalid, NotFound
from clew.protocol.kernel.tasks import TaskCall
from clew.specs.files.criteria import parse_criteria
from clew.work.split.split import undo_split
from clew.work.tools import split
from tests.specs.tools.project import Chant
from tests.support.waiting import wait_until
from tests.work.merging.making import run_python
from tests.work.split.conftest import SPEC

CRITERIA = [f"Thing {number} works" for number in range(1, 8)]
ANSWER = {
    "members": [
        {
            "title": "The reading half of it",
            "description": "Reads.",
            "acceptance_criteria": ["It reads"],
            "covers": [1, 2, 3],
            "target_files": ["read.py"],
            "depends_on": [],
        },
        {
            "title": "The writing half of it",
            "acceptance_criteria": ["It writes", "It logs"],
            "covers": [4, 5, 6, 7],
            "target_files": ["write.py"],
            "depends_on": [1],
        },
    ]
}
TEXT = """# Dependency Analysis

## Member 1: Read: the first half

Reads things.

### Acceptance Criteria

- [ ] Thing 1 works
- [ ] Thing 2 works

**Affected Files:**
- `read.py`

**Dependencies:** None

## Member 2: Write

Writes things.

### Acceptance Criteria

- [ ] Thing 3 works and is tested

### Requires

- Member 1: its reader

**Affected Files:**
- write.py
"""


def test_by_rules_members_have_all_that_is_theirs(desk):
    desk.spec([*CRITERIA[:-1], "Last\n  check: `make last`"], labels=["big"], depends_on=["other"])
    before = desk.store.load(SPEC)
    done = desk.split()
    assert (done.method, [m.spec_id for m in done.members]) == (
        "criteria", [f"{SPEC}.1", f"{SPEC}.2"],
    )  # fmt: skip
    store = desk.store
    parent = store.load(SPEC)
    assert (parent.type, parent.fields["members"]) == ("group", [f"{SPEC}.1", f"{SPEC}.2"])
    assert parent.fields["depends_on"] == ["other"]
    assert parent.body == before.body
    first, second = (store.load(f"{SPEC}.{n}") for n in (1, 2))
    assert (first.fields["depends_on"], second.fields["depends_on"]) == ([], [f"{SPEC}.1"])
    assert (first.type, first.status, first.words("labels")) == ("code", "pending", ("big",))
    assert "Some words before." in first.body
    assert "Some words after." in first.body
    texts = [item.text for spec in (first, second) for item in parse_criteria(spec.body).items]
    assert texts == [*CRITERIA[:-1], "Last"]
    assert parse_criteria(second.body).items[-1].check == "make last"
    assert store.problems() == []


def test_members_wait_for_what_their_group_waits_for(desk):
    desk.spec(CRITERIA, depends_on=["missing-spec"])
    desk.split()
    state = desk.store.graph().state(f"{SPEC}.1")
    assert [(b.id, b.reason) for b in state.blocked_by] == [("missing-spec", "missing")]


def test_a_dry_run_changes_nothing(desk):
    desk.spec(CRITERIA)
    before = desk.files()
    done = desk.split(dry_run=True)
    assert done.as_json()["message"] == f"Would split spec '{SPEC}' into 2 members"
    assert desk.files() == before


def test_recursively_until_all_are_small_or_deep_enough(desk):
    desk.spec([f"Thing {number} works" for number in range(1, 43)])
    flat = desk.split(dry_run=True)
    assert len(flat.members) == 6
    assert len([w for w in flat.warnings if "still large" in w]) == 6
    done = desk.split(recursive=True)
    store = desk.store
    assert store.load(f"{SPEC}.1").type == "group"
    assert store.load(f"{SPEC}.6.2").fields["depends_on"] == [f"{SPEC}.6.1"]
    assert done.warnings == ()
    leaves = [store.load(m.spec_id) for m in done.members if not m.member.members]
    assert max(spec.head.criteria_total for spec in leaves) <= 5
    texts = [item.text for spec in leaves for item in parse_criteria(spec.body).items]
    assert texts == [f"Thing {number} works" for number in range(1, 43)]
    assert store.graph().cycles() == []
    assert store.graph().ready() == [f"{SPEC}.1.1"]


def test_the_depth_is_bounded(desk):
    desk.spec([f"Thing {number} works" for number in range(1, 43)])
    assert len(desk.split(recursive=True, max_depth=1, dry_run=True).members) == 6
    with pytest.raises(Invalid, match="max_depth"):
        desk.split(max_depth=0)


def test_an_agent_divides_and_is_asked_in_an_empty_directory(desk):
    desk.spec(CRITERIA)
    desk.ask(f"Here it is:\n```json\n{json.dumps(ANSWER)}\n```\nDone.")
    done = desk.split()
    assert (done.method, done.warnings) == ("model", ())
    second = desk.store.load(f"{SPEC}.2")
    assert second.title == "The writing half of it"
    assert second.fields["depends_on"] == [f"{SPEC}.1"]
    assert second.head.target_files == ("write.py",)
    prompt = desk.prompt()
    assert "1. Thing 1 works" in prompt
    assert '"acceptance_criteria"' in prompt
    assert str(desk.root) not in (desk.answers / "cwd-1").read_text()


def test_an_answer_in_prose_is_understood(desk):
    desk.spec(CRITERIA[:3])
    desk.ask(TEXT)
    done = desk.split()
    assert done.method == "model"
    first, second = (m.member for m in done.members)
    assert (first.title, first.files, first.covers) == (
        "Read: the first half",
        ("read.py",),
        (1, 2),
    )
    assert (second.depends_on, second.covers, second.files) == ((1,), (3,), ("write.py",))


def test_an_answer_that_does_not_hold_is_asked_for_again(desk):
    desk.spec(CRITERIA)
    wrong = json.loads(json.dumps(ANSWER))
    wrong["members"][1]["covers"] = [4, 5]
    wrong["members"][0]["depends_on"] = [2]
    desk.ask(wrong, ANSWER)
    assert desk.split().method == "model"
    assert "No member covers criterion 6" in desk.prompt(2)
    assert "wait for each other" in desk.prompt(2)


@pytest.mark.parametrize("answer", ["I cannot do that.", '{"members": []}', '{"members": 3}', "[]"])
def test_answers_that_are_none_lead_to_the_rules(desk, answer):
    desk.spec(CRITERIA)
    desk.ask(answer, answer)
    done = desk.split()
    assert done.method == "criteria"
    assert "could not be used" in done.warnings[0]
    assert desk.store.load(SPEC).type == "group"


def test_an_agent_that_is_not_there_leads_to_the_rules(desk):
    desk.spec(CRITERIA)
    (desk.root / ".chant" / "config.md").write_text(
        "---\ndefaults:\n  provider: command\n  command: [no-such-program-at-all]\n---\n"
    )
    done = desk.split()
    assert done.method == "criteria"
    assert "Is it installed" in done.warnings[0]


def test_a_cancelled_question_ends_the_agent_and_changes_nothing(desk):
    desk.spec(CRITERIA)
    desk.ask()
    before, call = desk.files(), Call()

    def cancel():
        while not (desk.answers / "prompt-1.md").exists():
            time.sleep(0.02)
        call.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(Cancelled):
        desk.split(call=call)
    thread.join()
    assert desk.files() == before


def test_what_cannot_be_split_is_refused(desk):
    desk.spec(CRITERIA, status="in_progress")
    words = f"Spec '{SPEC}' must be in pending status to split. Current status: in_progress"
    with pytest.raises(Conflict, match=words):
        desk.split()
    desk.spec(CRITERIA)
    desk.split()
    with pytest.raises(Conflict, match="Spec is already split"):
        desk.split()


def test_undo_puts_everything_back(desk):
    desk.spec(CRITERIA)
    before = desk.files()
    desk.split()
    assert undo_split(desk.store, SPEC) == [f"{SPEC}.1", f"{SPEC}.2"]
    assert desk.files() == before
    with pytest.raises(NotFound, match="can be undone"):
        undo_split(desk.store, SPEC)


def test_undo_is_refused_once_somebody_worked(desk):
    desk.spec(CRITERIA)
    desk.split()
    path = desk.root / ".chant" / "specs" / f"{SPEC}.2.md"
    path.write_text(path.read_text() + "\nMore.\n")
    before = desk.files()
    with pytest.raises(Conflict, match=rf"Changed since the split: {SPEC}\.2"):
        undo_split(desk.store, SPEC)
    assert desk.files() == before


def test_a_member_in_the_way_stops_it_before_anything_is_written(desk):
    desk.spec(CRITERIA)
    other = desk.root / ".chant" / "archive" / "2026-01-22" / f"{SPEC}.2.md"
    other.parent.mkdir(parents=True)
    other.write_text("---\nstatus: completed\n---\n\n# Old\n")
    before = desk.files()
    with pytest.raises(Conflict):
        desk.split()
    assert desk.files() == before


KILLED = """
import os, sys
from pathlib import Path
from clew.specs.store.store import SpecStore
from clew.work.split.split import split_spec
from clew.work.workspace import Workspace

root, spec_id, step = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
count = 0
for name in ("create", "change"):
    def killing(store, *arguments, _deed=getattr(SpecStore, name), **settings):
        global count
        count += 1
        made = _deed(store, *arguments, **settings)
        if count == step:
            os.kill(os.getpid(), 9)
        return made
    setattr(SpecStore, name, killing)
split_spec(Workspace(root), spec_id)
"""


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_split_that_is_killed_is_taken_back_and_done_again(desk, step):
    desk.spec(CRITERIA)
    before = desk.files()
    assert run_python(KILLED, desk.root, SPEC, step, check=False).returncode == -9
    assert desk.files() != before
    with pytest.raises(NotFound):
        undo_split(desk.store, SPEC)
    assert desk.files() == before
    assert run_python(KILLED, desk.root, SPEC, step, check=False).returncode == -9
    from clew.work.split.split import take_back_unfinished

    take_back_unfinished(desk.store)
    desk.split()
    assert desk.store.load(SPEC).type == "group"


def test_the_tool_splits_and_tells(desk):
    desk.spec(CRITERIA)
    with Chant(desk.root) as chant:
        done = chant.json("chant_split", id="001", recursive=True)
        assert (done["spec_id"], done["mode"], done["method"]) == (SPEC, "split", "criteria")
        assert done["options"] == {"force": False, "recursive": True, "max_depth": 3}
        assert [member["id"] for member in done["members"]] == [f"{SPEC}.1", f"{SPEC}.2"]
        assert chant.error("chant_split", id=SPEC).startswith("Spec is already split")
        assert chant.error("chant_split", id="nope").startswith("Spec not found: nope")


def split_process(chant, status):
    """The record of the split once it has this status."""

    def look():
        listed = chant.json("chant_work_list", process_id="split-", include_completed=True)
        return next((one for one in listed["processes"] if one["status"] == status), None)

    return wait_until(look)


def test_the_tool_answers_at_once_where_an_agent_is_asked(desk):
    desk.spec(CRITERIA)
    desk.ask()  # the agent waits for its answer
    with Chant(desk.root) as chant:
        begun = chant.json("chant_split", id="001", max_depth=2)
        assert set(begun) == {"process_id", "spec_id", "pid", "started_at", "mode", "options"}
        assert begun["process_id"] == f"split-{SPEC}-{begun['pid']}"
        assert begun["options"] == {"force": False, "recursive": False, "max_depth": 2}
        assert split_process(chant, "running")["pid"] == begun["pid"]
        assert "is being split already" in chant.error("chant_split", id="001")
        desk.ask("nonsense", ANSWER)
        done = split_process(chant, "completed")
        assert done["members"] == [f"{SPEC}.1", f"{SPEC}.2"]
        assert (done["method"], done["message"]) == (
            "model",
            f"Split spec '{SPEC}' into 2 members",
        )
    assert desk.store.load(SPEC).type == "group"


def test_a_task_waits_for_the_agent(desk):
    desk.spec(CRITERIA)
    desk.ask(ANSWER)
    call = TaskCall({"project": str(desk.root)}, {}, lambda _text: None)
    done = split({"id": SPEC}, call).structured()
    assert (done["method"], len(done["members"])) == ("model", 2)


def test_a_split_that_was_killed_has_failed_and_can_be_begun_again(desk):
    desk.spec(CRITERIA)
    desk.ask()
    with Chant(desk.root) as chant:
        begun = chant.json("chant_split", id="001")
        os.kill(begun["pid"], signal.SIGKILL)
        assert split_process(chant, "failed")["failure"] == "The split ended without a result"
        desk.ask("nonsense", "nonsense", "nonsense", "nonsense")
        again = chant.json("chant_split", id="001")
        assert again["pid"] != begun["pid"]
        assert split_process(chant, "completed")["method"] == "criteria"
    assert len(list((desk.root / ".chant" / "processes").glob("split-*.json"))) == 1
