"""A deployment's checklist: what the repository says, with its place, and what it does not say."""

from __future__ import annotations

import pytest

from clew.advisors.actions.deployment import checklist, checklist_data
from clew.kit.git import run_git

FILES = {
    ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: pip install tox\n      - run: make test\n",
    "Dockerfile": "FROM python:3.12\nEXPOSE 8000\nHEALTHCHECK CMD curl localhost\n",
    ".env.example": "DATABASE_URL=postgres://x\n# a remark\n",
    "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n- more\n",
    "Makefile": "deploy:\n\ttrue\n",
}


@pytest.fixture
def repository(tmp_path):
    run_git("init", "-q", cwd=tmp_path)
    _commit(tmp_path, "README.md", "# x")
    run_git("tag", "v1.0", cwd=tmp_path)
    for name, text in FILES.items():
        _commit(tmp_path, name, text)
    _commit(tmp_path, "db/migrations/0002_more.sql", "select 1;")
    return tmp_path


def _commit(place, name, text):
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(text)
    run_git("add", "--all", cwd=place, working=True)
    who = ("-c", "user.name=K", "-c", "user.email=k@example.org")
    run_git(*who, "commit", "-q", "-m", f"Add {name}", cwd=place, working=True)


def test_every_line_has_its_place(repository):
    found = {one.source: one.said for one in checklist(repository)}

    assert found[".github/workflows/ci.yml:5"] == "make test"
    assert ".github/workflows/ci.yml:4" not in found, "installing proves nothing"
    assert found["Dockerfile:2"] == "EXPOSE 8000"
    assert found["Dockerfile:3"].startswith("HEALTHCHECK")
    assert found[".env.example:1"] == "DATABASE_URL"
    assert found["CHANGELOG.md:3"] == "Unreleased"
    assert found["Makefile:1"] == "deploy"
    assert found["git:v1.0..HEAD"] == "6 commits since v1.0"
    assert found["db/migrations/0002_more.sql"] == "1 migrations since the last tag"


def test_what_a_repository_does_not_say_is_asked_for(tmp_path):
    run_git("init", "-q", cwd=tmp_path)
    data = checklist_data(checklist(tmp_path))

    assert data["entries"] == []
    assert len(data["missing"]) == 6
    assert "Not found: a health check" in data["output"]
