"""The commands that come with Clew: complete, sound, and found by what they are for."""

import subprocess
from pathlib import Path

import pytest

import clew.commands
from clew.commands.authoring.lint import lint
from clew.commands.registry.registry import shelf
from clew.commands.render.execute import Request, execute
from clew.commands.render.render import names_in
from clew.commands.search.ranking import CommandIndex
from clew.kit.text.frontmatter import read_leniently, split_document
from clew.kit.text.yaml_text import read_quick

LIBRARY = Path(clew.commands.__file__).parent / "library" / "prompts"
FILES = sorted(LIBRARY.rglob("*.md"))
SEVEN = {
    ("git", "decide-branch", "working-branch"),
    ("git", "find-oldest", "descendant-branch"),
    ("git", "group-commit", "unstaged-changes"),
    ("git", "list-select", "pr-branch"),
    ("git", "merge-up", "base-branch"),
    ("meta", "build", "frontmatter"),
    ("meta", "create", "instruction"),
}


def label(path):
    return str(path.relative_to(LIBRARY))


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A directory in which nothing but the library is there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_seven_commands_are_there(outside):
    commands = shelf("climpt", {}).registry().commands
    assert {command.address for command in commands} == SEVEN
    assert all(command.origin == "packaged" for command in commands)
    assert all(command.title and command.description and command.usage for command in commands)


def test_no_file_of_the_library_is_left_out_of_packages():
    """Packages hold what git does not ignore, and `build` is a name that is often ignored."""
    asked = ["git", "check-ignore", *map(str, FILES)]
    done = subprocess.run(asked, cwd=LIBRARY, capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_nothing_in_the_library_is_to_be_remarked(outside):
    assert lint(settings={}, packaged=True) == []


@pytest.mark.parametrize("path", FILES, ids=label)
def test_the_frontmatter_is_read_without_a_yaml_library(path):
    block = split_document(path.read_text(encoding="utf-8")).yaml
    assert read_quick(block)["c3l_version"] == "0.5"


@pytest.mark.parametrize("path", FILES, ids=label)
def test_a_prompt_is_filled_in_completely(path, outside):
    c1, c2, c3, file = path.relative_to(LIBRARY).parts
    request = Request(c1, c2, c3)
    request.adaptation = "detailed" if "detailed" in file else ""
    meta, body, trouble = read_leniently(path.read_text(encoding="utf-8"))
    if "input_text" in names_in(body):
        request.text = "A task\n\n---\n\nwith {uv-main} in it"
    rendered = execute(request, {})
    assert not trouble
    assert rendered.warnings == []
    assert rendered.prompt.startswith("# ")
    assert meta["title"]
    if request.text:
        assert request.text in rendered.prompt


@pytest.mark.parametrize("path", FILES, ids=label)
def test_a_prompt_is_plain_text_of_readable_size(path):
    text = path.read_text(encoding="utf-8")
    assert 1500 < len(text) < 6000
    assert text.isascii()
    assert "--no-verify" not in text.replace("Never use `--no-verify`", "")


@pytest.mark.parametrize(
    ("query", "c2"),
    [
        ("group changes and commit", "group-commit"),
        ("変更をグループ化してコミット", "group-commit"),
        ("save my work as several commits", "group-commit"),
        ("should I make a new branch for this task", "decide-branch"),
        ("新しいブランチを作るか決める", "decide-branch"),
        ("merge the oldest branch", "find-oldest"),
        ("which PR should I work on next", "list-select"),
        ("プルリクエストを選ぶ", "list-select"),
        ("merge branch into parent", "merge-up"),
        ("yaml header for a prompt", "build"),
        ("write a new prompt", "create"),
        ("新しい指示ファイルを作成", "create"),
    ],
)
def test_each_is_found_in_other_words(query, c2, outside):
    commands = shelf("climpt", {}).registry().commands
    assert CommandIndex(commands).search(query)[0].command.c2 == c2


READING = ("status", "log", "diff", "branch", "merge-base", "rev-list", "reflog", "rev-parse")
STAND_INS = ("<merge-base>", "<main>", "<base>", "<branch>", "<candidate>")


def reading_commands(text):
    """The `git ...` of a prompt that only read, with HEAD for every branch."""
    for piece in " ".join(text.split()).split("`"):
        words = piece.replace("'", "").split()
        if words[:1] == ["git"] and words[1:2] and words[1] in READING and "(" not in piece:
            for stand_in in STAND_INS:
                words = [word.replace(stand_in, "HEAD") for word in words]
            yield words[: words.index("--")] if "--" in words else words


@pytest.mark.parametrize("path", FILES, ids=label)
def test_git_understands_what_it_is_asked(path, tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    first = ["git", "commit", "-q", "--allow-empty", "-m", "First"]
    subprocess.run(first, cwd=tmp_path, check=True)
    for words in reading_commands(path.read_text(encoding="utf-8")):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
