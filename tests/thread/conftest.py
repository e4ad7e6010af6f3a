"""The story, with everything and with git alone."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.support.repos import Repository
from tests.thread.story import Story, add_documents, add_index, add_runs, add_specs, make_story


@pytest.fixture(scope="session")
def told_once(tmp_path_factory):
    """The repository of the story, made once and copied for every test."""
    place = tmp_path_factory.mktemp("told")
    config = place / "gitconfig"
    config.write_text("[user]\n\tname = Test\n\temail = test@example.com\n", encoding="utf-8")
    before = os.environ.get("GIT_CONFIG_GLOBAL")
    os.environ["GIT_CONFIG_GLOBAL"] = str(config)
    story = make_story(place / "shop")
    if before is None:
        del os.environ["GIT_CONFIG_GLOBAL"]
    else:
        os.environ["GIT_CONFIG_GLOBAL"] = before
    return story


@pytest.fixture
def bare_story(told_once, tmp_path):
    """Git history and nothing else."""
    shutil.copytree(told_once.root, tmp_path / "shop", symlinks=True)
    copy = Story(Repository(tmp_path / "shop"), dict(told_once.shas))
    copy.repository.clock = told_once.repository.clock
    return copy


@pytest.fixture
def story(bare_story):
    """The same with specs, documents, runs and an index."""
    add_specs(bare_story)
    add_documents(bare_story)
    bare_story.runs = add_runs(bare_story)
    add_index(bare_story)
    return bare_story
