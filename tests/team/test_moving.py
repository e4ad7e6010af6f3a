"""An index moved into PostgreSQL and back is the same, and every tool answers the same from it."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from clew.history.maintenance.export import write_snapshot
from clew.history.maintenance.verify import verify_repo
from clew.history.store.engines import create_index, read_index
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.history.tools import HISTORY_TOOLS
from clew.kit.call import Call
from clew.program import offer_engines
from clew.team.history.moving import import_index
from tests.support.repos import generate

COMMITS = 48  # so few that a ranking reads them all: of more, each engine reads its own best


@pytest.fixture
def both(tmp_path, team_database):
    """The address of an index in a file and of the same in PostgreSQL, and the repository."""
    offer_engines()
    repository = generate(tmp_path / "r", COMMITS)
    with closing(SqliteHistory.create(tmp_path / "db")) as store:
        sync_repo(store, register(store, repository.path, name="r"))
    with closing(create_index(team_database)) as store:
        import_index(store, tmp_path / "db")
    return str(tmp_path / "db"), team_database, repository


def whole(store, name="r"):
    repo = store.find_repo(name)
    return (
        list(store.stored_commits(repo.repo_id)),
        store.tips(repo.repo_id),
        store.state(repo.repo_id),
    )


def test_an_index_goes_in_and_out_without_a_change(both, tmp_path):
    file, address, _ = both
    with closing(read_index(file)) as source, closing(read_index(address)) as target:
        assert whole(source) == whole(target)
        report = verify_repo(target, target.find_repo("r"))
        assert (report["commits"], report["difference_count"]) == (COMMITS, 0)
        assert write_snapshot(target, "r", tmp_path / "back") == COMMITS
    with closing(read_index(file)) as source, closing(read_index(str(tmp_path / "back"))) as back:
        assert whole(source) == whole(back)
        assert verify_repo(back, back.find_repo("r"))["difference_count"] == 0


def test_what_is_imported_again_replaces_what_was_there(both):
    file, address, _ = both
    with closing(create_index(address)) as store:
        before = whole(store)
        assert import_index(store, Path(file)) == [("r", COMMITS)]
        assert whole(store) == before


def asked_of(tool, sha, path):
    words = {"sha": sha, "fix": sha, "shas": [sha], "repo": "r", "query": "change", "text": "line",
             "path": path, "path_glob": path, "target": sha, "start": 1, "end": 2, "line": 1,
             "rev": "HEAD", "issue": "#1", "file": path, "paths": [path], "commit": sha}  # fmt: skip
    wanted = tool.input_schema.get("required", ())
    all_of_it = {"limit": 500} if "limit" in tool.input_schema["properties"] else {}
    return {name: words[name] for name in wanted if name in words} | all_of_it


def answer(tool, address, given):
    said = tool.handler(given, Call(settings={"database": address}))
    return json.loads(json.dumps(said.data, default=str))


OWN = ("next_cursor", "score")


def sorted_lists(value):
    """An answer with every list sorted: ranks are an engine's own, what is found is not."""
    if isinstance(value, dict):
        return {key: sorted_lists(item) for key, item in value.items() if key not in OWN}
    if isinstance(value, list):
        return sorted((sorted_lists(item) for item in value), key=json.dumps)
    return value


def test_every_tool_answers_the_same(both):
    file, address, repository = both
    sha = repository.text("rev-list", "--no-merges", "-n1", "HEAD~5").strip()
    path = repository.text("ls-files").splitlines()[0]
    compared = 0
    for tool in HISTORY_TOOLS:
        given = asked_of(tool, sha, path)
        if "model" in tool.description or set(tool.input_schema.get("required", ())) - given.keys():
            continue
        try:
            expected = answer(tool, file, given)
        except Exception as error:  # noqa: BLE001 - both must refuse alike
            with pytest.raises(type(error)):
                answer(tool, address, given)
            continue
        assert sorted_lists(answer(tool, address, given)) == sorted_lists(expected), tool.name
        compared += 1
    assert compared >= 12


def test_the_commands_move_and_search(both, tmp_path):
    _, address, _ = both

    def clew(*words):
        done = subprocess.run(
            [sys.executable, "-m", "clew", *words, "--json"],
            capture_output=True,
            check=False,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert clew("team", "migrate", "--database", address)["data"]["schema"] >= 1
    found = clew("history", "search", "change", "--database", address)
    assert found["data"]
    clew("team", "export", "r", str(tmp_path / "out"), "--database", address)
    assert clew("team", "import", str(tmp_path / "out"), "--database", address)["data"] == {
        "repos": [{"name": "r", "commits": COMMITS}]
    }
