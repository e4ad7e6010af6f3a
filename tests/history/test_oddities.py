"""A repository with every oddity, each commit compared with what git itself says of it."""

from __future__ import annotations

import sqlite3

import pytest

from clew.history.lookup import get_commit
from tests.history.index import (
    assert_commit_equals_git,
    assert_equals_git,
    check_text_indexes,
    content,
    git_patch,
    hits,
    new_index,
    patch_of,
    stored_files,
    stored_meta,
    sync,
)
from tests.support.repos import Repository

ODD_PATHS = (
    b"with space.txt",
    b'quo"te.txt',
    b"tab\there.txt",
    b"new\nline.txt",
    b"back\\slash.txt",
    "grüße/日本語.txt".encode(),
    "line\u2028sep.txt".encode(),
    b"bad-\xff\xfe.txt",
    b"latin-\xe9.txt",
    b"-dash.txt",
    b":colon.txt",
    b" lead",
    b"trail ",
    b"a b/c d/e",
)


def build(path):
    """The repository, and its commits by what is odd about them."""
    r = Repository(path)
    odd = {}
    text = "".join(f"line {n}\n" for n in range(40))
    odd["root"] = r.commit("Root\n", {"a.txt": text, "keep.txt": "keep\n", "run.sh": "echo\n"})
    odd["empty commit"] = r.commit("Nothing changed")
    r.git("mv", "a.txt", "moved.txt")
    odd["pure rename"] = r.commit("Rename")
    r.git("mv", "moved.txt", "again.txt")
    odd["rename with change"] = r.commit("Rename and edit", {"again.txt": text + "more\n"})
    odd["copy"] = r.commit("Copy", {"copy.txt": text + "more\n", "again.txt": text + "other\n"})
    (r.path / "run.sh").chmod(0o755)
    odd["mode only"] = r.commit("Make it run")
    (r.path / "keep.txt").unlink()
    (r.path / "keep.txt").symlink_to("run.sh")
    odd["typechange"] = r.commit("Now a link")
    (r.path / "keep.txt").unlink()
    odd["typechange back"] = r.commit("A file again", {"keep.txt": "file\n", "vendor/v.txt": "v\n"})
    odd["binary only"] = r.commit("Binary", {"b.bin": b"\x00\x01\x02" * 50})
    odd["binary change"] = r.commit("Binary", {"b.bin": b"\x00\x01\x03" * 50})
    odd["binary and text"] = r.commit("Both", {"b.bin": b"\x00\x09" * 9, "t.txt": "text\n"})
    odd["big"] = r.commit("Big", {"big.txt": "0123456789abcdef\n" * 70000, "small.txt": "s\n"})
    odd["big shrinks"] = r.commit("Small again", {"big.txt": "gone\n"})
    odd["crlf"] = r.commit("Line ends", {"crlf.txt": b"one\r\ntwo\r\n", "cr.txt": b"a\rb\rc"})
    odd["no newline"] = r.commit("No newline at the end", {"nonl.txt": "x\ny"})
    odd["newline added"] = r.commit("Newline", {"nonl.txt": "x\ny\n"})
    odd["latin content"] = r.commit("Bytes", {"l1.txt": b"caf\xe9\n\xff\xfe z\n"})
    odd["odd paths"] = r.commit("Paths", dict.fromkeys(ODD_PATHS, b"x\n"))
    odd["odd paths change"] = r.commit("Paths", dict.fromkeys(ODD_PATHS, b"y\n"))
    odd["empty files"] = r.commit("Empty", {"empty1": "", "empty2": "", "dir/empty3": ""})
    odd["comment signs"] = r.commit(
        "SQL", {"q.sql": "-- sqlcomment\n++ plusline\nselect 1;\n--- dashes\n"}
    )
    odd["comment signs gone"] = r.commit("No SQL", {"q.sql": "select 2;\n"})
    fake = "diff --git a/x b/x\n@@ -1 +1 @@\n--- a/x\n+++ b/x\nBinary files a and b differ\n"
    odd["patch in a file"] = r.commit("Fake", {"fake.patch": fake})
    odd["a sha in a file"] = r.commit("Sha", {"sha.txt": f"{r.head()}\nend-0123\n"})
    odd["long line"] = r.commit("Long", {"long.txt": "w" * 300_000 + "\n"})
    odd["deep"] = r.commit("Deep", {"/".join(["d"] * 60) + "/f": "x\n"})
    for number in (1, 2):
        r.git("update-index", "--add", "--cacheinfo", f"160000,{str(number) * 40},sub")
        r.git("commit", "-q", "-m", f"Submodule {number}", env=r.dates())
        odd[f"submodule {number}"] = r.head()
    r.git("rm", "-q", "--cached", "sub")
    r.git("commit", "-q", "-m", "No submodule", env=r.dates())
    _merges(r, odd)
    _messages(r, odd)
    _people(r, odd)
    _refs(r)
    return r, odd


