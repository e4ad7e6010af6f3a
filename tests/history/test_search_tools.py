"""Search through the server and the command line: filters, pages, freshness, one state."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import threading

import pytest
from jsonschema import Draft202012Validator

from clew.history.search.search import search_commits
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.freshness import commits_behind, freshness
from clew.history.sync.repositories import register, remove
from clew.history.tools import HISTORY_TOOLS
from clew.history.tools.search import find as find_tool
from clew.kit.call import Call
from tests.history.index import new_index, sync
from tests.history.test_commands import Commands
from tests.support.client import BIN, COMMITMUX, StdioServer
from tests.support.repos import Repository

OUTPUTS = {tool.name: tool.output_schema for tool in HISTORY_TOOLS}


@pytest.fixture
def world(tmp_path):
    r = Repository(tmp_path / "r")
    r.commit("Start the parser", {"src/parser.py": "def parse():\n    return 1\n"})
    r.commit("Teach the parser numbers", {"src/parser.py": "def parse():\n    return 22\n"})
    r.commit("Write about it", {"docs/parser.md": "The parser knows \x1b[31m numbers\n"})
    store = new_index(tmp_path / "db", r)
    yield r, store
    store.close()


def ask(server, name, **arguments):
    result = server.result("tools/call", {"name": name, "arguments": arguments})
    assert not result["isError"], result
    Draft202012Validator(OUTPUTS[name]).validate(result["structuredContent"])
    return json.loads(result["content"][0]["text"]), result["structuredContent"]


@pytest.mark.usefixtures("world")
def test_find_through_the_server(tmp_path):
    options = ("--db", str(tmp_path / "db"), "--extended")
    with StdioServer((*COMMITMUX, *options)) as server:
        listed = {tool["name"] for tool in server.result("tools/list")["tools"]}
        assert "commitmux_find" in listed
        text, data = ask(server, "commitmux_find", query="parser return", **{"in": "all"})
        assert text == data
        assert text["freshness"] == {"stale": False}
        assert text["total"] == 2
        assert text["commits"][0]["snippets"][0].keys() == {"path", "line", "kind", "text"}
        page, _ = ask(server, "commitmux_find", query="parser", limit=1, sort="date")
        assert page["commits"][0]["subject"] == "Write about it"
        rest, _ = ask(
            server, "commitmux_find", query="parser", sort="date", cursor=page["next_cursor"]
        )
        assert len(rest["commits"]) == 2
        only, _ = ask(
            server, "commitmux_find", paths=["docs/**"], status="A", since="9999 days ago"
        )
        assert [hit["subject"] for hit in only["commits"]] == ["Write about it"]
        for wrong in ({"since": "someday"}, {"sort": "size"}, {"ref": "nope"}, {"cursor": "x"}):
            answer = server.result(
                "tools/call", {"name": "commitmux_find", "arguments": {"query": "parser", **wrong}}
            )
            assert answer["isError"]
            assert "Traceback" not in answer["content"][0]["text"]


def test_documented_tools_tell_freshness_beside_their_text(world, tmp_path):
    r, _ = world
    head = r.head()
    with StdioServer((*COMMITMUX, "--db", str(tmp_path / "db"))) as server:
        listed = {tool["name"] for tool in server.result("tools/list")["tools"]}
        assert "commitmux_find" not in listed
        calls = {
            "commitmux_search": {"query": "parser"},
            "commitmux_touches": {"path_glob": "src"},
            "commitmux_get_commit": {"repo": "r", "sha": head},
            "commitmux_get_patch": {"repo": "r", "sha": head},
        }
        for behind in (0, 1, 2):
            for name, arguments in calls.items():
                text, data = ask(server, name, **arguments)
                told = data.pop("freshness")
                assert (data["result"] if isinstance(text, list) else data) == text
                if behind:
                    assert told == {
                        "stale": True,
                        "repos": [{"repo": "r", "stale": True, "behind": behind}],
                        "sync": "commitmux sync --repo r",
                    }
                else:
                    assert told == {"stale": False}
            r.commit("Later", {"later.txt": f"{behind}\n"})


def told(store):
    found = freshness(store, store.repos())
    return found["stale"], found.get("repos", [{"behind": 0}])[0]["behind"]


def test_freshness_agrees_with_git(world):
    r, store = world
    (repo,) = store.repos()
    assert told(store) == (False, 0)
    r.git("checkout", "-q", "-b", "other")
    assert told(store) == (False, 0)
    for number in range(3):
        r.commit(f"More {number}", {"more.txt": f"{number}\n"})
    assert told(store) == (True, commits_behind(store, repo)) == (True, 3)
    r.git("checkout", "-q", "main")
    assert told(store) == (False, 0)
    r.git("merge", "-q", "--no-ff", "--no-edit", "other", env=r.dates())
    assert told(store) == (True, commits_behind(store, repo)) == (True, 4)
    r.git("gc", "-q", "--prune=now")
    assert told(store) == (True, None)
    sync(store)
    assert told(store) == (False, 0)
    r.git("reset", "-q", "--hard", "HEAD~1")
    assert told(store) == (True, 0)
    r.path.rename(r.path.parent / "moved")
    assert told(store) == (None, None)


def test_freshness_of_all_branches(tmp_path):
    r = Repository(tmp_path / "r")
    r.commit("First", {"a": "1\n"})
    store = new_index(tmp_path / "db", r, all_refs=True)
    assert told(store) == (False, 0)
    r.git("checkout", "-q", "-b", "feature/deep")
    r.commit("Second", {"a": "2\n"})
    r.git("checkout", "-q", "main")
    assert told(store) == (True, 1)
    sync(store)
    assert told(store) == (False, 0)
    store.close()


def test_a_repository_that_was_never_synced(tmp_path):
    r = Repository(tmp_path / "r")
    r.commit("First", {"a": "1\n"})
    store = new_index(tmp_path / "db")
    register(store, r.path, name="r")
    assert told(store) == (True, 1)
    store.close()


@pytest.mark.usefixtures("world")
def test_one_call_sees_one_state(tmp_path):
    """What another connection removes meanwhile is there until the call has ended."""
    reader = SqliteHistory.read(tmp_path / "db")
    with reader.snapshot():
        before = search_commits(reader, "parser")
        removing = threading.Thread(target=_remove, args=(tmp_path / "db",))
        removing.start()
        removing.join(120)
        assert search_commits(reader, "parser") == before != []
        with reader.snapshot():
            assert len(reader.repos()) == 1
    assert reader.repos() == []
    assert search_commits(reader, "parser") == []
    assert not reader.connection.in_transaction
    reader.close()
    answer = find_tool({"query": "parser"}, Call(settings={"db": str(tmp_path / "db")}))
    assert json.loads(answer.text)["commits"] == []


def _remove(path):
    store = SqliteHistory.open(path)
    remove(store, "r")
    store.close()


@pytest.fixture
def commands(world, tmp_path):
    return Commands(tmp_path / "db")


def test_commands_have_the_filters(commands):
    found = commands.data("search", "parser", "--sort", "date", "--limit", "1")
    assert found["commits"][0]["subject"] == "Write about it"
    assert found["freshness"] == {"stale": False}
    rest = commands.data("search", "parser", "--sort", "date", "--cursor", found["next_cursor"])
    assert len(rest["commits"]) == 2
    for words, count in (
        (["--path", "docs/**"], 1),
        (["--status", "A"], 2),
        (["--author", "nobody"], 0),
        (["--ref", "main"], 3),
        (["--since", "2 weeks ago"], 0),
        (["--until", "2 weeks ago", "--in", "message"], 2),
        (["--in", "diff"], 1),
    ):
        assert len(commands.data("search", "parser", *words)["commits"]) == count, words
    assert len(commands.data("search", "--author", "@")["commits"]) == 3
    assert "Give words" in commands.fails("search", code=2)
    touched = commands.data("touches", "src/*", "--status", "M", "--ref", "main")["touches"]
    assert [hit["subject"] for hit in touched] == ["Teach the parser numbers"]
    page = commands.data("touches", "parser", "--limit", "2")
    more = commands.data("touches", "parser", "--limit", "2", "--cursor", page["next_cursor"])
    assert len(page["touches"] + more["touches"]) == 3
    assert "another request" in commands.fails("search", "x", "--cursor", page["next_cursor"])
    assert "Not a date" in commands.fails("touches", "x", "--until", "someday", code=2)
    assert "nope" in commands.fails("search", "x", "--ref", "nope")


def test_commands_show_lines_and_no_escapes(commands):
    shown = commands.ok("search", "numbers", "--sort", "date")
    assert "    docs/parser.md:1: +The parser knows \\x1b[31m numbers\n" in shown
    assert "\x1b" not in shown
    assert "\nNext page" not in commands.ok("search", "parser", "--lines", "0")
    assert "--cursor" in commands.ok("search", "parser", "--limit", "1")


def test_a_terminal_gets_colours(commands):
    main, side = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [str(BIN / "commitmux"), "search", "return", "--db", str(commands.db)],
        stdout=side,
        env=environment,
    ) as process:
        assert process.wait(60) == 0
    os.close(side)
    shown = os.read(main, 65536).decode()
    os.close(main)
    assert "\x1b[1m" in shown
    assert "\x1b[32m\x1b[1m\x1b[4mreturn\x1b[0m" in shown


def test_a_stale_index_is_told_on_standard_error(commands, world):
    r, _ = world
    assert commands.run("search", "parser").stderr == ""
    r.commit("Later parser", {"x": "x\n"})
    for words in (["search", "parser"], ["touches", "src"]):
        said = commands.run(*words).stderr
        assert said == "The index is behind: r (1 commit). Run: commitmux sync --repo r\n"


def test_show_of_a_missing_commit(commands):
    assert commands.fails("show", "r", "abc123") == "commitmux: Commit r:abc123 not found\n"
    assert commands.fails("patch", "r", "abc123") == "commitmux: Patch r:abc123 not found\n"
