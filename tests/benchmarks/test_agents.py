"""Questions for agents are made of any history, and what agents read is summed up."""

from __future__ import annotations

import json

import pytest
from benchmarks.agents.__main__ import is_right, main

from tests.support.repos import Repository


@pytest.fixture
def history(tmp_path):
    """A bug, the line that tells of it, and a fix after the cut that names it."""
    made = Repository(tmp_path / "demo")
    made.write("core.c", "int total(int a) {\n    return a;\n}\n")
    made.write("other.c", "int unused;\n")
    made.commit("Start")
    made.write(
        "core.c", "int total(int a) {\n    int carried_over = a + 1;\n    return carried_over;\n}\n"
    )
    reason = "Totals have to carry the first item over to the next page, or else the sum is wrong. "
    made.commit(f"Carry over\n\n{reason * 2}\n\nSigned-off-by: A <a@example.com>")
    cut = made.head()
    made.write("other.c", "int unused = 1;\n")
    told = "The total is one too high since items are carried over. " * 3
    made.commit(f"core: fix the total\n\n{told}\n\nFixes: {cut[:12]}\n")
    return made, cut


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def asked_about(history, directory):
    made, cut = history
    (directory / "repos").mkdir()
    (directory / "repos" / "demo").symlink_to(made.path)
    asked = ["--repo", str(made.path), "--name", "demo", "--cut", cut, "--oldest", "1970-01-02"]
    assert main(["make", str(directory), *asked]) == 0


def test_a_simple_agent_answers_every_question_with_git(history, tmp_path):
    asked_about(history, tmp_path)
    assert main(["play", str(tmp_path), "git"]) == 0

    answers = {one["id"].split("-")[1]: one["answer"] for one in read(tmp_path / "answers.jsonl")}
    assert len(answers["cause"]) >= 7
    assert history[1].startswith(answers["reason"])
    used = read(tmp_path / "commands.jsonl")
    assert {one["id"] for one in used} == {one["id"] for one in read(tmp_path / "answers.jsonl")}
    assert sum(one["characters"] for one in used) > 100


def test_questions_run_and_score(history, tmp_path, capsys):
    asked_about(history, tmp_path)
    cut = history[1]

    questions = read(tmp_path / "questions.jsonl")
    gold = {one["id"]: one["right"] for one in read(tmp_path / "gold.jsonl")}
    kinds = {one["kind"]: one for one in questions}
    assert set(kinds) == {"cause", "reason", "also"}
    assert gold[kinds["cause"]["id"]] == gold[kinds["reason"]["id"]] == [cut]
    assert gold[kinds["also"]["id"]] == ["other.c"]
    assert cut[:12] not in kinds["cause"]["question"]
    assert "carried_over = a + 1" in kinds["reason"]["question"]

    capsys.readouterr()
    main(["run", str(tmp_path), "git", kinds["cause"]["id"], "git rev-parse HEAD"])
    assert len(capsys.readouterr().out) == 41
    answer = {"arm": "git", "id": kinds["cause"]["id"], "answer": f"It was {cut[:10]}."}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    main(["score", str(tmp_path)])
    assert capsys.readouterr().out.split("\n")[-2].split() == ["git", "all", "1", "1", "1", "41"]


def test_what_counts_as_right():
    sha = "ab" * 20
    assert is_right(f"{sha[:9]} because", [sha])
    assert not is_right("no idea", [sha])
    assert is_right("1. `lib/a.c` 2. lib/b.c", ["lib/b.c"])
    assert not is_right("a.c, b.c, c.c, d.c", ["d.c"])