def _merges(r, odd):
    r.git("checkout", "-q", "-b", "side")
    odd["side"] = r.commit("Side", {"side.txt": "side\n"})
    r.git("checkout", "-q", "main")
    odd["main"] = r.commit("Main", {"main.txt": "main\n"})
    r.git("merge", "-q", "--no-ff", "-m", "Merge side", "side", env=r.dates())
    odd["merge"] = r.head()
    for name in ("o1", "o2", "o3"):
        r.git("checkout", "-q", "-b", name, odd["merge"])
        r.commit(name, {f"{name}.txt": f"{name}\n"})
    r.git("checkout", "-q", "main")
    r.git("merge", "-q", "--no-ff", "-m", "Octopus", "o1", "o2", "o3", env=r.dates())
    odd["octopus"] = r.head()
    r.git("merge", "-q", "-s", "ours", "--no-ff", "-m", "Same tree", odd["root"], check=False)
    tree = r.text("rev-parse", "HEAD^{tree}")
    second = r.text("commit-tree", odd["root"] + "^{tree}", "-m", "Another root", env=r.dates())
    merged = ("commit-tree", tree, "-p", "HEAD", "-p", second, "-m", "Two roots")
    r.git("reset", "-q", "--hard", r.text(*merged, env=r.dates()))
    odd["two roots"], odd["second root"] = r.head(), second


