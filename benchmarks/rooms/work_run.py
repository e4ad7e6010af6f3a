"""Work: what a run costs beyond git's own worktree and merge commands, and when it is answered."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import Sample, Series, compare, interleave
from benchmarks.results.report import Claim, Figure, Goal
from benchmarks.subjects.home import own_home
from clew.work.journal.interface import Journal
from clew.work.merging.preconditions import clean_up
from clew.work.merging.queue import merge_finished
from clew.work.scheduling.start import Mode, begin_work
from clew.work.workspace import Workspace

NAME = "work_run"
TITLE = "Work: one spec from its start to its merge"
FULL = {"rounds": 15, "files": 2000}
QUICK = {"rounds": 3, "files": 200}
GIT, RUN = "git alone", "a run"
SAME_WORK = (
    "Both make a worktree, run the same agent (a shell script that edits, commits and ticks the "
    "spec's box), merge the branch and remove the worktree. `git alone` is a person typing: "
    "worktree add, merge --no-ff, worktree remove, branch -d."
)
MORE = (
    "A run adds claim and journal, supervisor and logs, snapshots, the check of the criterion, the "
    "integration worktree, and the moved main branch. `answered` is when the start returns, the "
    "agent at work."
)
NOTES = [SAME_WORK, MORE]
AGENT = """#!/bin/sh
echo "more" >> "work-$CHANT_SPEC_ID.txt"
git add "work-$CHANT_SPEC_ID.txt"
git commit --quiet -m "chant($CHANT_SPEC_ID): work"
sed -i 's/- \\[ \\]/- [x]/' "$CHANT_SPEC_FILE"
"""
SPEC = "---\ntype: code\n---\n# Work\n\n## Acceptance Criteria\n\n- [ ] It works\n  check: `true`\n"


def run(bench: Bench) -> Claim:
    """Measure both ways in turns, on one repository."""
    root = bench.home / "work-run"
    with own_home(bench.home / "work-home"):
        project = _project(root, bench["files"])
        numbers = count(1)
        variants = {
            GIT: partial(_by_hand, project, numbers),
            RUN: partial(_by_us, project, numbers),
        }
        for variant in variants.values():
            variant()
        series = interleave(variants, bench["rounds"], say=bench.say)
    return Claim(NAME, TITLE, {"files": str(bench["files"])}, NOTES, {}, _figures(series))


def _figures(series: dict[str, Series]) -> list[Figure]:
    whole = compare(series[RUN], series[GIT], "whole")
    answered = compare(series[RUN], series[GIT], "answered")
    return [
        Figure("whole run", RUN, GIT, "ms", whole),
        Figure("answered", RUN, "git worktree add", "ms", answered, Goal(2000.0, of="median")),
    ]


def _project(root: Path, files: int) -> Path:
    (root / ".chant" / "specs").mkdir(parents=True)
    script = root.parent / "work-agent.sh"
    script.write_text(AGENT)
    script.chmod(0o755)
    for number in range(files):
        path = root / f"part{number % 20}" / f"file{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"line of {number}\n" * 20)
    config = f"---\ndefaults:\n  provider: command\n  command: [{script}]\n---\n"
    (root / ".chant" / "config.md").write_text(config)
    (root / ".gitignore").write_text(".chant/\n")
    _git(root, "init", "--quiet", "--initial-branch=main")
    _git(root, "config", "user.name", "Bench")
    _git(root, "config", "user.email", "bench@example.com")
    _git(root, "add", "-A")
    _git(root, "commit", "--quiet", "-m", "first")
    return root


def _spec(project: Path, numbers: Iterator[int]) -> tuple[str, Path]:
    spec_id = f"s{next(numbers)}"
    path = project / ".chant" / "specs" / f"{spec_id}.md"
    path.write_text(SPEC)
    return spec_id, path


def _by_hand(project: Path, numbers: Iterator[int]) -> Sample:
    spec_id, path = _spec(project, numbers)
    tree, branch = project.parent / f"tree-{spec_id}", f"hand/{spec_id}"
    environment = {**os.environ, "CHANT_SPEC_ID": spec_id, "CHANT_SPEC_FILE": str(path)}
    begun = time.perf_counter()
    _git(project, "worktree", "add", "--quiet", "-b", branch, str(tree), "main")
    answered = time.perf_counter()
    subprocess.run([str(project.parent / "work-agent.sh")], cwd=tree, env=environment, check=True)
    _git(project, "merge", "--quiet", "--no-ff", "--no-edit", branch)
    _git(project, "worktree", "remove", str(tree))
    _git(project, "branch", "--quiet", "-d", branch)
    ended = time.perf_counter()
    return {"whole": (ended - begun) * 1000, "answered": (answered - begun) * 1000}


def _by_us(project: Path, numbers: Iterator[int]) -> Sample:
    spec_id, _path = _spec(project, numbers)
    begun = time.perf_counter()
    with Workspace(project) as work:
        started = begin_work(work, (spec_id,), Mode())
        answered = time.perf_counter()
        _wait(work.journal, str(started.run_id))
        merge_finished(work, spec_id)
        clean_up(work, work.config(), [spec_id])
    ended = time.perf_counter()
    return {"whole": (ended - begun) * 1000, "answered": (answered - begun) * 1000}


def _wait(journal: Journal, run_id: str) -> None:
    deadline = time.monotonic() + 60
    while journal.get(run_id).settled_at is None:
        if time.monotonic() > deadline:
            raise TimeoutError(run_id)
        time.sleep(0.002)
    assert journal.get(run_id).phase == "finished", journal.get(run_id).failure


def _git(cwd: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)
