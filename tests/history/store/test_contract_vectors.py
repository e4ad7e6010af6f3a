"""What every index must keep of vectors: the same ones, in step with its commits."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from clew.history.model import Repo
from clew.history.semantic import vectors as module
from clew.history.semantic.search import search_semantic
from clew.history.semantic.vectors import embed_commits, read_chunk
from clew.history.store.vectors import WITH_SYNC, NoVectors
from clew.kit.errors import Conflict
from clew.models.embedding import EndpointEmbedder, packaged_embedder
from tests.history.store.conftest import HISTORY, commit, sha_of
from tests.models.endpoint import running

COUNTED = {one.meta.sha for one in HISTORY if len(one.meta.parents) < 2}


def embed(store, **settings):
    return embed_commits(store, packaged_embedder(), store.repos(), **settings)


def content(store):
    """Every vector by its commit's mark."""
    found = {}
    for stored in store.vectors().chunks():
        chunk = read_chunk(stored)
        for mark, scale, vector in zip(chunk.marks, chunk.scales, chunk.vectors, strict=True):
            found[int(mark)] = (float(scale), vector.tobytes())
    return found


def marks(shas):
    return {int.from_bytes(bytes.fromhex(sha)[:8], "little") for sha in shas}


def test_there_are_none_at_first(store, repo):
    with pytest.raises(NoVectors, match="no vectors yet"):
        store.vectors()
    found = search_semantic(store, "main")
    assert (found["mode"], found["commits"][0]["subject"]) == ("words", "Tune main")


@pytest.mark.parametrize("size", [4096, 2])
def test_every_commit_that_counts_has_one(store, repo, other, monkeypatch, size):
    monkeypatch.setattr(module, "_CHUNK", size)
    monkeypatch.setattr(module, "_BATCH", 1)
    done = embed(store)
    assert (done.added, done.dropped, done.total) == (len(COUNTED) + 1, 0, len(COUNTED) + 1)
    assert set(content(store)) == marks({*COUNTED, sha_of("Start of another")})
    assert embed(store).added == 0
    assert set(store.vectors().last_ids()) == {repo.repo_id, other.repo_id}


def test_they_follow_the_commits(store, repo, other):
    embed(store)
    with store.writing():
        store.write_commits(repo.repo_id, [commit("Say more", day=9, parents=["Empty"])])
        store.hide_commits(repo.repo_id, [sha_of("Empty")])
    done = embed(store)
    assert (done.added, done.dropped) == (1, 1)
    with store.writing():
        store.remove_repo(other.repo_id)
    embed(store)
    assert set(content(store)) == marks({*COUNTED, sha_of("Say more")} - {sha_of("Empty")})


def test_meaning_finds_what_words_do_not(store, repo):
    with store.writing():
        store.write_commits(
            repo.repo_id,
            [
                commit("Ask for the password again after an hour", day=7),
                commit("Correct a spelling mistake in the manual", day=8),
            ],
        )
    embed(store)
    found = search_semantic(store, "authentication timeout", mode="semantic")
    assert found["commits"][0]["subject"].startswith("Ask for the password")
    assert found["commits"][0]["found_by"] == ["meaning"]
    assert search_semantic(store, "authentication timeout")["mode"] == "hybrid"
    late = search_semantic(store, "password", mode="semantic", until=1)
    assert late["commits"] == []


def test_what_is_remembered_of_them_is_never_old(store, repo, make_store):
    embed(store)
    assert search_semantic(store, "cosy quilts", mode="semantic")["commits"]
    with store.writing():
        store.write_commits(repo.repo_id, [commit("Add warm blankets to the beds", day=9)])
    writer = make_store()
    embed(writer)
    found = search_semantic(store, "cosy quilts", mode="semantic")
    assert found["commits"][0]["subject"] == "Add warm blankets to the beds"
    before = content(store)
    embed(writer, rebuild=True)
    assert content(store) == before


def test_another_model_needs_a_rebuild(store, repo):
    embed(store)
    with running(size=8) as endpoint:
        model = EndpointEmbedder(endpoint.address, "other")
        with pytest.raises(Conflict, match=r"wordllama.*endpoint:other"):
            embed_commits(store, model, store.repos())
        done = embed_commits(store, model, store.repos(), rebuild=True)
        assert (done.added, done.model) == (len(COUNTED), "endpoint:other")
    with pytest.raises(Conflict, match="another model"):
        search_semantic(store, "main", mode="semantic")


def test_the_wish_for_every_sync_stays(store, repo):
    with store.new_vectors() as vectors:
        vectors.set_with_sync(is_wanted=True)
    embed(store)
    assert store.vectors().about()[WITH_SYNC] == "yes"
    embed(store, rebuild=True)
    assert store.vectors().about()[WITH_SYNC] == "yes"
    with store.new_vectors() as vectors:
        vectors.set_with_sync(is_wanted=False)
    assert WITH_SYNC not in store.vectors().about()


def test_several_at_once_make_each_vector_once(store, repo, make_store):
    for number in range(3):
        more = store.add_repo(replace(Repo(0, f"more{number}", "/nowhere")))
        with store.writing():
            store.write_commits(
                more.repo_id, [commit(f"Number {number} {one}", day=one) for one in range(30)]
            )
    failed = []

    def run():
        try:
            opened = make_store()
            embed(opened)
        except Exception as error:  # noqa: BLE001
            failed.append(error)
        finally:
            opened.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert store.vectors().total() == len(content(store)) == len(COUNTED) + 90
