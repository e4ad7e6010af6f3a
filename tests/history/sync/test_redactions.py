"""Secrets are kept out, and the audit says where. Nothing here is a secret, nor looks like one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from clew.history.store.sqlite import migrations
from clew.kit.sqlite import open_database


def fake_key():
    return "AK" + "IA" + "FAKE" * 4


def fake_token():
    return "gh" + "p_" + "fake" * 9


def test_what_was_redacted_is_listed(cm, synced):
    sha = synced.commit("k.txt", f"key = {fake_key()}\ntoken = {fake_token()}\n", "Add keys")
    cm("sync")

    found = cm("redactions", "--json").data["redactions"]

    assert [(e["repo"], e["sha"], e["subject"]) for e in found] == [("app", sha, "Add keys")] * 2
    assert [(e["kind"], e["hint"]) for e in found] == [
        ("aws access key", fake_key()[:4] + "…"),
        ("github token", fake_token()[:4] + "…"),
    ]
    assert "aws access key" in cm("redactions", "--repo", "app").out
    assert "Repo 'no' not found" in cm("redactions", "--repo", "no", code=1).err


def test_no_secret_is_anywhere_in_the_index(cm, synced, store, db):
    sha = synced.commit("k.txt", f"key = {fake_key()}\n", "Add keys")
    cm("sync")
    cm("verify")

    assert "[redacted aws access key]" in cm("patch", "app", sha).out
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for file in db.parent.iterdir():
        assert fake_key().encode() not in file.read_bytes()
        assert fake_key().lower().encode() not in file.read_bytes()


def test_nothing_redacted(cm, synced):
    assert cm("redactions").out == "Nothing was redacted.\n"


def test_the_list_follows_full_sync_gc_and_removal(cm, synced, store):
    synced.commit("k.txt", f"key = {fake_key()}\n", "Add keys")
    cm("sync")
    cm("sync", "--full")
    assert len(cm("redactions", "--json").data["redactions"]) == 1

    synced.git("reset", "--quiet", "--hard", "HEAD~1")
    cm("sync")
    assert cm("redactions", "--json").data["redactions"][0]["reachable"] is False
    cm("gc")
    assert cm("redactions", "--json").data["redactions"] == []

    synced.commit("k.txt", f"key = {fake_key()}\n", "Add keys")
    cm("sync")
    cm("remove-repo", "app")
    assert store.connection.execute("SELECT count(*) FROM redactions").fetchone()[0] == 0


def test_an_index_of_before_gets_the_table(tmp_path):
    path = tmp_path / "old.sqlite3"
    open_database(path, migrations()[:1]).close()

    connection = open_database(path, migrations())

    assert connection.execute("SELECT count(*) FROM redactions").fetchone()[0] == 0
    connection.close()
    with closing(sqlite3.connect(path)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    assert version == len(migrations())
