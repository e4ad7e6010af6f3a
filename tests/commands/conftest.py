"""What the tests of commands share."""

import pytest

pytest.register_assert_rewrite("tests.commands.project")

from tests.commands.project import Project, Tools  # noqa: E402 - after the registration


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "p")


@pytest.fixture
def tools(project):
    """The climpt server in the project; files may be written before and after it started."""
    with project.server() as server:
        yield Tools(server)
