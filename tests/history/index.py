"""Indexes under test, and what git itself says of the same commits."""

from __future__ import annotations

import re

from clew.history.lookup import get_commit, get_patch
from clew.history.search.pathmatch import matching_paths
from clew.history.search.search import search_commits
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.errors import NotFound
from clew.kit.text.diff import unquote

LARGEST = 1024 * 1024
opened = []  # closed after the test or the fixture that opened them: see conftest.py


def new_index(path, repository=None, **settings):
    """An index, with one repository registered and synced when one is given."""
    store = SqliteHistory.create(path)
    opened.append(store)
    if repository is not None:
        settings.setdefault("name", "r")
        sync_repo(store, register(store, repository.path, **settings))
    return store


def sync(store, name="r"):
    """Sync one repository by name."""
    return sync_repo(store, store.find_repo(name))


def patch_of(store, sha, repo="r"):
    """The stored patch, or None."""
    try:
        return get_patch(store, repo, sha)["patch_text"]
    except NotFound as error:
        if error.message != f"Patch {repo}:{sha} not found":
            raise
        return None


def git_patch(repository, sha):
    """The patch as git shows it: to the first parent, or of all files."""
    parents = repository.text("log", "-1", "--format=%P", sha).split()
    if len(parents) > 1:
        return repository.git("diff", "-M", parents[0], sha)
    return repository.git("show", "-M", "--format=", sha)


def git_files(repository, sha):
    """(status, path, old path) of every file as git lists them, sorted by path."""
    parents = repository.text("log", "-1", "--format=%P", sha).split()
    between = [parents[0], sha] if parents else ["--root", sha]
    listed = repository.git("diff-tree", "-r", "-M", "--raw", "--no-commit-id", *between)
    files = []
    for line in listed.split(b"\n")[:-1]:
        header, *names = line.split(b"\t")
        letter = header.split(b" ")[4][:1].decode()
        shown = [unquote(name) for name in names]
        files.append((letter, shown[-1], shown[0] if len(shown) > 1 else None))
    return sorted(files, key=lambda entry: entry[1])


def git_meta(repository, sha):
    """Names, addresses, times and message as git logs them."""
    fields = repository.git(
        "log",
        "-1",
        "--encoding=UTF-8",
        "--use-mailmap",
        "--date=raw",
        "--format=%aN%x00%aE%x00%cN%x00%cE%x00%ad%x00%cd%x00%P%x00%s%x00%b",
        sha,
    ).split(b"\x00")
    name, email, committer, committer_email, at, ct, parents, subject, body = map(decoded, fields)
    return {
        "author_name": name,
        "author_email": email,
        "committer_name": committer,
        "committer_email": committer_email,
        "author_time": int(at.split()[0]) if at else 0,
        "commit_time": int(ct.split()[0]) if ct else 0,
        "parent_count": len(parents.split()),
        "subject": subject,
        "body": body.replace("\r\n", "\n").strip("\n").rstrip() or None,
    }


def decoded(raw):
    """UTF-8, or what else it can only be."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def stored_meta(store, sha):
    """The same of the index, through the documented view."""
    row = store.connection.execute("SELECT * FROM commits WHERE sha = ?", (sha,)).fetchone()
    wanted = ("rowid", "repo_id", "sha", "patch_preview", "reachable")
    return {key: row[key] for key in row.keys() if key not in wanted}  # noqa: SIM118


def stored_files(store, sha, repo="r"):
    """The same of the index."""
    files = get_commit(store, repo, sha)["changed_files"]
    return [(entry["status"], entry["path"], entry["old_path"]) for entry in files]


def assert_equals_git(repository, store, *refs, ignored=()):
    """Every commit of the index is what git says, and none is missing."""
    shas = repository.all_shas(*refs)
    rows = store.connection.execute("SELECT sha FROM commits WHERE reachable")
    assert sorted(row["sha"] for row in rows) == sorted(shas)
    for sha in shas:
        assert_commit_equals_git(repository, store, sha)


def assert_commit_equals_git(repository, store, sha):
    """One commit's patch, files and metadata are git's."""
    expected = git_patch(repository, sha)
    stored = patch_of(store, sha)
    sections = expected.count(b"\ndiff --git ") + expected.startswith(b"diff --git ")
    is_binary = sections and sections == len(re.findall(rb"^Binary files ", expected, re.MULTILINE))
    if not expected or len(expected) > LARGEST or is_binary:
        assert stored is None, sha
    else:
        assert stored == expected.decode("utf-8", "replace"), sha
    # Exact copies are told beyond what `-M` asks of git.
    files = [
        ("A", path, None) if status == "C" else (status, path, old)
        for status, path, old in stored_files(store, sha)
    ]
    assert files == git_files(repository, sha), sha
    assert stored_meta(store, sha) == git_meta(repository, sha), sha


def content(store):
    """Everything of an index that a clean one must have too; places and numbers left out."""
    connection = store.connection
    commits = connection.execute("SELECT * FROM commits WHERE reachable").fetchall()
    shas = {row["sha"] for row in commits}
    files = connection.execute(
        "SELECT sha, path, status, old_path, added, removed FROM commit_files"
    )
    patches = connection.execute("SELECT sha, patch_blob FROM commit_patches")
    return {
        "commits": sorted(
            tuple(row[key] for key in row.keys() if key != "rowid")  # noqa: SIM118
            for row in map(_without_null, commits)
        ),
        "files": sorted(tuple(str(v) for v in row) for row in files if row["sha"] in shas),
        "patches": sorted(tuple(row) for row in patches if row["sha"] in shas),
        "tips": {repo.name: store.tips(repo.repo_id) for repo in store.repos()},
    }


class _Row(dict):
    pass


def _without_null(row):
    return _Row({key: "" if row[key] is None else row[key] for key in row.keys()})  # noqa: SIM118


def hits(store, *queries):
    """The commits that each query finds, without their order."""
    return [sorted(hit["sha"] for hit in search_commits(store, q, limit=10_000)) for q in queries]


def check_text_indexes(store):
    """The text indexes hold exactly what the tables hold."""
    for table in ("commits_fts", "paths_fts", "search_fts"):
        store.connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    counted = store.connection.execute("SELECT count(*) FROM search_fts_docsize").fetchone()
    assert counted[0] == store.connection.execute("SELECT count(*) FROM commit_rows").fetchone()[0]
    assert len(matching_paths(store, [""])) == len(
        store.connection.execute("SELECT * FROM paths").fetchall()
    )
