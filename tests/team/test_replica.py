"""A replica that is behind answers with an earlier state of the index, and never with half a commit."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from clew.history.lookup import get_commit, get_patch
from clew.history.model import Repo
from clew.history.search.search import search_commits
from clew.kit.errors import NotFound
from clew.team.history.store import PostgresHistory
from tests.history.store.conftest import commit
from tests.support.postgres import PostgresServer, why_missing
from tests.support.proof import amount
from tests.support.waiting import wait_until

COMMITS = amount(60, 1500)
BATCH = 3
STATE = "SELECT pg_get_wal_replay_pause_state()"
MADE = [
    commit(
        f"Change n{number}",
        (f"src/f{number}.py", "A", {"added": [f"word{number} everywhere"]}),
        day=number % 900,
        parents=[f"Change n{number - 1}"] if number else (),
    )
    for number in range(COMMITS)
]


@pytest.fixture(scope="module")
def pair():
    """A server, and one that copies it."""
    if why_missing():
        pytest.skip(why_missing())
    first, second = PostgresServer(), PostgresServer()
    try:
        first.create().start()
        yield first, second.follow(first).start()
    finally:
        second.remove()
        first.remove()


def write(store, repo_id):
    """The commits, a few in each transaction, with the tip that belongs to them."""
    for start in range(0, COMMITS, BATCH):
        part = MADE[start : start + BATCH]
        with store.writing():
            store.write_commits(repo_id, part)
            store.set_tips(repo_id, {"refs/heads/main": part[-1].meta.sha})


def look(store, repo_id):
    """How many commits an answer shows; each of them is whole, and the tip is the last one."""
    with store.snapshot() as seen:
        count = seen.commit_count(repo_id)
        assert count % BATCH == 0, "a batch is there as a whole"
        if not count:
            return 0
        last = MADE[count - 1]
        assert seen.tips(repo_id) == {"refs/heads/main": last.meta.sha}
        for number in (count - 1, count - BATCH, 0):
            sha = MADE[number].meta.sha
            found = get_commit(seen, "demo", sha)
            assert [one["path"] for one in found["changed_files"]] == [f"src/f{number}.py"]
            assert f"word{number} everywhere" in get_patch(seen, "demo", sha)["patch_text"]
            assert [one["sha"] for one in search_commits(seen, f"word{number}")] == [sha]
        if count < COMMITS:
            with pytest.raises(NotFound):
                get_commit(seen, "demo", MADE[count].meta.sha)
        return count


def test_a_replica_that_is_behind_shows_no_half_of_anything(pair):
    first, second = pair
    address = first.new_place()
    behind = address.replace(f":{first.port}/", f":{second.port}/")
    with closing(PostgresHistory.create(address)) as store:
        repo_id = store.add_repo(Repo(0, "demo", "/nowhere")).repo_id
        tip = first.execute("SELECT pg_current_wal_insert_lsn()::text")[0][0]
        caught_up = f"SELECT pg_last_wal_replay_lsn() >= '{tip}'::pg_lsn"
        wait_until(lambda: second.execute(caught_up) == [(True,)])
        writer = threading.Thread(target=write, args=(store, repo_id))
        seen = []
        with closing(PostgresHistory.read(behind)) as reader:
            writer.start()
            while writer.is_alive():
                seen.append(look(reader, repo_id))
                second.execute("SELECT pg_wal_replay_pause()")
                wait_until(lambda: second.execute(STATE) == [("paused",)])
                stands = look(reader, repo_id)
                assert look(reader, repo_id) == stands, "nothing comes while it stands"
                second.execute("SELECT pg_wal_replay_resume()")
            writer.join()
            wait_until(lambda: look(reader, repo_id) == COMMITS)
        assert seen == sorted(seen), "an index never goes back"
