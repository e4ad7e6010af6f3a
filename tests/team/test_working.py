"""A fleet that works: agents in clones of their own, branches on the remote, one merge each."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from clew.history.model import Repo
from clew.team.history.store import PostgresHistory
from clew.team.working.orders import Orders
from clew.work.processes import environment
from tests.support.repos import Repository, trust_everything
from tests.support.waiting import wait_until

AGENT = """
import os, pathlib, subprocess, sys, time
sys.stdin.read()
spec = os.environ["CHANT_SPEC_ID"]
print("working on", spec, flush=True)
file = pathlib.Path(f"made-{spec}.txt")
earlier = file.read_text() if file.exists() else ""
file.write_text(earlier + "made\\n")
def commit(what):
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "commit", "-q", "-m", f"chant({spec}): {what}"], check=True)
commit("make it")
gate = pathlib.Path(os.environ["CLEW_TEST_GATE"])
if spec.startswith("slow") and not earlier:
    while not gate.exists():
        time.sleep(0.05)
box = pathlib.Path(f".chant/specs/{spec}.md")
box.write_text(box.read_text().replace("- [ ]", "- [x]"))
commit("tick")
"""
CONFIG = """---
project:
  name: house
defaults:
  provider: command
  command: [{python!r}, {agent!r}]
---
"""
NAMED = """worktree:
  setup: ['echo "setup $CLEW_DATABASE" >> {mark}']
merge:
  checks: ['echo "check $CLEW_DATABASE" >> {mark}; test ! -e {mark}.bad']
"""
SPEC = """---
type: code
status: pending
---
# Make {0}

## Acceptance Criteria

