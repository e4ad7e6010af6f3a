"""verify notices every kind of difference; gc drops what is unused and nothing else."""

from __future__ import annotations

import sqlite3

import pytest


def kinds(said):
    return {d["kind"] for entry in said.data["repos"] for d in entry["differences"]}


def test_an_index_that_is_right(cm, synced):
    assert cm("verify").out == "app: 3 commits, 3 compared with git, no differences\n"
    assert cm("verify", "--sample", "1").out.startswith("app: 3 commits, 1 compared")
    assert cm("verify", "--repo", "app", "--sample", "0").code == 0


def test_odd_commits_are_right_too(cm, synced):
    synced.git("mv", "a.txt", "moved.txt")
    synced.git("commit", "--quiet", "--message", "Move")
    (synced.root / "blob.bin").write_bytes(bytes(range(256)) * 8)
    synced.commit("node_modules/x.js", "x\n", "Binary and ignored")
    synced.commit("latin.txt", "caf\u00e9\n", "Sch\u00f6n")
    synced.git("switch", "--quiet", "--create", "side", "HEAD~2")
    synced.commit("s.txt", "s\n", "Side\n\nBody\nof it")
    synced.git("switch", "--quiet", "main")
    synced.git("merge", "--quiet", "--no-edit", "side")
    cm("sync")

    assert "8 commits, 8 compared with git, no differences" in cm("verify").out


def test_a_repository_that_was_never_synced(cm, repo):
    cm("add-repo", repo.root)

    assert cm("verify").out == "app: not synced yet\n"


def test_commits_that_came_later_are_no_difference(cm, synced):
    synced.commit("n.txt", "n\n", "New")

    assert "3 commits" in cm("verify").out


DAMAGE = {
    "missing": "DELETE FROM commit_rows WHERE subject = 'Add b'",
    "message": "UPDATE commit_rows SET subject = 'Forged' WHERE subject = 'Add b'",
    "files": "UPDATE file_rows SET status = 'D' WHERE number = 0",
    "patch": "UPDATE commit_rows SET patch_id = NULL WHERE subject = 'Add b'",
    "text": "DELETE FROM search_fts_docsize WHERE id = (SELECT max(id) FROM commit_rows)",
    "twice": "UPDATE commit_rows SET sha = (SELECT sha FROM commit_rows WHERE subject = 'First')"
    " WHERE subject = 'Add b'",
    "extra": "UPDATE ref_tips SET sha = (SELECT lower(hex(sha)) FROM commit_rows"
    " WHERE subject = 'First')",
    "lost": "UPDATE ref_tips SET sha = '" + "ab" * 20 + "'",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_every_damage_is_noticed_and_mended(cm, synced, db, kind):
    with sqlite3.connect(db) as connection:
        connection.execute(DAMAGE[kind])
    connection.close()

    said = cm("verify", "--json", code=1)

    assert kind in kinds(said)
    assert "commitmux sync --full --repo app" in cm("verify", code=1).out
    if kind not in ("text", "missing"):  # those leave the text index with words of nobody
        cm("sync", "--full")
        cm("verify")


def test_a_stored_patch_that_is_rotten(cm, synced, db):
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE patch_packs SET frames = x'28b52ffd2000ff' WHERE pack_id = 1")
    connection.close()

    assert kinds(cm("verify", "--json", code=1)) == {"patch"}


def test_a_repository_that_is_gone(cm, synced, tmp_path):
    synced.root.rename(tmp_path / "elsewhere")

    assert "cannot be verified: No repository at" in cm("verify", code=1).out


def rewrite(repo):
    """Replace the last two commits by one."""
    repo.git("reset", "--quiet", "--hard", "HEAD~2")
    return repo.commit("z.txt", "z\n", "Instead", GIT_AUTHOR_NAME="Third")


def ids(store):
    return [row[0] for row in store.connection.execute("SELECT id FROM commit_rows ORDER BY id")]


def test_gc_drops_what_no_ref_reaches(cm, synced, store):
    rewrite(synced)
    cm("sync")
    assert len(ids(store)) == 4

    said = cm("gc", "--dry-run", "--json").data
    assert (said["commits"], said["patches"], said["paths"], said["people"]) == (2, 2, 1, 1)
    assert len(ids(store)) == 4

    text = cm("gc").out

    assert text.startswith("Dropped 2 commits, 2 patches, 1 paths and 1 people. The index went")
    assert len(ids(store)) == 2
    paths = {row[0] for row in store.connection.execute("SELECT path FROM paths")}
    assert paths == {"a.txt", "z.txt"}
    assert "Nothing found" in cm("touches", "b.py").out
    assert cm("search", "unusualword", "--json").data["commits"] == []
    assert len(cm("search", "Instead", "--json").data["commits"]) == 1
    assert "Dropped 0 commits, 0 patches, 0 paths and 0 people" in cm("gc").out
    cm("verify")
    for index in ("commits_fts", "paths_fts", "search_fts"):
        store.connection.execute(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")


def test_gc_leaves_nothing_of_a_commit_in_the_text_index(cm, synced, store):
    rewrite(synced)
    cm("sync")
    cm("gc")

    store.connection.execute(
        "CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search_fts, row)"
    )
    words = {row[0] for row in store.connection.execute("SELECT term FROM temp.words")}
    assert "unusualword" not in words
    assert {"instead", "first"} <= words


def test_gc_keeps_what_is_young(cm, synced, store):
    synced.clock = 4_000_000_000
    synced.commit("y.txt", "y\n", "Young")
    cm("sync")
    synced.git("reset", "--quiet", "--hard", "HEAD~1")
    cm("sync")

    assert cm("gc", "--json").data["commits"] == 0
    assert len(ids(store)) == 4


def test_a_commit_that_comes_back_after_gc_is_indexed_again(cm, synced, store):
    old = synced.git("rev-parse", "HEAD")
    rewrite(synced)
    cm("sync")
    cm("gc")

    synced.git("reset", "--quiet", "--hard", old)

    assert "2 indexed" in cm("sync").out
    cm("verify")
    assert len(cm("search", "unusualword", "--json").data["commits"]) == 1


def test_gc_during_a_read(cm, synced, store):
    rewrite(synced)
    cm("sync")
    store.connection.execute("BEGIN")
    before = list(store.stored_commits(1))

    cm("gc", code=None)

    assert list(store.stored_commits(1)) == before
    store.connection.execute("COMMIT")
    assert len(ids(store)) == 2


def test_a_patch_that_two_repositories_share_stays(cm, synced, new_repo, store):
    twin = new_repo("twin")
    twin.commit("a.txt", "one\n", "First")
    cm("add-repo", twin.root)
    cm("sync")
    rewrite(synced)
    synced.git("update-ref", "-d", "HEAD")
    cm("remove-repo", "app")
    cm("gc")

    assert "1 commits, 1 compared with git, no differences" in cm("verify").out


def test_a_large_patch_of_an_earlier_index_is_told_and_mended(cm, synced, db):
    text = "".join(f"{number:07d}\n" for number in range(1 << 17)) + "closing\n"
    sha = synced.commit("large.txt", text, "Large")
    cm("sync")
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE commit_rows SET patch_id = NULL WHERE subject = 'Large'")
    connection.close()

    assert kinds(cm("verify", "--json", code=1)) == {"ends"}
    told = cm("pickaxe", "closing").out
    assert f"git log --no-walk -S closing {sha[:12]}" in told
    cm("sync", "--full")
    cm("verify")
    assert "not searched whole" not in cm("pickaxe", "closing").out
