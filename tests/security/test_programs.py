"""No program that a repository names ever runs: every vector, every command, tool and page."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

import clew
from clew.kit.git import PLAIN_DIFF, ForeignRepository, run_git
from clew.program import all_tools
from clew.web.app import ROUTES
from clew.work.model import WorktreeSettings
from clew.work.worktrees.worktrees import prepare
from tests.history.index import new_index
from tests.security.surfaces import ENDLESS, call, command_lines
from tests.security.vectors import VECTORS, Trap
from tests.specs.tools.project import write_spec
from tests.support.client import BIN, CLEW, StdioServer
from tests.support.http import http_server
from tests.support.repos import Repository

SPEC, DONE = "2026-01-01-001-abc", "2026-01-01-002-def"
CONFIG = "---\nproject:\n  name: house\ndefaults:\n  provider: command\n  command: ['true']\n---\n"
# Starting these is consent to what the project names: SECURITY.md.
WORKING = {"work", "resume", "release", "takeover", "merge", "cleanup"}
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
LOOKING = [one for one in all_tools() if one.name not in WORKING_TOOLS]


class Place:
    """A project whose repository is a trap, indexed before it was laid."""

    def __init__(self, base):
        self.repository = Repository(base / "project")
        self.root = self.repository.path
        (self.root / ".chant" / "specs").mkdir(parents=True)
        write_spec(self.root, SPEC, "First", body="- [ ] It works", branch=f"chant/{SPEC}")
        write_spec(self.root, DONE, "Second", status="completed", body="- [x] Done")
        (self.root / ".chant" / "config.md").write_text(CONFIG)
        self.repository.commit(f"chant({DONE}): first words (#1)", {"src/a.py": "one\n"})
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
            "target": "a.t:1", "question": "words", "file": str(base / "file"), "shell": "bash",
            "record": "1", "status": "accepted", "conversation_id": "nothing", "host": "cursor",
            "source": str(base), "base": "a", "ours": "b", "theirs": "c",
            "shas": [self.repository.head()],
        }  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The trap, and every command in it."""
    made = Place(tmp_path)
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


def test_no_command_runs_one(place, capsys, record_property):
    left_out = ENDLESS | WORKING - {"merge", "cleanup"}
    lines = [
        words
        for words in command_lines(place.usual, left_out)
        if words[1] not in WORKING or {"--list", "--dry-run"} & set(words)
    ]
    assert len(lines) > 90
    sprung, done = {}, 0
    for words in lines:
        place.trap.touch()
        done += call(words) == 0
        found = place.trap.sprung()
        if found:
            sprung[words] = found
    assert sprung == {}
    assert done > 60
    assert "a bug in Clew" not in capsys.readouterr().err
    record_property("vectors x surfaces", len(lines) * len(VECTORS))


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
    parts = {**place.usual, "path": "README.md", "name": "x"}
    pages = [
        re.sub(r"{(\w+)(?::path)?}", lambda part: parts[part[1]], route.path)
        for route in ROUTES
        if "GET" in route.methods and not {"static", "live"} & set(route.path.split("/"))
    ]
    pages += [f"/commits/{place.repository.text('rev-parse', 'HEAD~1')}", "/history?q=words",
              "/thread?repo=r&file=a.t&line=1", "/file?repo=r&path=lost.txt"]  # fmt: skip
    command = (BIN / "clew", "web", "--read-only", "--port", "0", "--project", place.root)
    sprung, answered = {}, 0
    with http_server([str(word) for word in (*command, "--db", place.database)]) as server:
        _, got, _ = server.send("GET", path=server.url.partition(server.address.netloc)[2])
        cookie = {
            "Cookie": next((v.partition(";")[0] for k, v in got.items() if k == "set-cookie"), "")
        }
        for path in pages:
            place.trap.touch()
            status, _, _ = server.send("GET", path=path, headers=cookie)
            assert status < 500, path
            answered += status == 200
            found = place.trap.sprung()
            if found:
                sprung[path] = found
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
