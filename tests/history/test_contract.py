"""What the documentation of commitmux promises, through the server, word for word."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.history.lookup import get_patch
from clew.history.store.sqlite import SqliteHistory
from tests.history.index import git_patch, new_index
from tests.support.client import BIN, COMMITMUX, StdioServer, pipe
from tests.support.repos import Repository

BODY = (
    "Fixes #482. Uses a per-IP token bucket with a 100 req/min default.\n"
    "Bucket capacity and refill rate are configurable via environment variables.\n\n"
    "Co-authored-by: Jordan Lee <jordan@example.com>"
)
DANA = ["--author=Dana Blackwell <dana@example.com>"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The repository of the examples, its index and the commits by name."""
    home = tmp_path_factory.mktemp("seed")
    r = Repository(home / "api-server")
    r.git("config", "user.name", "Test")
    r.git("config", "user.email", "test@example.com")
    shas = {}
    r.commit(
        "Start",
        {
            "src/middleware/mod.rs": "pub mod logging;\npub mod auth;\n",
            "tests/middleware_test.rs": "// tests\n",
            "src/auth/tokens.rs": "a\n",
        },
    )
    shas["refresh"] = r.commit("Add refresh token rotation", {"src/auth/refresh.rs": "fn r() {}\n"})
    shas["jwt"] = r.commit("Migrate auth tokens to short-lived JWTs", {"src/auth/tokens.rs": "b\n"})
    shas["limiter"] = r.commit(
        f"Add token bucket rate limiter to middleware stack\n\n{BODY}\n",
        {
            "src/middleware/mod.rs": "pub mod logging;\npub mod auth;\npub mod rate_limit;\n",
            "src/middleware/rate_limit.rs": "use std::sync::Arc;\n" + "// größer\n" * 80,
            "tests/middleware_test.rs": "// more tests\n",
        },
        env={"GIT_AUTHOR_DATE": "1740700997 +0100"},
        options=DANA,
    )
    shas["binary"] = r.commit("Add a picture", {"p.png": b"\x00\x01" * 99})
    for n in range(60):
        r.commit(f"Many {n}", {"many/file.txt": f"{n}\n"})
    store = new_index(home / "db.sqlite3", r, name="api-server")
    yield r, home / "db.sqlite3", shas
    store.close()


def call(server, name, **arguments):
    """The text of a tool's answer and whether it is an error."""
    result = server.result("tools/call", {"name": name, "arguments": arguments})
    assert result["content"][0]["type"] == "text"
    return result["content"][0]["text"], result["isError"]


def answer(server, name, **arguments):
    """The JSON of a tool's answer."""
    text, failed = call(server, name, **arguments)
    assert not failed, text
    return json.loads(text)


@pytest.fixture(scope="module")
def server(world):
    """The server as a host starts it."""
    with StdioServer((*COMMITMUX, "--db", str(world[1]))) as running:
        handshake = running.result("initialize", {})
        assert handshake["protocolVersion"] == "2024-11-05"
        assert "tools" in handshake["capabilities"]
        assert handshake["serverInfo"]["name"] == "commitmux"
        yield running


SCHEMAS = {
    "commitmux_search": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "FTS5 query string"},
            "since": {
                "type": "integer",
                "description": "Unix timestamp lower bound on author date",
            },
            "repos": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Filter by repo names",
            },
            "paths": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Filter by path substrings",
            },
            "limit": {"type": "integer", "description": "Max results (default 20)"},
        },
        "required": ["query"],
    },
    "commitmux_touches": {
        "type": "object",
        "properties": {
            "path_glob": {"type": "string", "description": "Substring to match against file paths"},
            "since": {
                "type": "integer",
                "description": "Unix timestamp lower bound on author date",
            },
            "repos": {"type": "array", "items": {"type": "string"}},
            "limit": {"type": "integer", "description": "Max results (default 50)"},
        },
        "required": ["path_glob"],
    },
    "commitmux_get_commit": {
        "type": "object",
        "properties": {
            "repo": {"type": "string", "description": "Repo name as registered with add-repo"},
            "sha": {"type": "string", "description": "Commit SHA (full or partial prefix)"},
        },
        "required": ["repo", "sha"],
    },
    "commitmux_get_patch": {
        "type": "object",
        "properties": {
            "repo": {"type": "string", "description": "Repo name"},
            "sha": {"type": "string", "description": "Commit SHA"},
            "max_bytes": {
                "type": "integer",
                "description": "Truncate patch text to this many bytes",
            },
        },
        "required": ["repo", "sha"],
    },
}


