"""One look per command: one repair, one check before the start, one connection to the journal."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.cli.faces import run_face
from clew.kit.errors import ClewError
from clew.work.journal.sqlite import SqliteJournal
from clew.work.runs import prepare, reconcile

WORKS = ("edit a.txt", "commit a.txt", "tick")
ONCE = {"journal": 1, "reconcile": 1, "preflight": 1}


@pytest.fixture
def counts(monkeypatch):
    """How often each thing happened in this process."""
    found = Counter()

    def count(owner, attribute, name):
        original = getattr(owner, attribute)

        def counted(*arguments, **settings):
            found[name] += not settings.get("read_only")  # the brief is a reader of its own
            return original(*arguments, **settings)

        monkeypatch.setattr(owner, attribute, counted)

    count(SqliteJournal, "__init__", "journal")
    count(reconcile, "reconcile", "reconcile")
    count(prepare, "preflight", "preflight")
    return found


def run(house, *words):
    """A command, run in this process."""
    return run_face("chant", [*words, "--project", str(house.root)])


def test_work_looks_once(house, counts, capfd):
    house.spec("001", *WORKS)
    assert run(house, "work", "001", "--no-watch") == 0
    assert "001: completed" in capfd.readouterr().out
    assert counts == ONCE


def test_work_that_goes_on_looks_once(house, counts):
    house.spec("001", "once run-first leave 1", *WORKS)
    house.done("001")
    counts.clear()
    assert run(house, "resume", "001", "--no-watch") == 0
    assert counts == ONCE


def test_a_chain_looks_once_before_it_starts(house, counts):
    house.spec("001", *WORKS)
    house.spec("002", "edit b.txt", "commit b.txt", "tick")
    assert run(house, "work", "--chain", "--detach", "--no-watch") == 0
    house.settled("002")
    assert (counts["reconcile"], counts["preflight"]) == (1, 1)


def test_a_start_that_is_refused_changes_nothing(house, counts):
    house.spec("001", *WORKS)
    with pytest.raises(ClewError, match="nowhere"):
        house.begin("001", options=prepare.WorkOptions(base="nowhere"))
    assert counts["journal"] == 0
    assert not house.paths.journal.exists()
