"""Repositories that a fleet syncs: each once, by whichever worker, and nothing is lost when one dies."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import hmac
import http.server
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import closing

import pytest
import uvicorn

from clew.history.maintenance.verify import verify_repo
from clew.kit.errors import Invalid, Unavailable
from clew.program import offer_engines
from clew.protocol.http.guard import Strangers
from clew.protocol.http.server import door
from clew.protocol.http.token import open_listener
from clew.protocol.http.wire import most_of_one_address
from clew.team.history.store import PostgresHistory
from clew.team.syncing.clone_cache import CloneCache
from clew.team.syncing.sources import named_by_forge, named_in_file, register_all
from clew.team.syncing.webhooks import Forged, hook_app, names_of, pushed_addresses
from clew.team.syncing.worker import SyncWorker, queue_every_repository
from tests.support.repos import generate
from tests.support.waiting import wait_until

SECRET = "a long secret"
REPOSITORIES = 6
COMMITS = 40


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path):
    """Repositories behind a server on loopback: the address of each by its name."""
    place = tmp_path / "served"
    place.mkdir()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(place))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    made = {}
    for number in range(REPOSITORIES):
        repository = generate(tmp_path / f"r{number}", COMMITS, seed=number)
        publish(repository, place / f"r{number}.git")
        made[f"r{number}"] = f"http://127.0.0.1:{server.server_port}/r{number}.git"
    yield made
    server.shutdown()
    server.server_close()
    thread.join(120)


def publish(repository, bare):
    if not bare.exists():
        repository.git("clone", "--quiet", "--bare", str(repository.path), str(bare))
    repository.git("push", "--quiet", "--force", str(bare), "refs/heads/*:refs/heads/*")
    repository.git("-C", str(bare), "update-server-info")


@pytest.fixture
def team(team_database, served):
    """A database in which the repositories are registered."""
    offer_engines()
    with closing(PostgresHistory.create(team_database)) as store:
        assert register_all(store, list(served.items())) == (REPOSITORIES, 0)
        assert register_all(store, list(served.items())) == (0, 0)
    return team_database


def start_worker(address, place, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "clew", "worker", "--queue", "sync", "--database", address,
         "--clones", str(place), "--every", "0 0 1 1 *", *words],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def counts(address):
    with closing(PostgresHistory.read(address)) as store:
        return {repo.name: store.commit_count(repo.repo_id) for repo in store.repos()}


def assert_equal_to_git(address, tmp_path):
    from dataclasses import replace

    with closing(PostgresHistory.read(address)) as store:
        for repo in store.repos():
            here = replace(repo, local_path=str(tmp_path / repo.name))
            report = verify_repo(store, here)
            assert report["synced"]
            assert (repo.name, report["difference_count"]) == (repo.name, 0)


def test_a_fleet_syncs_every_repository_once(team, tmp_path):
    assert queue_every_repository(team) == REPOSITORIES
    assert queue_every_repository(team) == 0, "what waits is not queued again"
    workers = [start_worker(team, tmp_path / f"clones{n}", "--once") for n in range(3)]
    said = [worker.communicate(timeout=300)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], said
    done = [line for text in said for line in text.splitlines() if "new commits" in line]
    assert sorted(done) == [f"r{n}: {COMMITS} new commits" for n in range(REPOSITORIES)]
    assert_equal_to_git(team, tmp_path)


def test_what_a_killed_worker_left_is_taken_on(team, tmp_path):
    queue_every_repository(team)
    first = start_worker(team, tmp_path / "clones0")
    wait_until(lambda: any(counts(team).values()))
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    queue_every_repository(team)
    second = start_worker(team, tmp_path / "clones1", "--once")
    said = second.communicate(timeout=300)[1]
    assert second.returncode == 0, said
    assert_equal_to_git(team, tmp_path)


def test_clones_that_are_unused_for_longest_go_first(served, tmp_path):
    cache = CloneCache(tmp_path / "clones", most_bytes=1)
    for name in ("r0", "r1"):
        with cache.fetched(name, served[name]) as place:
            assert (place / "HEAD").exists()
    kept = [one.name for one in (tmp_path / "clones").iterdir() if one.is_dir()]
    assert kept == ["r1"], "the one in use stays, whatever its size"
    with cache.fetched("r0", served["r0"]) as place:
        assert (place / "HEAD").exists()


def test_a_repository_that_cannot_be_fetched_says_so(team, tmp_path):
    with closing(PostgresHistory.open(team)) as store:
        register_all(store, [("r0", "http://127.0.0.1:9/none.git")])
    worker = SyncWorker(team, CloneCache(tmp_path / "c", 10**9), "0 0 1 1 *", tell=lambda _: None)
    with pytest.raises(Exception, match="clone"):
        worker.sync("r0")
    with closing(PostgresHistory.read(team)) as store:
        assert "clone" in store.state(store.find_repo("r0").repo_id).error


# Webhooks.


def signed(body, secret=SECRET):
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


GITHUB = json.dumps({"repository": {"clone_url": "https://forge.example/team/One.git"}}).encode()
GITLAB = json.dumps({"project": {"git_http_url": "https://forge.example/team/one.git"}}).encode()


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"X-Hub-Signature-256": f"sha256={signed(GITHUB)}"}, GITHUB),
        ({"X-Gitea-Signature": signed(GITHUB)}, GITHUB),
        ({"X-Gitlab-Token": SECRET}, GITLAB),
    ],
)
def test_a_push_that_knows_the_secret_names_its_repository(headers, body):
    found = pushed_addresses(headers, body, SECRET)
    known = {
        "one": "https://forge.example/team/one",
        "two": "https://forge.example/team/two",
        "x": None,
    }
    assert names_of(found, known) == ["one"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": "sha256="},
        {"X-Hub-Signature-256": f"sha256={signed(GITHUB, 'another')}"},
        {"X-Gitea-Signature": signed(GITLAB)},
        {"X-Gitlab-Token": ""},
        {"X-Gitlab-Token": "guess"},
    ],
)
def test_a_push_that_does_not_know_the_secret_is_refused(headers):
    with pytest.raises(Forged):
        pushed_addresses(headers, GITHUB, SECRET)
    with pytest.raises(Forged):
        pushed_addresses(headers, GITHUB, "")


def test_the_server_of_webhooks_queues_and_refuses(monkeypatch):
    monkeypatch.setattr(Strangers.__init__, "__defaults__", (100, 0.0))
    seen = []
    listener = open_listener("127.0.0.1", "0")
    app = hook_app(SECRET, lambda found: seen.append(found) or len(found))
    server = uvicorn.Server(door(app, 3))
    serving = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    serving.start()
    place = listener.getsockname()

    def send(body, **headers):
        request = urllib.request.Request(
            f"http://127.0.0.1:{place[1]}/", data=body, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    try:
        assert send(GITHUB, **{"X-Gitea-Signature": signed(GITHUB)}) == 202
        assert send(GITHUB, **{"X-Gitea-Signature": "0" * 64}) == 401
        assert send(b"no", **{"X-Gitea-Signature": signed(b"no")}) == 400
        assert send(b"") == 413
        assert send(None) == 405
        assert send(b"{}", **{"Content-Length": "many"}) == 400
        deep = b"[" * 200_000
        assert send(deep, **{"X-Gitea-Signature": signed(deep)}) == 400
        assert seen == [frozenset({"https://forge.example/team/one"})]
        # Who asks nothing keeps nobody out: the oldest silent connection makes room.
        silent = [socket.create_connection(place) for _ in range(most_of_one_address() + 4)]
        assert send(GITHUB, **{"X-Gitea-Signature": signed(GITHUB)}) == 202
        for one in silent:
            one.close()
        # Neither does who sends many at once without an end, nor who guesses the secret.
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\nbegun"
        begun = [socket.create_connection(place) for _ in range(33)]
        for one in begun:
            one.sendall(head)
        answered, _, _ = select.select(begun, [], [], 60)
        assert b" 429 " in answered[0].recv(100)
        for one in begun:
            one.close()
        wait_until(lambda: send(GITHUB, **{"X-Gitea-Signature": signed(GITHUB)}) == 202)
        guesses = [send(GITHUB, **{"X-Gitea-Signature": "0" * 64}) for _ in range(150)]
        assert guesses[-1] == 429
        assert send(GITHUB, **{"X-Gitea-Signature": signed(GITHUB)}) == 202
    finally:
        server.should_exit = True
        serving.join()


# Where repositories come from.


def test_a_file_names_repositories(tmp_path):
    file = tmp_path / "repos"
    file.write_text(
        "# ours\nhttps://forge.example/a/one.git\n\nb/two https://forge.example/b/two\n"
    )
    assert named_in_file(file) == [
        ("one", "https://forge.example/a/one.git"),
        ("b/two", "https://forge.example/b/two"),
    ]
    file.write_text("one two three\n")
    with pytest.raises(Invalid, match="line 1"):
        named_in_file(file)
    file.write_text("file:///etc\n")
    with pytest.raises(Invalid):
        named_in_file(file)


def test_a_forge_lists_repositories_page_by_page(monkeypatch):
    monkeypatch.setenv("CLEW_FORGE_TOKEN", "t0ken")
    asked = []

    class Forge(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers["Authorization"]))
            page = int(self.path.rpartition("page=")[2])
            names = range(50) if page == 1 else range(50, 53)
            body = json.dumps(
                [{"path_with_namespace": f"g/p{n}", "http_url_to_repo": f"https://f.example/g/p{n}.git"}
                 for n in names]
            ).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        found = named_by_forge(
            "gitlab", "my/group", f"http://127.0.0.1:{server.server_port}/api/v4"
        )
    finally:
        server.shutdown()
        server.server_close()
    assert len(found) == 53
    assert found[52] == ("g/p52", "https://f.example/g/p52.git")
    assert asked[0][0].startswith("/api/v4/groups/my%2Fgroup/projects?")
    assert {token for _, token in asked} == {"Bearer t0ken"}
    assert os.environ["CLEW_FORGE_TOKEN"] == "t0ken"


def test_a_forge_that_points_elsewhere_gets_no_token_there(monkeypatch):
    monkeypatch.setenv("CLEW_FORGE_TOKEN", "t0ken")
    asked = []

    class Forge(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers["Authorization"])
            is_first = len(asked) == 1
            self.send_response(302 if is_first else 200)
            if is_first:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0" if is_first else "10")
            self.end_headers()
            self.wfile.write(b"" if is_first else b'[{"x": 1}]')

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(Unavailable, match="something else"):
            named_by_forge("github", "own", f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
    assert asked == ["Bearer t0ken", None]
