"""Work that is left alone for a while: `python -m tests.soak --minutes 20 --specs 200`.

Specs with dependencies, agents that fail and branches that conflict are worked by the watch, by
schedules and by single starters at once. Every few seconds one of their processes is killed, and for
a while the disk is full. In the end every spec must be where the journal and git say, nothing may
have run twice at once or be lost, and the watch that is left must sleep. Prints counts; exits with 1
if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from _pytest.outcomes import Skipped

from clew.work.journal.sqlite import SqliteJournal
from clew.work.model import OPEN, Phase
from tests.support.client import BIN
from tests.support.faults import processes_in, small_disk
from tests.support.repos import Repository

AGENT = Path(__file__).parent / "work" / "agent.py"
MEGABYTES = 400
WORKS = ["edit {id}.txt", "commit {id}.txt", "note_commit {notes}", "tick"]
KINDS = {  # what an agent does, and how often there is such a one
    "works": (50, WORKS),
    "slow": (8, ["sleep 3", *WORKS]),
    "fails once": (10, ["once run-{id} leave 1", *WORKS]),
    "fails": (5, ["leave 1"]),
    "forgets": (
        6,
        ["edit {id}.txt", "once run-{id} leave 0", "commit", "note_commit {notes}", "tick"],
    ),
    "unticked": (5, WORKS[:-1]),
    "conflicts": (
        12,
        ["sleep 4", "edit shared-{shared}.txt {id}", "commit", "note_commit {notes}", "tick"],
    ),
    "hangs": (4, ["once run-{id} hang", *WORKS]),
}
CONFIG = """---
project:
  name: soak
defaults:
  provider: command
  command: {command}
watch:
  poll_interval_ms: 1000
  idle_timeout_minutes: 60
work:
  idle_minutes: 0.5
parallel:
  stagger_delay_ms: 0
