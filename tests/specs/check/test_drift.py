"""Drift is a change of content, not of times."""

import os

import pytest

from clew.specs.check.baselines import HASHES
from clew.specs.check.drift import blob_hash, find_drift, hashes_of
from clew.specs.model import Changes
from tests.specs.making import Project
from tests.support.repos import Repository

A, B = "2026-01-22-001-aaa", "2026-01-22-002-bbb"


@pytest.fixture
def repo(tmp_path):
    repo = Repository(tmp_path)
    repo.commit(
        files={"src/a.py": "a\n", "src/b.py": "b\n", "doc.md": "d\n", "src/deep/c.py": "c\n"}
    )
    return repo


@pytest.fixture
def project(repo):
    return Project(repo.path)


FIELDS = "type: documentation\nstatus: completed\ntracks: ['src/*.py']\ntarget_files: [doc.md]"


def changes(project, spec_id=A):
    return {
        file["path"]: (file["change"], file["field"]) for file in alone(project, spec_id)["files"]
    }


def alone(project, spec_id=A):
    """The drift of one spec."""
    (found,) = find_drift(project.store, [spec_id])
    return found


def record_hashes(project):
    """Keep the present hashes, as completing a spec does."""

    def edit(spec):
        return Changes({HASHES: hashes_of(project.root, spec)})

    return project.store.change(A, edit, actor="test")


def test_the_hash_is_gits(repo):
    assert blob_hash(repo.path / "doc.md") == repo.text("hash-object", "doc.md")
    assert blob_hash(repo.path / "src") is None


def test_recorded_hashes(project, repo):
    project.spec(A, FIELDS)
    spec = record_hashes(project)
    assert list(spec.fields["file_hashes"]) == ["doc.md", "src/a.py", "src/b.py"]
    os.utime(repo.path / "src" / "a.py", (1, 1))
    assert changes(project) == {}
    repo.write("src/a.py", "changed\n")
    repo.write("src/new.py", "new\n")
    (repo.path / "src" / "b.py").unlink()
    repo.write("doc.md", "other\n")
    assert changes(project) == {
        "src/a.py": ("modified", "tracks"),
        "src/b.py": ("deleted", "tracks"),
        "src/new.py": ("added", "tracks"),
        "doc.md": ("modified", "target_files"),
    }
    repo.write("src/a.py", "a\n")
    assert "src/a.py" not in changes(project)


def test_without_a_record_the_last_commit_counts(project, repo):
    repo.write("src/a.py", "second\n")
    commit = repo.commit("chant(x): work")
    project.spec(A, f"{FIELDS}\ncommits: ['{commit[:10]}']")
    assert changes(project) == {}
    repo.commit(files={"src/a.py": "third\n"})
    assert changes(project) == {"src/a.py": ("modified", "tracks")}
    (found,) = find_drift(project.store)
    assert found["baseline"] == f"commit {commit[:10]}"
    assert found["changed"] == ["src/a.py (modified)"]


def test_without_a_commit_the_time_of_completion_counts(project, repo):
    project.spec(A, f"{FIELDS}\ncompleted_at: 2023-11-14T22:30:00Z")
    assert alone(project)["baseline"].startswith("commit ")
    assert changes(project) == {}
    project.spec(A, f"{FIELDS}\ncompleted_at: 2001-01-01T00:00:00Z")
    assert alone(project)["baseline"] is None


def test_a_clone_has_no_drift(project, repo, tmp_path_factory):
    project.spec(A, FIELDS)
    record_hashes(project)
    repo.commit("all")
    there = tmp_path_factory.mktemp("clone") / "c"
    repo.git("clone", "-q", str(repo.path), str(there))
    assert changes(Project(there)) == {}


def test_nothing_outside_of_the_project_is_read(project, repo):
    (repo.path / "link").symlink_to("/etc/hostname")
    project.spec(A, "status: completed\ntracks: [/etc/hostname, ../x, link, '**/**/**/*', doc.md]")
    assert list(hashes_of(project.root, project.store.load(A))) == ["doc.md"]


def test_only_completed_specs_with_files_are_looked_at(project):
    project.spec(A, "status: pending\ntracks: [doc.md]")
    project.spec(B, "status: completed")
    assert find_drift(project.store) == []


def test_deep_globs(project):
    project.spec(A, "status: completed\ntracks: ['src/**/*.py']")
    assert list(hashes_of(project.root, project.store.load(A))) == [
        "src/a.py",
        "src/b.py",
        "src/deep/c.py",
    ]
    record_hashes(project)
    assert changes(project) == {}
    (project.root / "src" / "deep" / "c.py").unlink()
    assert changes(project) == {"src/deep/c.py": ("deleted", "tracks")}


def test_many_specs_are_answered_as_each_alone(project, repo):
    first = repo.text("rev-parse", "HEAD")
    repo.commit(files={"src/a.py": "second\n", "doc.md": "e\n"})
    second = repo.text("rev-parse", "HEAD")
    repo.commit(files={"src/b.py": "third\n", "new file.md": "n\n"})
    for number, fields in enumerate(
        (
            f"commits: ['{first}']\ntracks: [src/a.py, ./src/b.py, gone.md, src]",
            f"commits: ['{second}']\ntracks: ['src/*.py']\ntarget_files: ['new file.md']",
            "commits: ['HEAD@{99999}']\ntracks: [doc.md]",
            f'commits: ["{first}\\nHEAD"]\ntracks: [doc.md]',
            f"commits: ['{second}']\ntracks: [../x, /etc/hostname, doc.md]",
            *(f"completed_at: 2023-11-14T2{n}:30:00Z\ntracks: [doc.md]" for n in range(4)),
        )
    ):
        project.spec(f"2026-01-22-00{number}-abc", f"status: completed\n{fields}")
    together = find_drift(project.store)
    assert together == [alone(project, one["id"]) for one in together]
    assert [one["changed"] for one in together[:5]] == [
        ["src/a.py (modified)", "src/b.py (modified)"],
        ["src/b.py (modified)", "new file.md (added)"],
        [],
        [],
        [],
    ]
    assert [one["baseline"] is None for one in together[:5]] == [False, False, True, True, False]


def test_a_project_below_the_top_of_its_repository(repo):
    inner = Project(repo.path / "src")
    commit = repo.text("rev-parse", "HEAD")
    inner.spec(
        A, f"status: completed\ncommits: ['{commit}']\ntracks: [a.py, 'deep/*.py', ../doc.md]"
    )
    assert changes(inner) == {}
    repo.write("src/a.py", "changed\n")
    repo.write("doc.md", "changed\n")
    assert changes(inner) == {"a.py": ("modified", "tracks")}
