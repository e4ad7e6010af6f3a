"""Make the questions, run an agent's commands with a record of their size, and sum it all up."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.agents.questions import KINDS, History, make_questions
from benchmarks.agents.strategy import STRATEGIES, Asked


def main(arguments: list[str] | None = None) -> int:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents", description=__doc__)
    doing = parser.add_subparsers(required=True)
    make = doing.add_parser("make", help="append questions about a repository to questions.jsonl")
    make.add_argument("directory", type=Path, help="where the files of the trial lie")
    make.add_argument("--repo", type=Path, required=True, help="with all that came after the cut")
    make.add_argument("--name", required=True, help="its name in the index and the questions")
    make.add_argument("--cut", required=True, help="the commit at which agents look at it")
    make.add_argument("--oldest", default="2024-01-01", help="no older commit is the answer")
    make.add_argument("--each", type=int, default=4, help="questions of each kind")
    make.add_argument("--seed", type=int, default=1)
    make.set_defaults(run=_make)
    run = doing.add_parser("run", help="run a command for a question, and record its size")
    run.add_argument("directory", type=Path)
    run.add_argument("arm", help="git or clew")
    run.add_argument("id", help="the question")
    run.add_argument("words", nargs=argparse.REMAINDER, help="the command")
    run.set_defaults(run=_run)
    play = doing.add_parser("play", help="answer all questions by the same few commands")
    play.add_argument("directory", type=Path)
    play.add_argument("arm", choices=sorted(STRATEGIES))
    play.set_defaults(run=_play)
    score = doing.add_parser("score", help="commands, characters and right answers of each arm")
    score.add_argument("directory", type=Path)
    score.set_defaults(run=_score)
    options = parser.parse_args(arguments)
    result: int = options.run(options)
    return result


def _make(options: argparse.Namespace) -> int:
    history = History(options.repo, options.cut, options.oldest)
    made = make_questions(options.name, history, options.each, options.seed)
    for one in made:
        asked = {"id": one.id, "repo": one.repo, "kind": one.kind, "question": one.text}
        _append(options.directory / "questions.jsonl", asked)
        _append(options.directory / "gold.jsonl", {"id": one.id, "right": list(one.right)})
    print(f"{len(made)} questions about {options.name}")
    return 0


def _run(options: argparse.Namespace) -> int:
    """Print what the command prints, as it would have been printed, and note how much that is."""
    asked = {one["id"]: one for one in _read(options.directory / "questions.jsonl")}
    text, code = _recorded(
        options.directory, options.arm, asked[options.id], " ".join(options.words)
    )
    sys.stdout.write(text)
    return code


def _play(options: argparse.Namespace) -> int:
    """Answer every question as the simple agent of this arm does."""
    for one in _read(options.directory / "questions.jsonl"):
        run = partial(_output, options.directory, options.arm, one)
        answer = STRATEGIES[options.arm](Asked(one["kind"], one["question"]), run)
        _append(
            options.directory / "answers.jsonl",
            {"arm": options.arm, "id": one["id"], "answer": answer},
        )
    return 0


def _output(directory: Path, arm: str, question: dict[str, Any], command: str) -> str:
    return _recorded(directory, arm, question, command)[0]


def _recorded(directory: Path, arm: str, question: dict[str, Any], command: str) -> tuple[str, int]:
    """What a command prints in the repository of a question, and how it ends; its size is noted."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=directory / "repos" / question["repo"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    text = done.stdout.decode("utf-8", "replace")
    _append(
        directory / "commands.jsonl",
        {
            "arm": arm,
            "id": question["id"],
            "command": command,
            "characters": len(text),
            "exit": done.returncode,
        },
    )
    return text, done.returncode


def _score(options: argparse.Namespace) -> int:
    questions = {one["id"]: one["kind"] for one in _read(options.directory / "questions.jsonl")}
    gold = {one["id"]: one["right"] for one in _read(options.directory / "gold.jsonl")}
    used: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in _read(options.directory / "commands.jsonl"):
        used[one["arm"], one["id"]].append(one["characters"])
    answers = {(one["arm"], one["id"]): one["answer"] for one in
               _read(options.directory / "answers.jsonl")}  # fmt: skip
    print(f"{'arm':8}{'kind':8}{'asked':>6}{'right':>6}{'commands':>10}{'characters':>12}")
    for arm in sorted({arm for arm, _ in answers}):
        for kind in (*KINDS, "all"):
            ids = [
                one for (of, one) in answers if of == arm and kind in ("all", questions.get(one))
            ]
            right = sum(is_right(answers[arm, one], gold[one]) for one in ids)
            commands = sum(len(used[arm, one]) for one in ids)
            characters = sum(sum(used[arm, one]) for one in ids)
            print(f"{arm:8}{kind:8}{len(ids):6}{right:6}{commands:10}{characters:12}")
    return 0


def is_right(answer: str, right: list[str]) -> bool:
    """Whether an answer's first SHA is a right one, or one of its first three paths is."""
    if re.fullmatch(r"[0-9a-f]{40}", right[0]):
        found = re.search(r"\b[0-9a-f]{7,40}\b", answer)
        return found is not None and any(one.startswith(found[0]) for one in right)
    named = re.findall(r"[\w.+-]+(?:/[\w.+-]+)+|[\w+-]+\.\w+", answer)[:3]
    return any(path.strip("`'\".,") in right for path in named)


def _append(file: Path, entry: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _read(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    raise SystemExit(main())
