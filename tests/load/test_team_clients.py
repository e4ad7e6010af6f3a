"""200 clients at once on a team's server while its index grows: no error, and the times told."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import psutil

from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.team.history.store import PostgresHistory
from tests.load.test_many_clients import processor, told
from tests.support.http import face_http, http_server
from tests.support.proof import amount
from tests.support.repos import generate

SECONDS = amount(4, 30)
CLIENTS = 200
ROOT = Path(__file__).parents[2]


def grow(store, repository, is_over):
    """Commit and sync until it is over; how many commits."""
    made = 0
    while not is_over.is_set():
        made += 1
        repository.commit(f"Later change {made}", {f"later{made % 9}.txt": f"word {made}"})
        assert not sync_repo(store, store.find_repo("r")).problems
    return made


def test_two_hundred_clients_of_a_team(team_database, tmp_path, private_home, record_property):
    repository = generate(tmp_path / "r", amount(300, 2000))
    command = face_http(
        "clew", "serve", "--database", team_database, "--toolsets", "all", "--workers", "2"
    )
    with closing(PostgresHistory.create(team_database)) as store:
        sync_repo(store, register(store, repository.path, name="r"))
        with http_server(command) as server:
            token = (private_home / ".clew" / "secrets" / "http-token").read_text().strip()
            place = (server.address.hostname, str(server.address.port), token)
            words = [sys.executable, "-m", "tests.load.clients", *place]
            subprocess.run([*words, "4", "0.1"], cwd=ROOT, check=True, capture_output=True)
            process, is_over, made = psutil.Process(server.process.pid), threading.Event(), []
            growing = threading.Thread(target=lambda: made.append(grow(store, repository, is_over)))
            growing.start()
            before = processor(process)
            try:
                done = subprocess.run(
                    [*words, str(CLIENTS), str(SECONDS)], cwd=ROOT, check=True, capture_output=True
                )
            finally:
                after = processor(process)
                is_over.set()
                growing.join()
        count = store.commit_count(store.find_repo("r").repo_id)
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert len(said["times"]) >= CLIENTS
    assert made
    assert count == len(repository.git("rev-list", "HEAD").split())
    each = 1000 / len(said["times"])
    record_property("load", told(f"{CLIENTS} clients of a team, 2 workers", said["times"]))
    record_property(
        "load",
        f"processor a call: server {(after[0] - before[0]) * each:.2f} ms, its helpers"
        f" {(sum(after[1:]) - sum(before[1:])) * each:.2f} ms; synced meanwhile: {made[0]} commits",
    )
