"""The rows of the matrix: what is done with an agent, and what Clew and git must say afterwards."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from tests.agents.scene import EDIT, NOTES, Scene
from tests.support.models.failures import RETRY_SECONDS
from tests.support.models.service import Case
from tests.support.waiting import wait_until

SESSIONS = ("claude", "codex", "opencode", "gemini", "copilot", "qwen")
# What Clew must call each fault; more than one where the program itself does not tell them apart.
FAULTS = {
    "auth": ("auth",),
    "rate": ("rate_limit",),
    "quota": ("rate_limit",),
    "overload": ("overload",),
    "error500": ("network", "overload"),
    "context": ("context",),
    "hang": ("idle",),
    "drop": ("network",),
    "refuse": ("refusal",),
    "nowork": ("no_work",),
    "garbage": ("network", "agent", "no_work"),
}
# What Clew cannot know, because the program keeps it to itself: a refusal is passed on as an answer, a
# long wait and many new tries pass in silence.
UNTOLD = {
    "refuse": ("no_work", ("codex", "copilot", "qwen", "aider")),
    "rate": ("idle", ("codex", "opencode", "qwen")),
    "garbage": ("idle", ("gemini",)),
}
AS_ROOT = "root"  # the good case; the others are an ordinary user's
STRICT = "strict"  # the good case inside a fence whose network is closed
# The hosts behind the programs, and what their own list says of a server in a project that nobody has
# trusted or approved yet: what Clew's hints are about.
HOSTS = {
    "claude": ("claude-code", "Pending approval"),
    "codex": ("codex", "No MCP servers"),
    "opencode": ("opencode", "clew"),
    "gemini": ("gemini", "folder is untrusted"),
    "copilot": ("copilot", "No MCP servers"),
    "qwen": ("qwen", "Pending approval"),
}
_IDLE = {"hang": 0.4}
_USUAL_IDLE = 1.5
_WAIT = 180.0
_OFFSET = 900  # a service's "in an hour" may reach Clew a while later


@dataclass
class Cell:
    """One agent in one row: what is wrong, and what is worth telling."""

    agent: str
    row: str
    scene: Scene
    case: Case
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def expect(self, what, found, *wanted):
        """Note a difference between what is there and what should be."""
        if found not in wanted:
            choices = " or ".join(str(one) for one in wanted)
            self.wrong.append(f"{what} is {found}, not {choices}")

    def run(self):
        """Play the row and judge it."""
        self.scene.make(_IDLE.get(self.row, _USUAL_IDLE))
        spec = self.scene.add_spec(1)
        play = _ROWS.get(self.row, _fault)
        play(self, spec)
        self._look_at_checkout()

    def finish(self, spec, *subjects):
        """Judge a spec whose work must be done, and in main with these subjects."""
        self.expect("status", self.scene.status(spec), "completed")
        newest = self._newest(spec)
        self.expect("failure class", newest["failure_class"], None)
        if newest["failure"]:
            self.wrong.append(newest["failure"][:300])
        wanted = [f"chant({spec}): {subject}" for subject in subjects]
        if not self.wrong:
            wait_until(lambda: set(wanted) <= set(self.scene.subjects()), _WAIT)
        missing = set(wanted) - set(self.scene.subjects())
        self.expect("missing in main", sorted(missing), [])
        self._note_cost(newest)

    def _newest(self, spec):
        return self.scene.runs(spec)[0]

    def _note_cost(self, run):
        if run.get("cost_usd"):
            self.notes.append("cost")
        if run.get("tokens") or run.get("usage"):
            self.notes.append("tokens")

    def _look_at_checkout(self):
        """The user's own work is as it was, on the user's own branch."""
        root = self.scene.root
        self.expect("branch", self.scene.git("branch", "--show-current").strip(), "main")
        self.expect("notes.txt", _text(root / "notes.txt"), NOTES)
        self.expect("README.md", _text(root / "README.md"), EDIT)
        if self.row == "register":  # hosts keep files of their own in a project
            return
        changed = self.scene.git("status", "--porcelain", "--", ".", ":!.chant").splitlines()
        self.expect("git status", sorted(changed), [" M README.md", "?? notes.txt"])


def _text(path: Path):
    return path.read_text(encoding="utf-8") if path.exists() else None


def _good(cell, spec):
    cell.scene.settle()
    cell.scene.chant("work", spec, check=False)
    cell.finish(spec, "add hello 1")


def _strict(cell, spec):
    """The good case inside a strict fence; the proxy is the only way to the model."""
    place = urlsplit(cell.scene.urls[cell.agent]).netloc
    settings = cell.scene.home / ".config" / "chant" / "config.md"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'---\nwork:\n  sandbox_hosts: ["{place}"]\n---\n', encoding="utf-8")
    cell.scene.settle()
    cell.scene.chant("work", spec, "--sandbox", STRICT, check=False)
    log = cell.scene.chant("log", spec).stdout
    cell.expect("says what is open", f"closed but for these hosts: {place}" in log, True)
    refused = re.findall(r"the fence stopped a connection to (\S+)", log)
    cell.notes += [f"refused: {', '.join(refused)}"] if refused else []
    cell.finish(spec, "add hello 1")


def _started(cell, spec):
    """Let the agent commit something and then wait for its model."""
    cell.case.mode = "slow"
    cell.scene.settle()
    cell.scene.chant("work", spec, "--detach")

    def is_waiting():
        return cell.case.held.is_set() or not _is_open(cell, spec)

    wait_until(is_waiting, _WAIT, 0.2)
    if not cell.case.held.is_set():
        newest = cell.scene.runs(spec)[0]
        cell.wrong.append(f"ended before its second step: {newest['failure']}")
    return not cell.wrong


def _is_open(cell, spec):
    runs = cell.scene.runs(spec)
    return not runs or runs[0]["phase"] not in ("failed", "finished", "interrupted")


def _kept(cell, spec):
    """What the agent had committed is still on the spec's branch, and not in main."""
    subject = f"chant({spec}): add hello 1"
    branch = cell.scene.subjects(f"chant/{spec}")
    if cell.agent != "aider":  # its first step is its last
        cell.expect("on the branch", subject in branch, True)
    cell.expect("in main", subject in cell.scene.subjects(), False)


