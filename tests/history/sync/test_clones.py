"""add-repo --url: clones that advance, in our own directory and nowhere else."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest

from clew.history.sync.clones import check_url, name_of_url, shown_url
from clew.kit.errors import Invalid


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        pass


class Origin:
    """A repository that is served on the loopback, as plain files."""

    def __init__(self, repo, directory, port):
        self.repo = repo
        self.bare = directory / "project.git"
        self.url = f"http://127.0.0.1:{port}/project.git"
        repo.git("clone", "--quiet", "--bare", str(repo.root), str(self.bare))
        self.publish()

    def publish(self):
        repo = self.repo
        repo.git(
            "push", "--quiet", "--force", "--prune", str(self.bare), "refs/heads/*:refs/heads/*"
        )
        repo.git("-C", str(self.bare), "update-server-info")


@pytest.fixture
def origin(repo, tmp_path):
    """The repository behind a server."""
    served = tmp_path / "served"
    served.mkdir()
    handler = functools.partial(Quiet, directory=str(served))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Origin(repo, served, server.server_port)
    server.shutdown()
    server.server_close()
    thread.join(120)


@pytest.fixture
def clones(db):
    return db.parent / "clones"


def test_a_clone_is_made_and_indexed(cm, origin, clones):
    said = cm("add-repo", "--url", origin.url)

    assert said.out == f"Added repo 'project' at {clones / 'project'}\n"
    assert f"Cloning project from {origin.url}..." in said.err
    assert "3 indexed" in cm("sync").out
    assert (clones / "project" / "HEAD").exists()
    assert clones.stat().st_mode & 0o077 == 0
    assert cm("status", "--json").data["repos"][0]["source"] == origin.url
    cm("verify")


def test_every_sync_advances(cm, origin):
    cm("add-repo", "--url", origin.url)
    cm("sync")
    for number in range(3):
        origin.repo.commit("n.txt", f"{number}\n", f"New {number}")
        origin.publish()

        assert "1 indexed" in cm("sync").out

    origin.repo.git("commit", "--quiet", "--amend", "--message", "Rewritten")
    origin.publish()
    assert "1 indexed" in cm("sync").out
    found = cm("search", "Rewritten", "--json").data["commits"]
    assert [hit["subject"] for hit in found] == ["Rewritten"]
    cm("verify")


def test_a_new_default_branch_is_followed(cm, origin):
    cm("add-repo", "--url", origin.url)
    cm("sync")
    origin.repo.git("switch", "--quiet", "--create", "trunk")
    origin.repo.commit("t.txt", "t\n", "On trunk")
    origin.repo.git("branch", "--quiet", "--delete", "--force", "main")
    origin.repo.git("-C", str(origin.bare), "symbolic-ref", "HEAD", "refs/heads/trunk")
    origin.publish()

    assert "1 indexed" in cm("sync").out
    assert "On trunk" in cm("search", "trunk").out


def test_branches_and_tags_come_along(cm, origin, store):
    origin.repo.git("branch", "side")
    origin.publish()
    cm("add-repo", "--url", origin.url, "--all-refs", "--name", "all")
    cm("sync")
    assert "refs/heads/side" in store.tips(1)

    origin.repo.git("branch", "--quiet", "--delete", "side")
    origin.publish()
    cm("sync")

    assert "refs/heads/side" not in store.tips(1)


def test_the_watcher_fetches_too(cm, origin):
    cm("add-repo", "--url", origin.url)
    cm("watch", "--once")
    origin.repo.commit("n.txt", "n\n", "New")
    origin.publish()

    assert "1 commits indexed" in cm("watch", "--once").out


def test_removing_deletes_the_clone_and_nothing_else(cm, origin, clones, new_repo):
    cm("add-repo", "--url", origin.url)
    cm("add-repo", "--url", origin.url, "--name", "org/project")
    cm("sync")

    said = cm("remove-repo", "project")

    assert said.out.splitlines() == [
        "Removed repo 'project' (3 commits deleted from index)",
        f"Removed managed clone at {clones / 'project'}",
    ]
    assert [place.name for place in clones.iterdir()] == ["org%2Fproject"]
    cm("sync")


def test_removing_never_deletes_a_users_repository(cm, synced, clones, new_repo):
    inside = new_repo("index/clones/mine")
    inside.commit()
    cm("add-repo", inside.root)

    cm("remove-repo", "mine")
    cm("remove-repo", "app")

    assert (inside.root / "a.txt").exists()
    assert (synced.root / "a.txt").exists()


@pytest.mark.parametrize("trick", ["elsewhere", "unmarked", "link", "dot", "parent"])
def test_removing_trusts_no_record_alone(cm, origin, store, clones, tmp_path, trick):
    cm("add-repo", "--url", origin.url)
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "clew-clone").touch()
    places = {"elsewhere": victim, "link": clones / "link", "dot": clones / "." / "project" / "..",
              "unmarked": clones / "plain", "parent": clones / ".." / "clones"}  # fmt: skip
    (clones / "plain").mkdir()
    (clones / "link").symlink_to(victim)
    store.connection.execute("UPDATE repos SET local_path = ?", (str(places[trick]),))

    assert "managed clone" not in cm("remove-repo", "project").out

    assert (victim / "clew-clone").exists()
    assert (clones / "plain").exists()
    assert (clones / "project").exists()


@pytest.mark.parametrize("name", ["../../x", "..", "a/../../b", "/abs", "", "x/", "a%b", "."])
def test_names_that_lead_outside_are_refused(cm, origin, clones, name):
    said = cm("add-repo", "--url", origin.url, "--name", name, code=1)

    assert "Not a usable repository name" in said.err
    assert not clones.exists()


def test_a_name_that_is_taken_is_refused_before_cloning(cm, synced, origin, clones):
    said = cm("add-repo", "--url", origin.url, "--name", "app", code=1)

    assert "A repo named 'app' already exists" in said.err
    assert not clones.exists()


def test_a_clone_that_fails_leaves_nothing(cm, origin, clones):
    url = origin.url.replace("project", "absent")

    said = cm("add-repo", "--url", url, code=1)

    assert f"Failed to clone 'absent' from '{url}'" in said.err
    assert not clones.exists()
    assert "No repositories indexed" in cm("status").out
    cm("add-repo", "--url", origin.url)
    cm("add-repo", "--url", url, code=1)
    assert [place.name for place in clones.iterdir()] == ["project"]


@pytest.mark.parametrize(
    "url",
    ["file:///etc", "/etc", "../x", "ext::sh -c true", "-u", "--upload-pack=x", "", "ftp://h/x",
     "HTTPS://x/y", "https://h/a b", "https://h/a\nb", "git@h:x\x00y"],
)  # fmt: skip
def test_other_addresses_are_refused(cm, clones, url):
    with pytest.raises(Invalid, match="is not a valid git URL"):
        check_url(url)
    assert not clones.exists()


def test_the_message_for_a_wrong_address(cm):
    assert cm("add-repo", "--url", "file:///x", code=1).err == (
        "commitmux: 'file:///x' is not a valid git URL"
        " (expected https://, http://, git@, git://, or ssh://)\n"
    )


def test_a_path_or_an_address(cm, synced):
    assert "Give a path or --url" in cm("add-repo", code=2).err
    assert "Give a path or --url" in cm("add-repo", synced.root, "--url", "https://h/x", code=2).err


def test_a_server_that_is_away_is_told_and_noted(cm, origin):
    cm("add-repo", "--url", origin.url)
    cm("sync")
    origin.bare.rename(origin.bare.with_name("away.git"))

    assert "git fetch failed" in cm("sync", code=1).out
    assert "git fetch failed" in cm("status").out
    origin.bare.with_name("away.git").rename(origin.bare)
    assert "0 indexed, 3 already" in cm("sync").out


def test_a_clone_that_somebody_deleted(cm, origin, clones):
    cm("add-repo", "--url", origin.url)
    (clones / "project").rename(clones / "gone")

    assert "No clone at" in cm("sync", code=1).out


def test_the_place_of_a_clone_is_ours(cm, origin, synced):
    cm("add-repo", "--url", origin.url)

    said = cm("update-repo", "project", "--path", synced.root, code=1)

    assert "is a clone that Clew manages" in said.err


def test_a_renamed_clone_goes_on_and_its_old_name_is_free(cm, origin, clones):
    cm("add-repo", "--url", origin.url)
    cm("update-repo", "project", "--name", "renamed")
    cm("add-repo", "--url", origin.url)
    assert cm("sync").out.count("3 indexed") == 2

    cm("remove-repo", "renamed")

    assert "0 indexed" in cm("sync").out
    assert len(list(clones.iterdir())) == 1


def test_passwords_are_not_shown():
    secret = "pass" + "word"
    assert shown_url(f"https://me:{secret}@host/x.git") == "https://host/x.git"
    assert shown_url(f"https://{secret}@host/x.git") == "https://host/x.git"
    assert shown_url(f"ssh://git:{secret}@host/x.git") == "ssh://git@host/x.git"
    assert shown_url("git@host:a/b.git") == "git@host:a/b.git"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://host/org/tool.git", "tool"),
        ("https://host/org/tool/", "tool"),
        ("git@host:tool.git", "tool"),
        ("ssh://git@host:22/a/tool", "tool"),
    ],
)
def test_names_of_addresses(url, name):
    assert name_of_url(url) == name


def test_a_password_of_the_address_is_not_in_the_index(cm, origin, db, clones):
    secret = "pass" + "word" + "1"
    cm("add-repo", "--url", origin.url.replace("127", f"me:{secret}@127"))
    cm("sync")

    assert not any(secret.encode() in file.read_bytes() for file in db.parent.glob("db*"))
    assert (
        Path(clones / "project").stat().st_mode & 0o077 == 0 or clones.stat().st_mode & 0o077 == 0
    )