def test_schemas(server):
    listed = {tool["name"]: tool for tool in server.result("tools/list")["tools"]}
    for name, schema in SCHEMAS.items():
        told = listed[name]["inputSchema"]
        assert told["type"] == "object"
        assert told["required"] == schema["required"]
        for key, value in schema["properties"].items():
            assert told["properties"][key] == value, (name, key)


def test_search_example(server, world):
    repository, _, shas = world
    found = answer(server, "commitmux_search", query="rate limiter", limit=5)
    assert len(found) == 1
    assert list(found[0]) == [
        "repo",
        "sha",
        "subject",
        "author",
        "date",
        "matched_paths",
        "patch_excerpt",
    ]
    assert found[0] == {
        "repo": "api-server",
        "sha": shas["limiter"],
        "subject": "Add token bucket rate limiter to middleware stack",
        "author": "Dana Blackwell",
        "date": 1740700997,
        "matched_paths": [
            "src/middleware/mod.rs",
            "src/middleware/rate_limit.rs",
            "tests/middleware_test.rs",
        ],
        "patch_excerpt": git_patch(repository, shas["limiter"]).decode()[:300],
    }
    assert len(found[0]["patch_excerpt"]) == 300


@pytest.mark.parametrize(
    "query",
    [
        "rate limiter",
        '"rate limiter"',
        "rate*",
        "limiter AND token",
        "rate NOT picture",
        "subject:limiter",
        "configurable",
    ],
)
def test_documented_query_forms(server, world, query):
    found = answer(server, "commitmux_search", query=query)
    assert world[2]["limiter"] in [hit["sha"] for hit in found]


def test_search_filters(server, world):
    shas = world[2]

    def ask(**more):
        return [h["sha"] for h in answer(server, "commitmux_search", query="token", **more)]

    assert shas["limiter"] in ask()
    assert ask(since=1740700997) == [shas["limiter"]]
    assert ask(since=1740700998) == []
    assert ask(paths=["src/auth/"])
    assert shas["limiter"] not in ask(paths=["src/auth/"])
    assert ask(repos=["api-server"]) == ask()
    assert ask(repos=[]) == []


def test_default_limits(server):
    assert len(answer(server, "commitmux_search", query="many")) == 20
    assert len(answer(server, "commitmux_search", query="many", limit=60)) == 60
    assert len(answer(server, "commitmux_touches", path_glob="many/")) == 50
    assert len(answer(server, "commitmux_touches", path_glob="many/", limit=55)) == 55
    assert answer(server, "commitmux_touches", path_glob="many/", limit=0) == []


def test_touches_example(server, world):
    shas = world[2]
    found = answer(server, "commitmux_touches", path_glob="src/auth/")
    assert list(found[0]) == ["repo", "sha", "subject", "date", "path", "status"]
    assert [(hit["sha"], hit["path"], hit["status"]) for hit in found[:2]] == [
        (shas["jwt"], "src/auth/tokens.rs", "M"),
        (shas["refresh"], "src/auth/refresh.rs", "A"),
    ]
    dates = [hit["date"] for hit in found]
    assert dates == sorted(dates, reverse=True)


@pytest.mark.parametrize("length", [40, 12, 7])
def test_get_commit_example(server, world, length):
    sha = world[2]["limiter"]
    found = answer(server, "commitmux_get_commit", repo="api-server", sha=sha[:length])
    assert found == {
        "repo": "api-server",
        "sha": sha,
        "subject": "Add token bucket rate limiter to middleware stack",
        "body": BODY,
        "author": "Dana Blackwell",
        "date": 1740700997,
        "changed_files": [
            {"path": "src/middleware/mod.rs", "status": "M", "old_path": None},
            {"path": "src/middleware/rate_limit.rs", "status": "A", "old_path": None},
            {"path": "tests/middleware_test.rs", "status": "M", "old_path": None},
        ],
    }
    assert list(found) == ["repo", "sha", "subject", "body", "author", "date", "changed_files"]
    plain = answer(server, "commitmux_get_commit", repo="api-server", sha=world[2]["jwt"])
    assert plain["body"] is None