def _pause(cell, spec):
    if not _started(cell, spec):
        return
    cell.scene.chant("pause", spec)
    cell.expect("status", cell.scene.status(spec), "in_progress")
    cell.expect("phase", cell.scene.runs(spec)[0]["phase"], "paused")
    _kept(cell, spec)


def _resume(cell, spec):
    _pause(cell, spec)
    if cell.wrong:
        return
    _let_go_on(cell)
    cell.scene.chant("resume", spec, check=False)
    cell.finish(spec, *_continued(cell))


def _let_go_on(cell):
    cell.case.mode = "good"
    cell.case.released.set()


def _continued(cell):
    """What main must have after a second prompt; a session that went on had both of them."""
    if cell.agent not in SESSIONS:
        return ("add hello 1",)
    cell.expect("prompts in the session", cell.case.most_prompts, 2)
    return ("add hello 1", "add hello 2")


def _takeover(cell, spec):
    if not _started(cell, spec):
        return
    said = cell.scene.chant("takeover", spec, "--json")
    worktree = Path(cell.scene.runs(spec)[0]["worktree"])
    cell.expect("phase", cell.scene.runs(spec)[0]["phase"], "held")
    cell.expect("names the worktree", str(worktree) in json.dumps(json.loads(said.stdout)), True)
    _kept(cell, spec)
    subject = "add a line by hand"
    script = f"echo mine > by-hand.txt && git add . && git commit -qm 'chant({spec}): {subject}'"
    cell.scene.run("sh", "-c", f"cd '{worktree}' && {script}", seconds=60)
    _let_go_on(cell)
    cell.scene.chant("release", spec, "--continue", check=False)
    cell.finish(spec, subject, *_continued(cell))