---
"""


class Soak:
    """One project under strain."""

    def __init__(self, place, notes, dice):
        self.home, self.notes, self.dice = place / "home", notes, dice
        self.home.mkdir()
        author = {
            f"GIT_{who}_{what}": "soak"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        os.environ.update(author, HOME=str(self.home), CLEW_HOME=str(self.home / "clew"))
        os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
        self.repo = Repository(place / "project")
        self.root = self.repo.path
        command = json.dumps([sys.executable, str(AGENT)])
        (self.root / ".chant" / "specs").mkdir(parents=True)
        (self.root / ".chant" / "config.md").write_text(CONFIG.format(command=command), "utf-8")
        files = {f"shared-{number}.txt": "begun\n" for number in range(4)}
        self.repo.commit("first", {**files, ".gitignore": "/run-*\n/.chant/\n"})
        self.kinds, self.started, self.counts = {}, [], Counter()
        self.branches = {}

    def write_specs(self, number):
        """Write the specs: each depends on up to two that come before it."""
        weights = [often for often, _ in KINDS.values()]
        for count in range(number):
            name = f"s{count:03}"
            kind = self.dice.choices(list(KINDS), weights)[0]
            before = list(self.kinds)[-12:]
            needs = self.dice.sample(before, min(len(before), self.dice.choice([0, 0, 0, 1, 1, 2])))
            self.kinds[name] = kind
            given = {"id": name, "notes": self.notes, "shared": self.dice.randrange(2)}
            steps = [f"alone {self.notes}", *(step.format(**given) for step in KINDS[kind][1])]
            lines = [
                "---",
                "type: code",
                "status: pending",
                f"depends_on: {json.dumps(needs)}",
                "---",
            ]
            lines += [f"# Make {name}", "", "## Acceptance Criteria", "", "- [ ] It is there", ""]
            lines += ["## Steps", "", "```", *steps, "```", ""]
            (self.root / ".chant" / "specs" / f"{name}.md").write_text("\n".join(lines), "utf-8")

    def chant(self, *words):
        """Start a command and go on."""
        child = subprocess.Popen(
            [BIN / "chant", *words], cwd=self.root,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.started.append(child)
        self.counts[f"chant {words[0]}"] += 1

    def said(self, *words):
        """What a command answers."""
        command = [BIN / "chant", *words, "--json"]
        done = subprocess.run(
            command, cwd=self.root, capture_output=True, text=True, timeout=600, check=False
        )
        try:
            return json.loads(done.stdout)["data"]
        except (json.JSONDecodeError, KeyError):
            return None

    def heads(self):
        """The specs with their status, as the files say."""
        found = {}
        for path in (self.root / ".chant" / "specs").glob("*.md"):
            text = path.read_text("utf-8")
            found[path.stem] = text.split("status: ", 1)[1].split("\n", 1)[0]
        return found

    def strain(self):
        """Do one of the things that people and programs do, whatever else goes on."""
        states = self.heads()
        pick = self.dice.random()
        stuck = [name for name, status in states.items() if status in ("failed", "in_progress")]
        fresh = [name for name, status in states.items() if status == "pending"]
        if pick < 0.35:
            self.chant("watch", "--background", "--start", "3", "--poll-interval", "1000")
        elif pick < 0.5:
            self.chant("work", "--parallel", "3", "--detach")
        elif pick < 0.75 and fresh:
            name = self.dice.choice(fresh)
            for _ in range(3):
                self.chant("work", name, "--detach", "--no-watch")
        elif stuck:
            self.chant("resume", self.dice.choice(stuck), "--detach", "--no-watch")

    def kill_one(self):
        """kill -9 one of the processes of this project: watch, scheduler, supervisor, agent, git."""
        found = {}
        for process in processes_in(self.home):
            with suppress(psutil.Error):
                if process.pid != os.getpid():
                    found.setdefault(kind_of(" ".join(process.cmdline())), []).append(process)
        if found:  # every kind as often as any other, however many there are of it
            kind = self.dice.choice(sorted(found))
            with suppress(psutil.Error):
                self.dice.choice(found[kind]).kill()
                self.counts[f"killed {kind}"] += 1
        for child in list(self.started):
            if child.poll() is not None:
                self.started.remove(child)

    def settle(self, seconds):
        """Let everything come to rest, and end the watch; whether it did within this time.

        What failed or was cut off is gone on with a few times. A merge sets other specs free, so
        there is no rest before everything is merged that can be, and nobody starts anything more.
        """
        deadline, tries = time.monotonic() + seconds, Counter()
        for child in self.started:
            child.wait(600)
        while time.monotonic() < deadline:
            self.said("watch", "--background", "--start", "4", "--poll-interval", "1000")
            self.said("status")  # repairs what is orphaned
            if self.is_at_rest():
                again = self.unfinished(tries)
                if not again:
                    self.said("watch", "--stop")
                    if self.is_at_rest():
                        return True
                for name in again[:4]:
                    tries[name] += 1
                    self.said("resume", name, "--detach", "--no-watch")
            time.sleep(1)
        return False

    def unfinished(self, tries):
        """What can be gone on with, and was not often enough yet."""
        left = [
            name for name, status in self.heads().items() if status in ("failed", "in_progress")
        ]
        return [name for name in left if tries[name] < 3]

    def is_at_rest(self):
        """Whether nobody is at work, nothing can be started, and nothing can be merged."""
        if self.journal_has_open_runs():
            return False
        ready, due = self.said("ready"), self.said("merge", "--list", "--dry-run")
        return ready is not None and due is not None and not (ready["specs"] or due["branches"])

    def journal_has_open_runs(self):
        """Whether anybody is at work."""
        with self.journal() as journal:
            return bool(journal.runs(phases=OPEN)) or bool(journal.unreported())

    @contextmanager
    def journal(self):
        """The journal as another process would open it."""
        journal = SqliteJournal(self.root / ".chant" / ".store" / "runs.sqlite3")
        try:
            yield journal
        finally:
            journal.close()

    def faults(self):
        """What is wrong in the end, in words."""
        listed = (self.said("merge", "--list") or {}).get("branches", [])
        self.branches = {one["spec_id"]: f"{one['state']}: {one['note']}" for one in listed}
        wrong = [f"{path.stem}: two agents at once" for path in self.notes.glob("*.double")]
        states, agents = (
            self.heads(),
            [p for p in processes_in(self.home) if "agent.py" in " ".join(p.cmdline())],
        )
        wrong += [f"an agent is left: {process.pid}" for process in agents]
        with self.journal() as journal:
            wrong += [
                f"{run.spec_id}: run {run.run_id} is open" for run in journal.runs(phases=OPEN)
            ]
            for name, status in states.items():
                wrong += self.faults_of(journal, name, status)
        wrong += self.lost_commits()
        fsck = self.repo.git("fsck", "--no-dangling", "--no-progress", check=False)
        wrong += [f"git fsck: {line}" for line in fsck.decode().splitlines() if "error" in line]
        return wrong

    def faults_of(self, journal, name, status):
        """Whether a spec is where its runs and its branch say."""
        runs, merge = journal.runs(spec_id=name), journal.latest_merge(name)
        finished = [run for run in runs if run.phase is Phase.FINISHED]
        wrong = []
        if len(finished) > 1:
            wrong.append(f"{name}: finished {len(finished)} times")
        if status == "completed" and not finished:
            wrong.append(f"{name}: completed without a finished run")
        if finished and status not in ("completed", "needs_attention"):
            wrong.append(f"{name}: finished, but {status}")
        if (
            finished
            and status == "needs_attention"
            and (merge is None or merge.status not in ("conflict", "failed"))
        ):
            wrong.append(f"{name}: finished and unmerged for no reason")
        if status == "completed" and (merge is None or merge.status != "merged"):
            wrong.append(
                f"{name}: completed, but its merge is {merge and merge.status} (branch {self.branches.get(name, 'gone')})"
            )
        if status == "in_progress":
            wrong.append(
                f"{name}: in progress, but nobody works on it ({runs[0].phase if runs else 'no run'})"
            )
        if status == "completed" and self.kinds.get(name) == "fails":
            wrong.append(f"{name}: completed, though its agent always fails")
        return wrong

    def lost_commits(self):
        """The commits that agents made and that no ref leads to."""
        made = {sha for path in self.notes.glob("*.commits") for sha in path.read_text().split()}
        self.counts["commits made"] = len(made)
        kept = set(self.repo.text("rev-list", "--all").split())
        return [f"commit {sha} is lost" for sha in sorted(made - kept)]

    def idle_cost(self, seconds=30):
        """What share of a core the watch takes when there is nothing to do, its children included."""
        self.said("watch", "--stop")
        self.said("watch", "--background", "--poll-interval", "5000")
        pid = int((self.root / ".chant" / "watch.pid").read_text())
        used = 0.0
        for _ in range(6):  # until its first look is over
            before = sum(psutil.Process(pid).cpu_times()[:4])
            time.sleep(seconds)
            used = sum(psutil.Process(pid).cpu_times()[:4]) - before
            if used <= 0.001 * seconds:
                break
        return used / seconds


def kind_of(words):
    """What a process is, by its command line."""
    kinds = {"supervisor": "supervisor", "daemons watch": "watch", "daemons scheduler": "scheduler"}
    kinds |= {"agent.py": "agent", "chant mcp": "tool server", "git": "git", "chant": "command"}
    return next((kind for part, kind in kinds.items() if part in words), "other")


@contextmanager
def disk_at(path):
    """A small disk, or where none can be mounted an ordinary directory."""
    try:
        with small_disk(path, MEGABYTES) as disk:
            yield path, disk
    except Skipped:
        yield path, None


def run(minutes, specs, seed):
    """Strain a project for so long; whether all was well in the end."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as top, disk_at(Path(top) / "disk") as (place, disk):
        notes = Path(top) / "notes"
        notes.mkdir()
        soak = Soak(place, notes, dice)
        soak.write_specs(specs)
        begun, full = time.monotonic(), False
        try:
            while (passed := (time.monotonic() - begun) / (60 * minutes)) < 1:
                soak.strain()
                time.sleep(dice.uniform(0.5, 2))
                soak.kill_one()
                should = disk is not None and 0.4 < passed < 0.5
                if should != full and disk is not None:
                    if should:
                        disk.leave(0)
                    else:
                        disk.empty()
                    full = should
                    soak.counts["disk full"] += should
            if disk is not None:
                disk.empty()
            calm = [] if soak.settle(60 * max(minutes, 5)) else ["it did not come to rest"]
            wrong, idle = calm + soak.faults(), soak.idle_cost()
        finally:
            for process in processes_in(soak.home):
                with suppress(psutil.Error):
                    if process.pid != os.getpid():
                        process.kill()
        if idle > 0.001:
            wrong.append(f"the idle watch takes {100 * idle:.2f} % of a core")
        report(soak, wrong, idle, seed, minutes)
    return not wrong


def report(soak, wrong, idle, seed, minutes):
    """Print what happened."""
    with suppress(Exception), soak.journal() as journal:
        phases = Counter(str(run.phase) for run in journal.runs())
        print("runs:", ", ".join(f"{count} {phase}" for phase, count in phases.most_common()))
    print("specs:", ", ".join(f"{n} {s}" for s, n in Counter(soak.heads().values()).most_common()))
    print("done:", ", ".join(f"{count} {what}" for what, count in sorted(soak.counts.items())))
    print(f"idle watch: {100 * idle:.3f} % of a core; {minutes:g} minutes of strain, seed {seed}")
    for line in wrong:
        print("WRONG", line)
    print("all is where it should be" if not wrong else f"{len(wrong)} faults")


def main():
    """Read the options, and soak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--specs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    return 0 if run(given.minutes, given.specs, seed) else 1


if __name__ == "__main__":
    sys.exit(main())
