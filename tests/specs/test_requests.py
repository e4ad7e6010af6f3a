"""One look per request: everything that a request says is of one moment."""

from __future__ import annotations

import threading

import pytest

from clew.kit.call import Call
from clew.specs import tools
from clew.specs.index import index as index_module
from clew.specs.index.inotify import Watch
from clew.specs.store import store as store_module
from clew.specs.store.store import open_store
from tests.specs.making import Project

SPECS = 12
ROUNDS = 150
REQUESTS = {
    "spec_list": {},
    "ready": {},
    "status": {"include_activity": True},
    "query": {"query": "status:pending Title"},
    "search": {"query": "Title"},
    "spec_get": {"id": "kept"},
    "diagnose": {"id": "kept"},
    "lint": {},
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_stores", {})
    project = Project(tmp_path)
    project.spec("kept")
    for number in range(SPECS):
        project.spec(f"d.{number}", f"status: pending\ndepends_on: [d.{number + 1}]")
    return project


@pytest.fixture
def call(project):
    return Call(settings={"project": str(project.root)})


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_looks_once_and_watches_nothing(name, call, monkeypatch):
    looks = []
    look = index_module.Index._look_at_all

    def count(index):
        looks.append(name)
        look(index)

    monkeypatch.setattr(index_module.Index, "_look_at_all", count)
    monkeypatch.setattr(Watch, "start", classmethod(lambda cls, _: pytest.fail("watched")))
    getattr(tools, name)(REQUESTS[name], call)
    assert looks == [name]


def test_a_process_that_serves_many_requests_watches(call):
    for _ in range(3):
        tools.spec_list({}, call)
    store = open_store(call.settings)
    assert store._index._watch is not None
    store.close()
    assert store._index._watch is None
    assert tools.spec_list({}, call).data["total"] == SPECS + 1


def test_no_request_fails_while_others_write(project, call):
    """Specs come, go and are archived while every kind of request is made."""
    done = threading.Event()

    def write():
        archive = project.root / ".chant" / "archive"
        archive.mkdir(exist_ok=True)
        number = 0
        while not done.is_set():
            number = (number + 1) % SPECS
            path = project.spec(f"d.{number}", f"status: pending\ndepends_on: [d.{number + 1}]")
            path.replace(archive / path.name)
            (archive / path.name).replace(path)
            path.unlink()
            project.spec(f"new.{number}", "status: in_progress").unlink()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(ROUNDS):
            for name, arguments in REQUESTS.items():
                getattr(tools, name)(arguments, call)
    finally:
        done.set()
        writer.join()