def _register(cell, spec):
    """Register Clew with the program as a host; the program's own list is the judge."""
    cell.scene.settle()
    host, words = HOSTS[cell.agent]

    def listed():
        said = cell.scene.run(cell.agent, "mcp", "list", seconds=180, check=False)
        return said.stdout + said.stderr

    setup = ("clew", "setup", host, "--scope")
    cell.scene.run(*setup, "project", seconds=120)
    cell.expect(f"says '{words}'", words in listed(), True)
    if cell.agent == "qwen":
        cell.scene.run("qwen", "mcp", "approve", "clew", seconds=120)
        cell.expect("connected once approved", "Connected" in listed(), True)
    cell.scene.run(*setup, "project", "--remove", seconds=120)
    cell.scene.run(*setup, "user", seconds=120)
    cell.expect("lists clew", "clew" in listed(), True)
    cell.scene.run(*setup, "user", "--remove", seconds=120)
    cell.expect("lists clew no more", "clew serve" in listed(), False)


def _parallel(cell, spec):
    other = cell.scene.add_spec(2)
    cell.scene.settle()
    cell.scene.chant("work", "--parallel", "2", seconds=600, check=False)
    for one in (spec, other):
        cell.finish(one, "add hello 1")


def together(cell, agents):
    """Play four specs at once, each with another program; all of them end merged."""
    cell.scene.make(_USUAL_IDLE)
    specs = [cell.scene.add_spec(number, agent) for number, agent in enumerate(agents, 1)]
    cell.scene.settle()
    cell.scene.chant("work", "--parallel", str(len(specs)), seconds=900, check=False)
    for spec, agent in zip(specs, agents, strict=True):
        cell.finish(spec, "add hello 1")
        cell.expect("agent", cell.scene.runs(spec)[0]["agent"], agent)


def _fault(cell, spec):
    cell.case.mode = cell.row
    cell.scene.settle()
    before = cell.scene.git("rev-parse", "main")
    cell.scene.chant("work", spec, check=False, seconds=600)
    newest = cell.scene.runs(spec)[0]
    wanted = FAULTS[cell.row]
    kept_back, programs = UNTOLD.get(cell.row, ("", ()))
    if cell.agent in programs and newest["failure_class"] == kept_back:
        cell.notes.append(f"seen as `{kept_back}`, since the program does not say")
        wanted = (kept_back,)
    cell.expect("failure class", newest["failure_class"], *wanted)
    cell.expect("phase", newest["phase"], "failed")
    cell.expect("status", cell.scene.status(spec), "failed")
    cell.expect("main", cell.scene.git("rev-parse", "main"), before)
    if cell.wrong and newest["failure"]:
        cell.wrong.append(f"Clew says: {' '.join(newest['failure'].split())[:300]}")
    _judge_retry(cell, newest["retry_at"])


def _judge_retry(cell, retry_at):
    """A time to try again is only ever the service's own."""
    if retry_at is None:
        return
    left = (datetime.fromisoformat(retry_at) - datetime.now(UTC)).total_seconds()
    is_told = cell.row == "rate" and RETRY_SECONDS - _OFFSET <= left <= RETRY_SECONDS + _OFFSET
    if is_told:
        cell.notes.append("retry time")
    else:
        cell.wrong.append(f"a time to try again that no service sent: {retry_at}")


_ROWS = {
    "good": _good,
    AS_ROOT: _good,
    STRICT: _strict,
    "resume": _resume,
    "pause": _pause,
    "takeover": _takeover,
    "parallel": _parallel,
    "register": _register,
}
ROWS = (*_ROWS, *FAULTS)


def has(agent, row):
    """Whether there is such a cell: an agent that is no host cannot be registered with."""
    return row != "register" or agent in HOSTS
