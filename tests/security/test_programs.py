"""No program that a repository names ever runs: every vector, every command, tool and page."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

import clew
from clew.history.store.sqlite import SqliteHistory
from clew.kit.git import PLAIN_DIFF, ForeignRepository, run_git
from clew.program import all_tools
from clew.work.model import WorktreeSettings
from clew.work.worktrees.worktrees import prepare
from tests.history.index import new_index
from tests.security.surfaces import (
    call,
    command_lines,
    first_questions,
    furnish,
    page_paths,
    visited,
)
from tests.security.vectors import VECTORS, Trap
from tests.specs.tools.project import boxes, write_spec
from tests.support.client import CLEW, StdioServer
from tests.support.proof import amount
from tests.support.repos import Repository

CONVERSATION = "told"
SPEC, DONE = "2026-01-01-001-abc", "2026-01-01-002-def"
CONFIG = """---
project:
  name: house
defaults:
  provider: command
  command: ['true']
enterprise:
  derived:
    team:
      from: branch
      pattern: '(main)'
---
"""
WORKING_TOOLS = {"chant_work_start", "chant_resume", "chant_takeover", "chant_release",
                 "chant_watch_start", "chant_watch_stop", "chant_split"}  # fmt: skip
# What tools take besides what they must have, so that they look at the repository.
ASKED_WITH = {"commitmux_similar": ("repo", "sha"), "climpt_match": ("query",)}
MORE = {
    "review_agent": {"range": "HEAD~1..HEAD"},
    "chant_edit": {"body": "# Another\n\nWords."}, "chant_spec_update": {"output": "Words."},
    "climpt_execute": {"c1": "meta", "c2": "create", "c3": "instruction"},
    "vision_agent": {"draft": {"statements": []}},
}  # fmt: skip
TAKES_AWAY = {"chant_cancel", "chant_archive", "chant_finalize", "chant_reset"}
# In this place there is nothing for these, whatever they are given: no run, no log, no criterion.
CANNOT = {
    "chant_log", "chant_finalize", "chant_reset", "chant_archive", "chant_check", "chant_pause",
    "session_show",
}  # fmt: skip
COMMANDS_THAT_CANNOT = {
    "clew pause",  # nothing runs
    "clew team ask",  # nobody works for the team
    "clew sessions capture",  # no program hands it anything
    "clew history verify",  # tells of the object that is not there
    "clew spec silent",  # git has the specs already
    "clew advise check",  # finds what is missing in the documents
    "clariad review {id} --range HEAD~2..HEAD",  # needs an object that is not there
}
LOOKING = [one for one in all_tools() if one.name not in WORKING_TOOLS]


class Place:
    """A project whose repository is a trap, indexed before it was laid."""

    def __init__(self, base, home):
        self.repository = Repository(base / "project")
        self.root = self.repository.path
        (self.root / ".chant" / "specs").mkdir(parents=True)
        write_spec(self.root, SPEC, "First", body=boxes(False, False), branch=f"chant/{SPEC}")
        write_spec(self.root, DONE, "Second", status="completed", body="- [x] Done")
        (self.root / ".chant" / "config.md").write_text(CONFIG)
        furnished = furnish(self.root, home, "words")
        self.repository.commit(f"chant({DONE}): first words (#1)", {"src/a.py": "one\n"})
        self.repository.commit("told words", {"told.py": "def told():\n    return 1\n"})
        self.repository.commit("second words", {"src/a.py": "one\ntwo\n"})
        self.database = base / "db"
        new_index(self.database, self.repository).close()
        self.trap = Trap(self.repository, base / "marks")
        self.trap.prepare()
        tree = prepare(self.root, SPEC, WorktreeSettings())
        work = Repository(tree.path)
        work.commit(f"chant({SPEC}): third words", {"a.m": "three\n"})
        self.trap.arm(tree.path)
        self.usual = {
            "id": SPEC, "spec_id": SPEC, "ids": SPEC, "repo": "r", "name": "r", "text": "two", "texts": ["two"],
            "sha": self.repository.head(), "path": "a.t", "path_glob": "a.*", "query": "words",
            "issue": "1", "description": "A thing", "prompt": "standard", "number": 1, "start": 1,
            "agent": "climpt", "c1": "git", "c2": "create", "c3": "issue", "words": "git",
            "project_description": "A shop.", "project_name": "Shop", "task": "sell bicycles",
            "requirements": "It sells bicycles.", "operation_name": "wait", "duration_seconds": 0,
            "target": "a.t:1", "question": "words", "shell": "bash", "symbol": "told",
            "record": "1", "status": "accepted", "conversation_id": CONVERSATION, "host": "cursor",
            "shas": [self.repository.head()], "database": str(self.database), **furnished,
        }  # fmt: skip


@pytest.fixture
def place(tmp_path, private_home, monkeypatch):
    """The trap, and every command in it."""
    made = Place(tmp_path, private_home)
    monkeypatch.setenv("COMMITMUX_DB", str(made.database))
    monkeypatch.chdir(made.root)
    return made


def test_every_program_does_run_with_plain_git(place, record_property):
    """Without this, the tests below could not fail."""
    fired = []
    for vector in VECTORS:
        if vector.is_possible:
            place.trap.fire(vector)
            assert vector.name in place.trap.sprung()
            fired.append(vector.name)
    assert len(fired) >= 30
    record_property("vectors", len(fired))


def test_no_command_runs_one(place, team_database, capsys, monkeypatch, record_property):
    """A new command is tried as well, and must find something here or be among those that cannot."""
    monkeypatch.setenv("EDITOR", "true")  # the user's own
    usual = place.usual | {"team": team_database}
    lines = [
        line for line in command_lines(usual, with_options=amount(False, True)) if not line.works
    ]
    sprung, refused = {}, {}
    for name, words in lines:
        place.trap.touch()
        if call(words):
            refused[name] = capsys.readouterr().err
        found = place.trap.sprung()
        if found:
            sprung[words] = found
    assert sprung == {}
    assert not [name for name, said in refused.items() if "a bug in Clew" in said]
    plain = {name: said for name, said in refused.items() if " -" not in name}
    assert {n: said for n, said in plain.items() if n not in COMMANDS_THAT_CANNOT} == {}
    record_property("vectors x surfaces", len(lines) * len(VECTORS))


def read_in(index):
    """How many commits of the first repository an index has."""
    with SqliteHistory.read(index) as store:
        return store.commit_count(store.repos()[0].repo_id)


def test_no_first_question_runs_one(place, tmp_path, capsys, monkeypatch, record_property):
    """In a clone that was never read, the question itself reads it in."""
    lines = first_questions(place.usual)
    assert {"why", "brief", "search", "recall"} <= {line.words[1] for line in lines}
    sprung, unread = {}, []
    for number, (_, words) in enumerate(lines):
        index = tmp_path / f"first{number}"
        monkeypatch.setenv("COMMITMUX_DB", str(index))
        place.trap.touch()
        call(words)
        found = place.trap.sprung()
        if found:
            sprung[words] = found
        if not index.exists() or not read_in(index):
            unread.append(words)
    assert sprung == {}
    assert unread == []
    assert "a bug in Clew" not in capsys.readouterr().err
    record_property("vectors x surfaces", len(lines) * len(VECTORS))


@pytest.mark.parametrize("name", ["clew_why", "clew_brief", "commitmux_search"])
def test_no_first_call_runs_one(place, tmp_path, name, record_property):
    (tool,) = [one for one in LOOKING if one.prefixed_name == name]
    index = {"COMMITMUX_DB": str(tmp_path / "first")}
    with StdioServer((*CLEW, "--toolsets", "all"), cwd=place.root, env=index) as server:
        asked = {"name": name, "arguments": arguments(tool, place.usual)}
        assert not server.result("tools/call", asked).get("isError")
    assert place.trap.sprung() == []
    record_property("vectors x surfaces", len(VECTORS))


def arguments(tool, usual):
    """What makes a tool do its work, and not only refuse."""
    wanted = {*tool.input_schema.get("required", []), *ASKED_WITH.get(tool.prefixed_name, ())}
    given = {key: usual.get(key, "words") for key in wanted}
    return given | MORE.get(tool.prefixed_name, {})


def test_no_tool_runs_one(place, record_property):
    call(("commitmux", "sync"))
    sprung, refused = {}, set()
    with StdioServer((*CLEW, "--toolsets", "all"), cwd=place.root) as server:
        for tool in sorted(LOOKING, key=lambda one: one.prefixed_name in TAKES_AWAY):
            place.trap.touch()
            asked = {"name": tool.prefixed_name, "arguments": arguments(tool, place.usual)}
            answer = server.ask("tools/call", asked)
            assert "Internal error" not in str(answer)
            if "error" in answer or answer["result"].get("isError"):
                refused.add(tool.prefixed_name)
            found = place.trap.sprung()
            if found:
                sprung[tool.name] = found
    assert sprung == {}
    assert refused <= CANNOT, refused - CANNOT
    record_property("vectors x surfaces", len(LOOKING) * len(VECTORS))


def test_no_page_runs_one(place, record_property):
    pages = page_paths(place.usual)
    pages += [f"/commits/{place.repository.text('rev-parse', 'HEAD~1')}", "/history?q=words",
              "/thread?repo=r&file=a.t&line=1", "/file?repo=r&path=lost.txt"]  # fmt: skip
    sprung, answered = {}, 0
    place.trap.touch()
    for path, status, _ in visited(place.root, place.database, pages):
        assert status < 500, path
        answered += status == 200
        found = place.trap.sprung()
        if found:
            sprung[path] = found
        place.trap.touch()
    assert sprung == {}
    assert answered >= 10
    record_property("vectors x surfaces", len(pages) * len(VECTORS))


STARTS = re.compile(
    r"\b(subprocess|posix_spawn|os\.exec|os\.spawn|os\.system|start_child|run_command)"
)


def starts(tree):
    """The first words of every command that a module hands to the system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple) and node.elts:
            first = node.elts[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in {"Popen", "run", "which", "system", "create_subprocess_exec"}:
                yield str(node.args[0].value).partition(" ")[0]


def test_one_module_starts_git():
    room = Path(clew.__file__).parent
    found = {
        str(path.relative_to(room))
        for path in room.rglob("*.py")
        if STARTS.search(text := path.read_text()) and "git" in set(starts(ast.parse(text)))
    }
    assert found == {"kit/git.py"}


def test_work_that_a_person_started_may_run_filters(place):
    """Otherwise a repository with encrypted or large files could not be worked on."""
    place.trap.touch()
    run_git("status", cwd=place.root)
    assert place.trap.sprung() == []
    run_git("-c", "filter.p.process=", "status", cwd=place.root, working=True)
    sprung = place.trap.sprung()
    assert "filter-clean" in sprung
    assert not {"fsmonitor", "hook", "hooks-path"} & set(sprung)


def test_a_filter_that_the_user_named_stays(place, private_home):
    """A repository only chooses it; what it says itself is not asked."""
    with (private_home / "gitconfig").open("a") as settings:
        settings.write('[filter "c"]\n\tclean = tr o O\n')
    place.repository.write("a.c", "twO\n")
    listed = run_git("diff", "--name-only", "HEAD", "--", "a.c", cwd=place.root)
    assert listed == b"a.c\n"
    place.repository.write("a.c", "two\n")
    shown = run_git("diff", *PLAIN_DIFF, "HEAD", "--", "a.c", cwd=place.root)
    assert b"+twO" in shown
    assert place.trap.sprung() == []


def test_a_repository_of_another_user_is_refused_and_explained(place, monkeypatch, capsys):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(ForeignRepository) as refused:
        run_git("rev-parse", "HEAD", cwd=place.root, check=False)
    assert f"git config --global --add safe.directory {place.root}" in refused.value.full_text()
    assert call(("commitmux", "add-repo", str(place.root), "--name", "again")) == 1
    assert "safe.directory" in capsys.readouterr().err
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", place.root], check=True)
    assert run_git("rev-parse", "HEAD", cwd=place.root)


def test_what_one_machine_put_in_place_of_commits_is_left_out(tmp_path):
    """Grafts and replace references change history for those who have them, and for nobody else."""
    repository = Repository(tmp_path / "replaced")
    first, second = repository.commit("one", {"a": "1"}), repository.commit("two", {"a": "2"})
    asked = ("log", "-1", "--format=%s %P")
    (repository.path / ".git" / "info" / "grafts").write_text(f"{second}\n")
    assert repository.text(*asked, second) == "two"
    assert run_git(*asked, second, cwd=repository.path).decode() == f"two {first}\n"
    repository.git("replace", first, second)
    assert repository.text(*asked, first).startswith("two")
    assert run_git(*asked, first, cwd=repository.path).decode() == "one \n"