def _messages(r, odd):
    odd["empty message"] = r.commit("")
    odd["blank lines first"] = r.commit("\n\n  Indented subject  \n\nBody\n")
    odd["long subject"] = r.commit("word " * 4000)
    odd["two subject lines"] = r.commit("First line\nsecond line\n\nBody\n")
    odd["trailers"] = r.commit(
        "Fix it\n\nWhy it broke.\n\n- a\n- b\n\nFixes: #482\nCo-authored-by: J <j@example.com>\n"
    )
    odd["crlf message"] = r.commit("Subject\r\n\r\nBody one\r\nBody two\r\n")
    odd["unicode"] = r.commit("Grüße 日本語 🚀\n\nNaïve café\n")
    person = b"Ren\xe9 <r@example.com> 1700000000 +0100"
    who = [b"author " + person, b"committer " + person]
    odd["latin with header"] = r.raw_commit([*who, b"encoding ISO-8859-1"], b"Caf\xe9\n\nb\xe9\n")
    odd["latin without header"] = r.raw_commit(who, b"Th\xe9\n\nbod\xff\n")
    plain = b"A <a@example.com> 1700000000 +0000"
    who = [b"author " + plain, b"committer " + plain]
    odd["unknown encoding"] = r.raw_commit([*who, b"encoding x-none"], b"Subject \xe9\n")
    odd["signed"] = r.raw_commit(
        [*who, b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"],
        b"Signed\n",
    )
    odd["nul"] = r.raw_commit(who, b"Before\x00After\n")


def _people(r, odd):
    dates = {
        "west": "1600000000 -1130",
        "east": "1600000000 +1400",
        "odd zone": "1600000000 +0007",
        "at zero": "@0 +0000",
    }
    for name, date in dates.items():
        odd[name] = r.commit(name, env=r.dates(date, date))
    raw = {
        "before 1970": b"A <a@example.com> -100000 +0000",
        "far future": b"A <a@example.com> 99999999999 +0000",
        "overflow": b"A <a@example.com> 99999999999999999999999 +0000",
        "broken zone": b"A <a@example.com> 1600000000 +9999999",
        "no date": b"A <a@example.com>",
        "no name": b" <a@example.com> 1600000000 +0000",
        "no address": b"Somebody <> 1600000000 +0000",
    }
    for name, person in raw.items():
        odd[name] = r.raw_commit([b"author " + person, b"committer " + person], b"Dated\n")
    mailmap = "Proper Name <proper@example.com> <old@example.com>\n"
    odd["mailmap"] = r.commit("Mapped", {".mailmap": mailmap})
    author = {"GIT_AUTHOR_NAME": "nick", "GIT_AUTHOR_EMAIL": "old@example.com"}
    odd["mapped"] = r.commit("By nick", {"nick.txt": "x\n"}, env=author)


def _refs(r):
    head = r.head()
    r.git("tag", "light")
    r.git("tag", "-a", "-m", "Annotated", "v1", env=r.dates())
    r.git("tag", "-a", "-m", "Nested", "v2", "v1", env=r.dates())
    r.git("tag", "tree-tag", "HEAD^{tree}")
    r.git("tag", "blob-tag", "HEAD:main.txt")
    r.git("notes", "add", "-m", "A note that nobody finds: xnotex", head, env=r.dates())
    r.git("update-ref", "refs/replace/" + head, r.text("rev-parse", "HEAD~3"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The repository, its odd commits and its index."""
    home = tmp_path_factory.mktemp("odd")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GIT_NO_REPLACE_OBJECTS", "1")
        for role in ("AUTHOR", "COMMITTER"):
            patched.setenv(f"GIT_{role}_NAME", "Test")
            patched.setenv(f"GIT_{role}_EMAIL", "test@example.com")
        patched.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        repository, odd = build(home / "odd")
        store = new_index(home / "db", repository)
        yield repository, odd, store
        store.close()


@pytest.fixture(autouse=True)
def _no_replacing(monkeypatch):
    monkeypatch.setenv("GIT_NO_REPLACE_OBJECTS", "1")


def test_every_commit_is_what_git_says(built):
    repository, odd, store = built
    assert set(odd.values()) <= set(repository.all_shas())
    # Ignored paths are compared in a test of their own.
    ignoring = odd["typechange back"]
    for sha in repository.all_shas():
        if sha != ignoring:
            assert_commit_equals_git(repository, store, sha)
    counted = store.connection.execute("SELECT count(*) FROM commits").fetchone()[0]
    assert counted == len(repository.all_shas())
    check_text_indexes(store)


def test_no_problem_was_seen(built):
    _, _, store = built
    assert store.state(1).error is None
    broken = store.connection.execute("SELECT problem FROM commit_rows WHERE problem IS NOT NULL")
    assert broken.fetchall() == []


def test_statuses_are_those_of_git(built):
    _, odd, store = built
    assert stored_files(store, odd["pure rename"]) == [("R", "moved.txt", "a.txt")]
    assert stored_files(store, odd["rename with change"]) == [("R", "again.txt", "moved.txt")]
    assert stored_files(store, odd["mode only"]) == [("M", "run.sh", None)]
    assert stored_files(store, odd["typechange"]) == [("T", "keep.txt", None)]
    assert stored_files(store, odd["empty commit"]) == []
    assert ("C", "copy.txt", None) in stored_files(store, odd["copy"])  # only renames have one


def test_a_typechange_keeps_its_patch_beside_ignored_files(built):
    repository, odd, store = built
    sha = odd["typechange back"]
    assert stored_files(store, sha) == [("T", "keep.txt", None)]
    patch = patch_of(store, sha)
    assert patch == repository.git("show", "-M", "--format=", sha, "--", "keep.txt").decode()
    assert "vendor" not in patch
    counted = store.connection.execute(
        "SELECT added, removed FROM commit_files WHERE sha = ?", (sha,)
    ).fetchone()
    assert tuple(counted) == (1, 1)


@pytest.mark.parametrize("what", ["binary only", "binary change", "big", "empty commit"])
def test_what_has_no_patch_keeps_files_and_message(built, what):
    _repository, odd, store = built
    assert patch_of(store, odd[what]) is None
    assert get_commit(store, "r", odd[what])["subject"]
    assert bool(stored_files(store, odd[what])) == (what != "empty commit")


def test_a_patch_of_binary_and_text_is_kept_whole(built):
    _, odd, store = built
    patch = patch_of(store, odd["binary and text"])
    assert "Binary files a/b.bin and b/b.bin differ" in patch
    assert "+text" in patch


def test_paths_that_are_no_utf8_are_kept_in_quotes(built):
    _, odd, store = built
    paths = [path for _, path, _ in stored_files(store, odd["odd paths"])]
    assert '"bad-\\377\\376.txt"' in paths
    assert "new\nline.txt" in paths
    assert "grüße/日本語.txt" in paths
    assert len(paths) == len(ODD_PATHS)


def test_messages_are_read_in_their_encoding(built):
    _, odd, store = built
    commit = get_commit(store, "r", odd["latin with header"])
    assert (commit["subject"], commit["body"], commit["author"]) == ("Café", "bé", "René")
    commit = get_commit(store, "r", odd["latin without header"])
    assert (commit["subject"], commit["body"]) == ("Thé", "bodÿ")
    assert get_commit(store, "r", odd["empty message"])["subject"] == ""
    assert get_commit(store, "r", odd["empty message"])["body"] is None
    assert get_commit(store, "r", odd["crlf message"])["body"] == "Body one\nBody two"
    assert get_commit(store, "r", odd["blank lines first"])["subject"] == "  Indented subject"
    body = get_commit(store, "r", odd["trailers"])["body"]
    assert body.startswith("Why it broke.")
    assert body.endswith("Co-authored-by: J <j@example.com>")


def test_people_are_folded_by_the_mailmap(built):
    _, odd, store = built
    assert stored_meta(store, odd["mapped"])["author_email"] == "proper@example.com"
    assert get_commit(store, "r", odd["mapped"])["author"] == "Proper Name"


def test_zones_are_kept(built):
    _, odd, store = built
    rows = store.connection.execute("SELECT lower(hex(sha)), author_zone FROM commit_rows")
    zones = dict(map(tuple, rows))
    assert zones[odd["west"]] == "-1130"
    assert zones[odd["east"]] == "+1400"


def test_lines_that_look_like_headers_are_found(built):
    _, odd, store = built
    assert (
        hits(store, "sqlcomment", "plusline")
        == [sorted([odd["comment signs"], odd["comment signs gone"]])] * 2
    )


def test_notes_are_not_indexed(built):
    _, _, store = built
    assert hits(store, "xnotex") == [[]]


def test_all_refs_take_branches_and_tags(built, tmp_path):
    repository, _, _ = built
    repository.git("branch", "-q", "aside", "HEAD~4", check=False)
    store = new_index(tmp_path / "db", repository, all_refs=True)
    tips = store.tips(1)
    head = repository.head()
    assert tips["refs/tags/light"] == tips["refs/tags/v1"] == tips["refs/tags/v2"] == head
    assert "refs/tags/tree-tag" not in tips
    assert "refs/tags/blob-tag" not in tips
    assert tips["refs/heads/o1"] == repository.text("rev-parse", "o1")
    shas = repository.all_shas("HEAD", "--branches")
    assert store.commit_count(1) == len(shas)
    store.close()


def test_the_index_of_a_mirror_is_the_same(built, tmp_path):
    repository, _odd, store = built
    repository.git("clone", "-q", "--mirror", str(repository.path), str(tmp_path / "m.git"))
    bare = Repository.__new__(Repository)
    bare.path = tmp_path / "m.git"
    copy = new_index(tmp_path / "db", bare)
    assert content(copy)["files"] == content(store)["files"]
    assert content(copy)["patches"] == content(store)["patches"]
    assert copy.commit_count(1) == store.commit_count(1)
    assert sync(copy).indexed == 0
    copy.close()


def test_plain_sqlite_reads_the_same(built):
    repository, odd, store = built
    import zstandard

    connection = sqlite3.connect(store.path)
    rows = connection.execute("SELECT sha, patch_blob FROM commit_patches").fetchall()
    connection.close()
    assert len(rows) > 30
    for sha, blob in rows:
        if sha != odd["typechange back"]:
            assert zstandard.decompress(blob) == git_patch(repository, sha)


def test_everything_again_changes_nothing(built):
    _, _, store = built
    before = content(store)
    assert sync(store).indexed == 0
    assert content(store) == before


def test_equal_to_git_helper_sees_differences(tmp_path):
    repository = Repository(tmp_path / "r")
    repository.commit("One", {"a": "1\n"})
    store = new_index(tmp_path / "db", repository)
    assert_equals_git(repository, store)
    repository.commit("Two", {"a": "2\n"})
    with pytest.raises(AssertionError):
        assert_equals_git(repository, store)
    assert sync(store).indexed == 1
    assert_equals_git(repository, store)
    store.close()
