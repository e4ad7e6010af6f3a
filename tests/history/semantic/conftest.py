"""A small repository whose messages can be found by meaning, and its index."""

from __future__ import annotations

import pytest

from clew.history.semantic.vectors import embed_commits
from clew.models.embedding import packaged_embedder
from tests.history.index import new_index
from tests.support.repos import Repository

MESSAGES = {
    "crash": "Do not crash when the configuration file is missing",
    "colours": "Use brighter colours for the logo and the buttons",
    "speed": "Make the database queries much faster with an index",
    "typo": "Correct a spelling mistake in the manual",
    "login": "Ask for the password again after an hour without activity",
    "tests": "Cover the parser of dates with unit tests",
    "short": "wip",
}


def make(root):
    """The repository, and its commits by name."""
    repository = Repository(root)
    made = {}
    for number, (name, message) in enumerate(MESSAGES.items()):
        path = f"src/{name}.py" if number % 2 else f"docs/{name}.md"
        made[name] = repository.commit(message, {path: f"content of {name}\nsecond line\n"})
    return repository, made


@pytest.fixture
def story(tmp_path):
    return make(tmp_path / "story")


def index_of(path, repository, name="r"):
    """The index of a repository, in a file."""
    return new_index(path, repository, name=name)


@pytest.fixture
def store(story, tmp_path):
    """The index of the story, with vectors."""
    opened = index_of(tmp_path / "index" / "db.sqlite3", story[0])
    embed_commits(opened, packaged_embedder(), opened.repos())
    yield opened
    opened.close()
