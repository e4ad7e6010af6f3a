"""The one door: hints by the face in use, an index that makes itself, arguments that are inferred."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import click
import pytest

from clew.catalog.faces import FACES
from clew.catalog.wording import commands_of
from clew.cli.commands.address import name_a_prompt
from clew.cli.faces import build_group
from clew.history.locations import find_location
from tests.docs.foreign import make_foreign_repository
from tests.specs.tools.project import write_spec

SCRIPTS = Path(sysconfig.get_path("scripts"))
SOURCE = Path(__file__).parents[2] / "src" / "clew"
NAMED = re.compile(rf"[`'](({'|'.join(FACES)}) [a-z][a-z-]*(?: [a-z][a-z-]*)?)[^`']*[`']")


def hints():
    """Every command that a text of the program names in quotes."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {match[1] for match in NAMED.finditer(node.value)}
    return sorted(
        hint for hint in found if not name_a_prompt(hint.split()[1:]) or "climpt" not in hint
    )


def resolved(words):
    """The command that the words lead to; None where there is none."""
    face, *rest = words
    command = build_group(face)
    for word in rest:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
    return command


@pytest.mark.parametrize("face", FACES)
def test_every_hint_is_a_command_of_the_face_or_of_the_one_door(face):
    known = hints()
    assert len(known) > 40
    for hint in known:
        worded = commands_of(face, hint).split()
        assert worded[0] in (face, "clew"), (hint, worded)
        command = resolved(worded)
        assert command is not None, (hint, worded)
        with pytest.raises(click.exceptions.Exit) as ended:
            command.make_context(worded[-1], ["--help"])
        assert ended.value.exit_code == 0


@pytest.fixture
def notes(tmp_path, private_home):
    make_foreign_repository(tmp_path)
    return tmp_path / "notes"


def run(root, *words, home, code=0, **variables):
    environment = os.environ | {"HOME": str(home)} | variables
    environment["PATH"] = f"{SCRIPTS}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        words, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def subjects(done):
    return [commit["subject"] for commit in json.loads(done.stdout)["data"]["commits"]]


def test_the_first_question_makes_the_index_and_later_ones_bring_it_along(notes, private_home):
    assert len(subjects(run(notes, "clew", "log", "--json", home=private_home))) == 5
    run(notes, "git", "commit", "--quiet", "--allow-empty", "-m", "Later", home=private_home)

    done = run(notes, "clew", "log", "--json", home=private_home)

    assert subjects(done)[0] == "Later"
    assert "behind" not in done.stdout + done.stderr


def test_without_an_index_git_alone_answers_and_nothing_is_left(notes, private_home):
    done = run(notes, "clew", "log", "--no-index", "--json", home=private_home)

    assert len(subjects(done)) == 5
    assert not (private_home / ".commitmux").exists()


def test_paths_and_lines_count_from_where_one_is(notes, private_home):
    done = run(notes / "src/notes", "clew", "blame", "pager.py:3:9", "--json", home=private_home)

    data = json.loads(done.stdout)["data"]
    assert (data["path"], data["lines"][0]["subject"]) == (
        "src/notes/pager.py",
        "Show at least one line",
    )


def test_questions_keep_to_this_repository(notes, private_home, tmp_path):
    other = tmp_path / "other"
    run(tmp_path, "git", "clone", "--quiet", str(notes), str(other), home=private_home)
    run(notes, "clew", "log", home=private_home)
    asked = ("clew", "search", "atomically", "--json")

    here = json.loads(run(other, *asked, home=private_home).stdout)["data"]["commits"]
    every = json.loads(run(other, *asked, "--all-repos", home=private_home).stdout)["data"]

    assert {commit["repo"] for commit in here} == {"other"}
    assert {commit["repo"] for commit in every["commits"]} == {"notes", "other"}


@pytest.mark.parametrize(
    "line",
    [
        'File "/srv/app/src/notes/store.py", line 9, in save',
        "at save (/srv/app/src/notes/store.py:9:5)",
        "    at src/notes/store.py:9:5",
        "src/notes/store.py:9: in save",
        "src/notes/store.py:9:5",
    ],
)
def test_a_line_of_a_stack_trace_is_a_place(line, notes):
    found = find_location(notes, line)

    assert found is not None
    assert (found.path, found.start) == ("src/notes/store.py", 9)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("\tat com.shop.Cart.total(Cart.java:7)", "src/main/java/com/shop/Cart.java"),
        ("\t/go/src/shop/cart.go:7 +0x1d", "shop/cart.go"),
        ("thread 'main' panicked at src/cart.rs:7:5:", "src/cart.rs"),
    ],
)
def test_java_go_and_rust_have_traces_of_their_own(line, file, notes):
    (notes / file).parent.mkdir(parents=True, exist_ok=True)
    (notes / file).write_text("x\n", encoding="utf-8")
    subprocess.run(["git", "add", file], cwd=notes, check=True)

    found = find_location(notes, line)

    assert found is not None
    assert (found.path, found.start) == (file, 7)


def completed(notes, home, *words):
    """What a real bash offers for the last word."""
    listed = " ".join(f"'{word}'" for word in words)
    script = (
        'eval "$(clew completion bash)"\n'
        f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}\n"
        '_clew_completion clew\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    return run(notes, "bash", "--norc", "-c", script, home=home).stdout.split()


def test_bash_completes_paths_branches_repositories_specs_and_prompts(notes, private_home):
    run(notes, "clew", "log", home=private_home)
    run(notes, "clew", "spec", "init", "--minimal", home=private_home)
    made = run(notes, "clew", "add", "Count pages", "--json", home=private_home)
    spec = json.loads(made.stdout)["data"]["id"]

    assert completed(notes, private_home, "clew", "owners", "src/notes/p") == ["src/notes/pager.py"]
    assert completed(notes, private_home, "clew", "owners", "--repo", "") == ["notes"]
    assert completed(notes, private_home, "clew", "show", "ma") == ["main"]
    assert completed(notes, private_home, "clew", "work", spec[:6]) == [spec]
    assert completed(notes, private_home, "clew", "why", "src/notes/p") == ["src/notes/pager.py"]
    assert completed(notes, private_home, "clew", "why", spec[:6]) == [spec]

    page = notes / ".agent" / "climpt" / "prompts" / "docs" / "write" / "page"
    page.mkdir(parents=True)
    (page / "f_default.md").write_text("Body", encoding="utf-8")
    for words, offered in (
        (("d",), "docs"),
        (("docs", "w"), "write"),
        (("docs", "write", ""), "page"),
    ):
        assert completed(notes, private_home, "clew", "command", "run", *words) == [offered]


def test_show_takes_a_spec_a_commit_and_says_what_is_neither(notes, private_home):
    (notes / ".chant" / "specs").mkdir(parents=True)
    write_spec(notes, "2026-01-01-001-abc", "Sell bicycles")
    spec = run(notes, "clew", "show", "2026-01-01-001-abc", home=private_home)
    assert "Sell bicycles" in spec.stdout
    commit = run(notes, "clew", "show", "HEAD", "--json", home=private_home)
    assert len(json.loads(commit.stdout)["data"]["sha"]) == 40
    several = run(notes, "clew", "show", "HEAD", "HEAD~1", home=private_home).stdout
    shown = [json.loads(commit.stdout)["data"]["sha"][:12], "HEAD~1"]
    assert several.startswith(shown[0])
    assert several.count("    ") >= 2
    neither = run(notes, "clew", "show", "../nothing.md", home=private_home, code=1)
    assert "Neither a commit nor a spec" in neither.stderr
