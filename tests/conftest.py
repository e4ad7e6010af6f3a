"""Every test has a home of its own and no way to the user's."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from clew.kit.git import INHERITED_LOCATION

# How long an example takes says more about the machine than about the code. Whoever works here
# meets new examples; a change of somebody else is not refused for what those find.
settings.register_profile(
    "clew",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("clew")
pytest.register_assert_rewrite("tests.history.index")  # several directories use it

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background, as some shells do it; programs that are tested must hear it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

for name in [
    n
    for n in os.environ
    if n != "CLEW_SCREENSHOTS"
    and n.startswith(("CLEW_", "COMMITMUX_", "CLAUDE_", "CODEX_", "COPILOT_"))
] + [n for n in (*INHERITED_LOCATION, "PYTHONPATH") if n in os.environ]:  # of a hook, of a shell
    del os.environ[name]


def live_in(home, monkeypatch):
    """Have programs take a directory for the user's home, with a name for commits in it."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLEW_HOME", str(home / ".clew"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (home / "gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
        "[maintenance]\n\tauto = false\n",  # which starts two programs after every commit
        encoding="utf-8",
    )


@pytest.fixture(scope="session", autouse=True)
def shared_home(tmp_path_factory):
    """The home in which the fixtures of a module are made, before a test has one of its own."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        home = tmp_path_factory.mktemp("shared-home")
        live_in(home, monkeypatch)
        yield home


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory, monkeypatch):
    """HOME and CLEW_HOME point into a temporary directory."""
    home = tmp_path_factory.mktemp("home")
    live_in(home, monkeypatch)
    monkeypatch.setattr("clew.kit.sqlite._opened", {})  # other tests' damaged files are theirs
    return home


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server for all tests of a process."""
    from tests.support.postgres import running_postgres, why_missing

    if why_missing():
        pytest.skip(why_missing())
    with running_postgres() as server:
        yield server


@pytest.fixture
def team_database(postgres):
    """The address of a place in that server with nothing in it."""
    address = postgres.new_place()
    yield address
    postgres.drop_place(address)


def pytest_xdist_auto_num_workers():
    """Two more than cores: a third of the time tests wait for processes, locks and browsers."""
    return len(os.sched_getaffinity(0)) + 2 if hasattr(os, "sched_getaffinity") else None