def test_get_patch_example(server, world):
    repository, _, shas = world
    found = answer(server, "commitmux_get_patch", repo="api-server", sha=shas["limiter"])
    assert list(found) == ["repo", "sha", "patch_text"]
    assert found["patch_text"] == git_patch(repository, shas["limiter"]).decode()
    short = answer(
        server, "commitmux_get_patch", repo="api-server", sha=shas["limiter"], max_bytes=99
    )
    assert short["patch_text"] == found["patch_text"][:99]


def test_error_texts(server, world):
    sha = world[2]["binary"]
    wanted = {
        ("commitmux_get_commit", "api-server", "abc123"): "Commit api-server:abc123 not found",
        ("commitmux_get_commit", "none", sha): f"Commit none:{sha} not found",
        ("commitmux_get_patch", "api-server", sha): f"Patch api-server:{sha} not found",
        ("commitmux_get_patch", "none", "abcd"): "Patch none:abcd not found",
        ("commitmux_get_commit", "api-server", ""): "Commit api-server: not found",
        ("commitmux_get_commit", "api-server", "%"): "Commit api-server:% not found",
    }
    for (tool, repo, sha_), text in wanted.items():
        assert call(server, tool, repo=repo, sha=sha_) == (text, True)


@pytest.mark.parametrize(
    "hostile",
    [
        {"query": "x", "since": 2**53 - 1},
        {"query": "x", "since": -(2**53)},
        {"query": "x", "limit": 2**53 - 1},
        {"query": "x", "limit": -1},
        {"query": "many", "paths": ["a\x00b", "%", "_", '"', "*" * 500]},
        {"query": "x\x00y"},
        {"query": "a" * 100_000},
        {"query": "a " * 50_000},
        {"query": "x OR " * 2000 + "y"},
        {"query": "(" * 5000 + "x"},
        {"query": "x", "paths": ["p" * 100_000]},
    ],
)
def test_hostile_searches_are_answered(server, hostile):
    text, failed = call(server, "commitmux_search", **hostile)
    assert not failed, text
    assert isinstance(json.loads(text), list)


@pytest.mark.parametrize("name", ["\x00", "' OR 1=1 --", "%", "x" * 100_000, "../.."])
def test_hostile_names_are_just_not_found(server, name):
    for tool in ("commitmux_get_commit", "commitmux_get_patch"):
        for arguments in ({"repo": name, "sha": "abcd"}, {"repo": "api-server", "sha": name}):
            text, failed = call(server, tool, **arguments)
            assert failed
            assert text.endswith("not found")
    text, failed = call(server, "commitmux_search", query="x", repos=[name])
    assert failed
    assert "not found" in text