- [ ] It works
"""


@pytest.fixture
def fleet(tmp_path, team_database, private_home, monkeypatch):
    trust_everything(private_home)
    yield from a_fleet(tmp_path, team_database, monkeypatch)


@pytest.fixture
def wary(tmp_path, team_database, monkeypatch):
    """A fleet whose machines trust nothing, and a project that names commands."""
    monkeypatch.setenv("CLEW_DATABASE", team_database)
    yield from a_fleet(tmp_path, team_database, monkeypatch, mark=tmp_path / "ran")


def a_fleet(place, address, monkeypatch, mark=None):
    made = Fleet(place, address, mark)
    monkeypatch.setenv("CLEW_TEST_GATE", str(made.gate))
    yield made
    made.gate.touch()
    made.close()


class Fleet:
    """A project on a remote, a database, and workers."""

    def __init__(self, place, address, mark=None):
        self.place, self.address, self.gate = place, address, place / "gate"
        (place / "agent.py").write_text(AGENT)
        source = Repository(place / "house")
        config = CONFIG.format(python=sys.executable, agent=str(place / "agent.py"))
        self.mark = mark
        if mark is not None:
            named = NAMED.format(mark=mark)
            config = config.replace("defaults:", f"{named}defaults:")
        names = ("001", "002", "003", "slow1")
        files = {f".chant/specs/{name}.md": SPEC.format(name) for name in names}
        ignored = ".store\n.locks\nlogs\nprocesses\n"
        source.commit("first", {**files, ".chant/config.md": config, ".chant/.gitignore": ignored})
        self.origin = place / "origin.git"
        source.git("clone", "--quiet", "--bare", str(source.path), str(self.origin))
        with closing(PostgresHistory.create(address)) as store:
            store.add_repo(Repo(0, "house", "", remote_url=str(self.origin)))
        self.orders = Orders(address)
        self.workers = []

    def start(self, *words):
        name = f"machine{len(self.workers)}"
        process = subprocess.Popen(
            [sys.executable, "-m", "clew", "worker", "--queue", "work", "--database", self.address,
             "--clones", str(self.place / name), "--lease", "5", *words],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.workers.append(process)
        return process

    def git(self, *words):
        done = subprocess.run(
            ["git", "-C", str(self.origin), *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    def has_work(self, order):
        """What the agent has committed, once the database says that it is on the remote."""
        snapshot = self.orders.get(order.order_id).snapshot
        is_work = snapshot and "made-" in self.git("ls-tree", "--name-only", snapshot)
        return snapshot if is_work else None

    def log(self, order_id):
        return "".join(text for _, _, text in self.orders.said(order_id))

    def close(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.communicate(timeout=60)
        self.orders.close()


def test_every_order_is_worked_and_merged_once(fleet):
    made = [fleet.orders.add("house", spec, "default") for spec in ("001", "002", "003")]
    said = [
        one.communicate(timeout=300)[1] for one in [fleet.start("--once"), fleet.start("--once")]
    ]

    assert [one.state for one in fleet.orders.all()] == ["finished"] * 3, said
    merges = fleet.git("log", "--merges", "--format=%s", "main").split("\n")[:-1]
    assert sorted(merges) == ["Merge chant/001", "Merge chant/002", "Merge chant/003"]
    for order in made:
        assert fleet.git("show", f"main:made-{order.spec_id}.txt") == "made\n"
        assert "status: completed" in fleet.git("show", f"main:.chant/specs/{order.spec_id}.md")
        assert f"working on {order.spec_id}" in fleet.log(order.order_id)
    assert "chant/" not in fleet.git("branch", "--list")


def test_a_killed_workers_order_goes_on_elsewhere_from_its_branch(fleet):
    order = fleet.orders.add("house", "slow1", "default")
    first = fleet.start()
    snapshot = wait_until(lambda: fleet.has_work(order), limit=120)
    first.send_signal(signal.SIGKILL)
    second = fleet.start("--once")
    said = second.communicate(timeout=300)[1]

    done = fleet.orders.get(order.order_id)
    assert (done.state, done.turn) == ("finished", 2), said
    assert fleet.git("merge-base", "--is-ancestor", snapshot, "main") == ""
    assert len(fleet.git("log", "--merges", "--format=%s", "main").split("\n")[:-1]) == 1


def test_a_pause_reaches_the_worker_and_the_work_is_on_the_remote(fleet):
    order = fleet.orders.add("house", "slow1", "default")
    fleet.start()
    wait_until(lambda: fleet.has_work(order), limit=120)
    fleet.orders.ask(order.order_id, "pause")
    wait_until(lambda: fleet.orders.get(order.order_id).state == "paused", limit=120)
    assert fleet.git("show", "chant/slow1:made-slow1.txt") == "made\n"
    assert "git fetch origin chant/slow1" in fleet.orders.get(order.order_id).note


# Consent: whoever can push to main names commands, and none of them runs by that alone.


def trust(*words):
    done = subprocess.run(
        [sys.executable, "-m", "clew", "trust", "--team", "house", "--json", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)["data"]["commands"]


def state_of(fleet, order):
    found = fleet.orders.get(order.order_id)
    return found.state, found.note


def test_a_worker_runs_no_command_that_nobody_approved(wary):
    order = wary.orders.add("house", "001", "default")
    said = wary.start("--once").communicate(timeout=300)[1]
    assert state_of(wary, order) == (
        "paused", "needs approval of 3 commands: clew trust --team house",
    ), said  # fmt: skip
    assert not wary.mark.exists()
    asked = {one["place"]: one for one in trust()}
    assert set(asked) == {"worktree.setup", "merge.checks", "agent command"}
    assert {one["approved_by"] for one in asked.values()} == {None}

    one, *others = [one["hash"] for one in asked.values()]
    trust(one)
    assert state_of(wary, order)[0] == "paused", "it waits for the others"
    trust(*others)
    assert state_of(wary, order) == ("waiting", None)
    said = wary.start("--once").communicate(timeout=300)[1]
    assert state_of(wary, order)[0] == "finished", (said, wary.log(order.order_id))
    # The set-up of the worktree, then that of the merge and its check; none knows the database.
    assert wary.mark.read_text().split("\n") == ["setup ", "setup ", "check ", ""]
    people = {one["approved_by"] for one in trust()}
    assert len(people) == 1
    assert None not in people


def test_a_changed_or_revoked_command_needs_a_new_approval(wary):
    first = wary.orders.add("house", "001", "default")
    wary.start("--once").communicate(timeout=300)
    trust("--all")
    change_main(wary, "setup $CLEW", "setup  $CLEW")
    wary.start("--once").communicate(timeout=300)
    assert state_of(wary, first)[0] == "paused", "another text is another command"
    assert not wary.mark.exists()
    trust("--all")
    check = next(one["hash"] for one in trust() if one["place"] == "merge.checks")
    trust("--revoke", check)
    wary.start("--once").communicate(timeout=300)
    assert state_of(wary, first)[0] == "paused"
    assert not wary.mark.exists()
    done = subprocess.run(
        [sys.executable, "-m", "clew", "team", "audit", "--json"], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    deeds = [one["tool"] for one in json.loads(done.stdout)["data"]["audit"]]
    assert deeds == ["team revoke commands", "team approve commands", "team approve commands"]


def test_a_merge_check_that_fails_keeps_main_where_it_was(wary):
    wary.mark.with_name("ran.bad").touch()
    before = wary.git("rev-parse", "main")
    order = wary.orders.add("house", "001", "default")
    said = wary.start("--once", "--trust-commands").communicate(timeout=300)[1]
    state, note = state_of(wary, order)
    assert state == "failed", said
    assert note.startswith("The check failed on top of main: echo")
    assert wary.git("rev-parse", "main") == before
    assert "check " in wary.mark.read_text()
    assert "chant/001" in wary.git("branch", "--list"), "the work is kept"


def test_an_agent_at_work_cannot_approve_for_the_team(wary, monkeypatch):
    order = wary.orders.add("house", "001", "default")
    wary.start("--once").communicate(timeout=300)
    monkeypatch.setenv("CLEW_RUN_ID", "r1")
    with pytest.raises(subprocess.CalledProcessError):
        trust("--all")
    assert state_of(wary, order)[0] == "paused"


def change_main(fleet, before, after):
    copy = fleet.place / "copy"
    subprocess.run(["git", "clone", "-q", str(fleet.origin), str(copy)], check=True)
    config = copy / ".chant" / "config.md"
    assert before in config.read_text()
    config.write_text(config.read_text().replace(before, after))
    subprocess.run(["git", "-C", str(copy), "commit", "-qam", "Change a command"], check=True)
    subprocess.run(["git", "-C", str(copy), "push", "-q"], check=True)


def test_a_pause_breaks_off_the_checks_of_a_merge(wary):
    change_main(wary, "test ! -e", f"touch {wary.mark}.runs; sleep 600; test ! -e")
    order = wary.orders.add("house", "001", "default")
    wary.start("--trust-commands")
    wait_until(lambda: wary.mark.with_name("ran.runs").exists(), limit=120)
    wary.orders.ask(order.order_id, "pause")
    wait_until(lambda: state_of(wary, order)[0] == "paused", limit=120)
    assert state_of(wary, order)[1] == (
        "pause during the checks of the merge: git fetch origin chant/001"
    )
    assert wary.git("show", "chant/001:made-001.txt") == "made\n"


# Run by an interpreter that everybody may use: the one of these tests may be its owner's alone.
PYTHON = shutil.which("python3", path="/usr/bin:/bin")
HOLDER = f"""
import sys, time
from contextlib import suppress
_SET_DUMPABLE = {environment._SET_DUMPABLE}
{inspect.getsource(environment.keep_from_neighbours)}
if sys.argv[1] == "hides":
    keep_from_neighbours()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can hide an environment")
@pytest.mark.skipif(PYTHON is None, reason="no python3 that every user may run")
@pytest.mark.parametrize("how", ["hides", "shows"])
def test_a_process_beside_a_worker_cannot_read_its_environment(how):
    user = "nobody" if os.geteuid() == 0 else None
    with subprocess.Popen(
        [PYTHON, "-c", HOLDER, how], env={"CLEW_DATABASE": "postgresql://x:hush@db/x"},
        user=user, cwd="/", stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout.readline() == "ready\n"
            done = subprocess.run(
                ["cat", f"/proc/{process.pid}/environ"],
                user=user, cwd="/", capture_output=True, text=True, check=False,
            )  # fmt: skip
        finally:
            process.kill()
    assert ("hush" in done.stdout) == (how == "shows"), done.stderr
    assert (done.returncode == 0) == (how == "shows"), done.stderr


def test_a_worker_takes_no_password_that_agents_can_read(wary):
    address = wary.address.replace("clew@", "clew:hush@")
    done = subprocess.run(
        [sys.executable, "-m", "clew", "worker", "--queue", "work", "--once", "--database", address],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "CLEW_DATABASE" in done.stderr
    assert "hush" not in done.stderr
