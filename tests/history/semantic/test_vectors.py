"""Vectors on disk: made once, kept in step with the index, never mixed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from clew.cli.core.app import run
from clew.cli.faces import build_group
from clew.history.semantic import vectors
from clew.history.semantic.search import search_semantic
from clew.history.semantic.vectors import CommitVectors, embed_commits, without_references
from clew.history.store.vectors import VectorFile, vectors_path
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register, remove
from clew.history.sync.sync import bring_up_to_date
from clew.kit.errors import Conflict, Unavailable
from clew.models.embedding import MODEL, URL, EndpointEmbedder, packaged_embedder
from tests.history.index import new_index
from tests.history.semantic.conftest import index_of
from tests.models.endpoint import running
from tests.support.repos import generate
from tests.support.waiting import wait_until

SLOW_EMBED = """
import sys, time
from pathlib import Path
from clew.cli.core.app import run
from clew.cli.faces import build_group
from clew.history.semantic import vectors
from clew.history.store.sqlite import SqliteHistory
from clew.models.embedding import packaged_embedder
vectors._BATCH, vectors._CHUNK = 7, 20
store = SqliteHistory.read(Path(sys.argv[1]))
vectors.embed_commits(store, packaged_embedder(), store.repos(), lambda done: time.sleep(0.01))
"""


def embed(store, **settings):
    return embed_commits(store, packaged_embedder(), store.repos(), **settings)


def content(store):
    """Every vector by its commit; how they lie in chunks does not matter."""
    found = {}
    file = VectorFile.read(store.path)
    for stored in file.chunks():
        chunk = vectors.read_chunk(stored)
        assert stored.last_id == max(chunk.ids)
        parts = zip(chunk.ids, chunk.marks, chunk.times, chunk.scales, chunk.vectors, strict=True)
        for number, mark, when, scale, vector in parts:
            assert number not in found
            found[int(number)] = (int(mark), int(when), float(scale), vector.tobytes())
    file.close()
    return found


def shas(found):
    return [commit["sha"] for commit in found["commits"]]


def test_every_commit_but_merges_has_one(tmp_path):
    repository = generate(tmp_path / "big", 60)
    store = index_of(tmp_path / "db", repository)
    done = embed(store)
    merges = int(repository.text("rev-list", "--count", "--merges", "HEAD"))
    assert merges
    assert (done.added, done.dropped, done.total) == (60 - merges, 0, 60 - merges)
    assert len(content(store)) == done.total
    assert embed(store).added == 0


def test_bytes_are_as_good_as_numbers(store, story):
    """What is stored as bytes is hardly less exact than what the model made."""
    wanted = packaged_embedder().embed(["Do not crash when the configuration file is missing"])[0]
    found = content(store)
    (number,) = store.known(1, [story[1]["crash"]]).values()
    _, _, scale, raw = found[number]
    assert np.frombuffer(raw, np.int8).astype(np.float32) * scale @ wanted > 0.999


@pytest.mark.parametrize(("batch", "chunk"), [(256, 4096), (3, 5), (5, 5)])
def test_bit_by_bit_equals_all_at_once(tmp_path, monkeypatch, batch, chunk):
    repository = generate(tmp_path / "big", 40)
    full = index_of(tmp_path / "full", repository)
    embed(full)
    wanted = content(full)

    monkeypatch.setattr(vectors, "_BATCH", batch)
    monkeypatch.setattr(vectors, "_CHUNK", chunk)
    growing = Clone(tmp_path / "growing", repository)
    store = new_index(tmp_path / "bits")
    register(store, growing.path, name="r")
    for commit in repository.all_shas()[9::10]:
        growing.advance(commit)
        sync_repo(store, store.find_repo("r"))
        embed(store)
    assert content(store) == wanted


class Clone:
    """A copy of a repository that is moved on commit by commit."""

    def __init__(self, path, source):
        self.path = path
        self.source = source
        subprocess.run(["git", "clone", "-q", str(source.path), str(path)], check=True)
        subprocess.run(["git", "checkout", "-q", "--detach"], cwd=path, check=True)

    def advance(self, sha):
        subprocess.run(["git", "checkout", "-q", sha], cwd=self.path, check=True)


def test_killed_anywhere_then_finished_equals_a_clean_run(tmp_path):
    repository = generate(tmp_path / "big", 200)
    clean = index_of(tmp_path / "clean", repository)
    embed(clean)
    store = index_of(tmp_path / "db", repository)
    kills = 0
    for wanted in (1, 30, 90):
        process = subprocess.Popen([sys.executable, "-c", SLOW_EMBED, str(store.path)])
        wait_until(partial(has_begun, process, store, wanted), pause=0.001)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert set(content(store).items()) <= set(content(clean).items())
        assert search_semantic(store, "change", mode="hybrid")["commits"]
    assert kills
    embed(store)
    assert content(store) == content(clean)


def has_begun(process, store, wanted):
    return process.poll() is not None or count(store) >= wanted


def count(store):
    path = vectors_path(store.path)
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT coalesce(sum(count), 0) FROM chunks").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        connection.close()


def test_commits_that_are_gone_are_not_found_and_then_dropped(store, story):
    repository, made = story
    repository.git("reset", "-q", "--hard", made["speed"])
    sync_repo(store, store.find_repo("r"))
    asked = {"mode": "semantic", "limit": 50}
    assert made["login"] not in shas(search_semantic(store, "password", **asked))
    assert embed(store).dropped == 4
    assert embed(store).dropped == 0
    assert len(content(store)) == 3


def test_a_removed_repository_takes_its_vectors_along(store, story, tmp_path):
    repository, _ = story
    sync_repo(store, register(store, repository.path, name="again"))
    assert embed(store).total == 14
    remove(store, "r")
    found = search_semantic(store, "password", mode="semantic")
    assert {commit["repo"] for commit in found["commits"]} == {"again"}
    done = embed(store)
    assert (done.dropped, done.total) == (7, 7)


def test_an_index_built_anew_does_not_inherit_vectors(store, story, tmp_path):
    """Numbers begin again in a new index, but a vector knows whose it is."""
    store.close()
    for left in ("", "-wal", "-shm"):
        store.path.with_name(store.path.name + left).unlink(missing_ok=True)
    other = generate(tmp_path / "other", 7)
    fresh = index_of(store.path, other)
    assert search_semantic(fresh, "password", mode="semantic")["commits"] == []
    done = embed(fresh)
    assert (done.added, done.dropped) == (7, 7)


def test_new_commits_are_counted_as_waiting(store, story):
    repository, _ = story
    new = repository.commit("Remember who was signed in")
    sync_repo(store, store.find_repo("r"))
    found = search_semantic(store, "password again")
    assert found["skipped"] == ["meaning: 1 commits have no vector yet; run 'commitmux embed'"]
    embed(store)
    found = search_semantic(store, "who signed in", mode="semantic")
    assert found["skipped"] == []
    assert shas(found)[0] == new


def test_another_model_needs_a_rebuild(store):
    before = content(store)
    with running(size=8) as endpoint:
        other = EndpointEmbedder(endpoint.address, "other")
        with pytest.raises(Conflict, match=r"wordllama.*endpoint:other") as caught:
            embed_commits(store, other, store.repos())
        assert "--rebuild" in caught.value.hint
        assert content(store) == before
        with pytest.raises(Conflict, match="another model"):
            CommitVectors(store.vectors(), other)

        done = embed_commits(store, other, store.repos(), rebuild=True)
        assert (done.added, done.model) == (7, "endpoint:other")
        ready = CommitVectors(store.vectors(), other)
        assert ready.nearest("password", store.repos(), since=0)
    with running(size=9) as endpoint:  # the same name, but now it makes other vectors
        wider = EndpointEmbedder(endpoint.address, "other")
        ready = CommitVectors(store.vectors(), wider)
        with pytest.raises(Conflict, match="makes 9 numbers"):
            ready.nearest("password", store.repos(), since=0)
        with pytest.raises(Conflict, match="8 numbers"):
            embed_commits(store, wider, store.repos())


def test_a_rebuild_that_cannot_begin_drops_nothing(store):
    before = content(store)
    with running() as endpoint:
        endpoint.manners = ["refused"]
        with pytest.raises(Unavailable, match="Incorrect API key"):
            embed_commits(
                store, EndpointEmbedder(endpoint.address, "m"), store.repos(), rebuild=True
            )
    assert content(store) == before


def test_what_was_made_before_a_failure_stays(store, monkeypatch):
    monkeypatch.setattr(vectors, "_BATCH", 3)
    with running() as endpoint:
        endpoint.manners = ["good", "good", "refused"]
        model = EndpointEmbedder(endpoint.address, "m")
        with pytest.raises(Unavailable):
            embed_commits(store, model, store.repos(), rebuild=True)
        assert len(content(store)) == 3
        endpoint.manners = ["good"]
        assert embed_commits(store, model, store.repos()).added == 4


def test_a_damaged_file_is_said(store):
    vectors_path(store.path).write_bytes(b"no database, but long enough to be read as one" * 100)
    for left in ("-wal", "-shm"):
        vectors_path(store.path).with_name(vectors_path(store.path).name + left).unlink(
            missing_ok=True
        )
    with pytest.raises(Unavailable, match="Cannot read the vectors") as caught:
        search_semantic(store, "password", mode="semantic")
    assert "Delete the file" in caught.value.hint
    found = search_semantic(store, "password")
    assert found["mode"] == "words"
    assert "Cannot read the vectors" in found["skipped"][0]
    with pytest.raises(Unavailable, match="Cannot open the vectors"):
        embed(store)


def test_a_message_that_says_little_is_told_by_what_was_done(store, story):
    found = search_semantic(store, "content of short", mode="semantic")
    assert shas(found)[0] == story[1]["short"]


def test_a_sync_makes_vectors_only_where_that_was_asked_for(store, story, capsys):
    repository, _ = story
    place = ["--db", str(store.path)]
    for options, waiting in ([], 1), (["--with-sync"], 0), (["--without-sync"], 1):
        assert run(build_group("commitmux"), "commitmux", ["embed", *options, *place]) == 0
        repository.commit(f"One more commit after {options}")
        assert bring_up_to_date(store, store.find_repo("r")).problems == ()
        reasons = search_semantic(store, "one more commit")["skipped"]
        assert len(reasons) == waiting


def test_a_sync_is_not_spoilt_by_an_endpoint_that_fails(store, story, monkeypatch):
    with running() as endpoint:
        monkeypatch.setenv(URL, endpoint.address)
        monkeypatch.setenv(MODEL, "mine")
        assert run(build_group("commitmux"), "commitmux", ["embed", "--rebuild", "--with-sync",
                                                           "--db", str(store.path)]) == 0  # fmt: skip
        story[0].commit("One more commit than before")
        endpoint.manners = ["refused"]
        done = bring_up_to_date(store, store.find_repo("r"))
    assert done.indexed == 1
    assert "Incorrect API key" in done.problems[0]


def test_references_are_left_out():
    text = "Fixed #12 -- see https://x.y/z and 1a2b3c4d\nSigned-off-by: A <a@b>\nfaced 404 &#9;"
    assert without_references(text).split() == ["Fixed", "--", "see", "and", "faced", "404", "&#9;"]