def test_the_index_by_environment_and_home(world, tmp_path):
    _, path, shas = world
    ask = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {
            "name": "commitmux_get_commit",
            "arguments": {"repo": "api-server", "sha": shas["jwt"]},
        },
    }
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    by_variable = pipe(COMMITMUX, first, ask, env={"COMMITMUX_DB": str(path)})
    home = tmp_path / "home"
    (home / ".commitmux").mkdir(parents=True)
    SqliteHistory.read(path).close()
    with sqlite3.connect(path) as source, sqlite3.connect(home / ".commitmux/db.sqlite3") as copy:
        source.backup(copy)
    source.close()
    copy.close()
    by_home = pipe(COMMITMUX, first, ask, env={"HOME": str(home)})
    missing = pipe(COMMITMUX, first, ask, env={"HOME": str(tmp_path)})
    assert by_variable[1]["result"] == by_home[1]["result"]
    text = missing[1]["result"]["content"][0]["text"]
    assert text.startswith("Database not found at ")
    assert "Run 'commitmux init' first." in text


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "commitmux", "args": ["serve"]},
        {"command": "commitmux", "args": ["serve"], "transport": "stdio"},
        {"command": "{bin}/commitmux", "args": ["serve"]},
        {"command": "{bin}/commitmux", "args": ["serve", "--db", "{db}"]},
    ],
)
def test_host_configurations_as_written(world, entry, monkeypatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=":")
    places = {"bin": str(BIN), "db": str(world[1])}
    command = [part.format(**places) for part in (entry["command"], *entry["args"])]
    assert shutil.which(command[0])
    answers = pipe(
        command,
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    assert {tool["name"] for tool in answers[1]["result"]["tools"]} >= set(SCHEMAS)


COLUMNS = {
    "repos": ["repo_id", "name", "local_path", "remote_url", "default_branch"],
    "commits": [
        "repo_id",
        "sha",
        "author_name",
        "author_email",
        "committer_name",
        "committer_email",
        "author_time",
        "commit_time",
        "subject",
        "body",
        "parent_count",
        "patch_preview",
    ],
    "commit_files": ["repo_id", "sha", "path", "status", "old_path"],
    "commit_patches": ["repo_id", "sha", "patch_blob"],
    "ingest_state": ["repo_id", "last_synced_at", "last_synced_sha", "last_error"],
}


def test_documented_tables_by_plain_sqlite(world):
    repository, path, shas = world
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    for table, columns in COLUMNS.items():
        row = connection.execute(f"SELECT {', '.join(columns)} FROM {table} LIMIT 1").fetchone()
        assert row is not None, table
    found = connection.execute(
        "SELECT c.sha, c.patch_preview FROM commits_fts f JOIN commits c ON c.rowid = f.rowid"
        " WHERE commits_fts MATCH 'subject:limiter AND body:bucket' ORDER BY rank"
    ).fetchall()
    whole = git_patch(repository, shas["limiter"])
    assert found == [(shas["limiter"], whole.decode()[:500])]
    blob = connection.execute(
        "SELECT patch_blob FROM commit_patches WHERE sha = ?", (shas["limiter"],)
    ).fetchone()[0]
    assert zstandard.ZstdDecompressor().decompress(blob) == whole
    assert connection.execute(
        "SELECT snippet(commits_fts, 0, '[', ']', '…', 9) FROM commits_fts"
        " WHERE commits_fts MATCH 'patch_preview : rate_limit'"
    ).fetchall()
    state = connection.execute("SELECT last_synced_sha, last_error FROM ingest_state").fetchone()
    assert state == (repository.head(), None)
    connection.close()


@settings(max_examples=60, deadline=None)
@given(st.integers(-3, 3000))
def test_max_bytes_cuts_between_characters(world, most):
    store = SqliteHistory.read(world[1])
    try:
        whole = get_patch(store, "api-server", world[2]["limiter"])["patch_text"]
        cut = get_patch(store, "api-server", world[2]["limiter"], most)["patch_text"]
    finally:
        store.close()
    assert whole.startswith(cut)
    size = len(cut.encode())
    assert size <= max(most, 0)
    if cut != whole:
        assert size + len(whole[len(cut)].encode()) > max(most, 0)


def test_serving_cannot_write(world):
    store = SqliteHistory.read(world[1])
    for statement in (
        "DELETE FROM repos",
        "UPDATE commit_rows SET subject = ''",
        "CREATE TABLE x (y)",
        "INSERT INTO search_fts (search_fts) VALUES ('rebuild')",
        "VACUUM",
    ):
        with pytest.raises(sqlite3.OperationalError):
            store.connection.execute(statement)
    store.connection.execute("PRAGMA query_only=OFF")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        store.connection.execute("DELETE FROM repos")
    store.close()


def test_serving_starts_no_git(world, tmp_path):
    trap = tmp_path / "bin"
    trap.mkdir()
    (trap / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (trap / "git").chmod(0o755)
    arguments = {"name": "commitmux_search", "arguments": {"query": "token"}}
    pipe(
        (*COMMITMUX, "--db", str(world[1])),
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments},
        env={"PATH": str(trap)},
    )
    assert not (tmp_path / "ran").exists()
    assert subprocess.run([trap / "git"], check=True).returncode == 0
