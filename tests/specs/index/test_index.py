"""The index: always as the files are, however they changed."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.specs.files.parse import identity_of
from clew.specs.index import index as index_module
from clew.specs.index.inotify import Watch
from clew.specs.store.store import SpecStore
from tests.specs.making import Project


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    project.store.start_watching()
    yield project
    project.store.close()


@pytest.fixture(params=["watched", "unwatched"])
def either_way(request, monkeypatch):
    """With inotify, and as it is where there is none."""
    if request.param == "unwatched":
        monkeypatch.setattr(Watch, "start", classmethod(lambda cls, directory: None))
    return request.param


def titles(store):
    return [head.title for head in store.heads()]


def age(*paths):
    """Make files old enough that their times tell all their changes."""
    until = time.time_ns() + 150_000_000
    while time.time_ns() < until:
        time.sleep(0.01)


def test_edits_in_place_are_seen_at_once(project, either_way):
    path = project.spec("a", body="# 0000\n")
    assert titles(project.store) == ["0000"]
    for number in range(1, 200):  # the same size, and many within one tick of the clock
        path.write_text(path.read_text().replace(f"{number - 1:04}", f"{number:04}"))
        assert titles(project.store) == [f"{number:04}"]
    assert (project.store._index._watch is not None) == (either_way == "watched")


def test_an_edit_that_keeps_size_and_mtime_is_seen(project, either_way):
    path = project.spec("a", body="# one\n")
    assert titles(project.store) == titles(project.store) == ["one"]
    age(path)
    before = path.stat()
    path.write_text(path.read_text().replace("one", "two"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert titles(project.store) == ["two"]
    assert titles(SpecStore(project.root)) == ["two"]


def test_every_way_in_which_files_come_and_go(project, either_way):
    store = project.store
    specs = store.paths.specs
    first = project.spec("a", body="# A\n")
    store.heads()
    store.heads()
    project.spec("b", body="# B\n")
    assert titles(store) == ["A", "B"]
    (specs / "b.md").rename(specs / "c.md")
    assert [head.id for head in store.heads()] == ["a", "c"]
    (specs / "new.tmp").write_text("# Replaced\n")
    (specs / "new.tmp").rename(first)
    assert titles(store) == ["Replaced", "B"]
    (specs / "area").mkdir()
    (specs / "area" / "d.md").write_text("# D\n")
    assert titles(store) == ["Replaced", "B", "D"]
    (specs / "area" / "d.md").write_text("# E\n")
    assert titles(store) == ["Replaced", "B", "E"]
    shutil.rmtree(specs / "area")
    first.unlink()
    assert titles(store) == ["B"]
    project.spec("z", "status: completed", archived=True)
    assert [head.id for head in store.heads(archived=True)] == ["c", "z"]
    (specs / "c.md").write_text("---\nstatus: x")
    assert (titles(store), len(store.problems())) == ([], 1)
    os.truncate(specs / "c.md", 0)
    assert store.problems()[0].cause == "the file is empty"


def test_a_store_that_is_moved_away_and_put_back(project, either_way):
    project.spec("a", body="# A\n")
    store = project.store
    assert titles(store) == titles(store) == ["A"]
    chant = store.paths.chant
    chant.rename(project.root / "away")
    assert titles(store) == []
    project.spec("b", body="# B\n")
    assert titles(store) == ["B"]
    shutil.rmtree(chant)
    (project.root / "away").rename(chant)
    assert titles(store) == ["A"]
    project.spec("c", body="# C\n")
    assert titles(store) == ["A", "C"]


def test_a_snapshot_stays_the_same_while_nothing_changes(project, either_way):
    project.spec("a")
    store = project.store
    first = store.snapshot()
    age()
    for _ in range(3):
        assert store.snapshot() is first
    assert store.graph() is store.graph()
    project.spec("b")
    assert store.snapshot().generation > first.generation
    assert [head.id for head in first.active] == ["a"]


def test_a_full_look_comes_from_time_to_time(project, monkeypatch):
    path = project.spec("a", body="# A\n")
    store = project.store
    store.heads()
    store.heads()
    outside = project.root / "hard-link"
    os.link(path, outside)
    store.heads()
    outside.write_text("# Through another name\n")  # no event for the watched directory
    monkeypatch.setattr(index_module, "_FULL_LOOK_SECONDS", 0.0)
    assert titles(store) == ["Through another name"]


def fill(project, count):
    for number in range(count):
        project.spec(
            f"2026-01-22-{number:03}-abc",
            f"status: pending\ndepends_on: [2026-01-22-{number - 1:03}-abc]\nlabels: [l{number % 3}]",
            f"# Title {number} é\n\n## Acceptance Criteria\n\n- [x] a\n",
        )
    project.spec(
        "2025-01-01-001-old", "status: completed\ncompleted_at: 2025-02-01T00:00:00Z", archived=True
    )
    (project.store.paths.specs / "broken.md").write_text("---\nstatus: completed\n")


def counting(monkeypatch):
    read = []
    original = index_module.read_file
    monkeypatch.setattr(
        index_module, "read_file", lambda path, **more: read.append(path) or original(path, **more)
    )
    return read


def test_the_index_on_disk_saves_reading_and_tells_the_same(project, monkeypatch):
    fill(project, 30)
    age()
    first = SpecStore(project.root).snapshot()
    read = counting(monkeypatch)
    again = SpecStore(project.root).snapshot()
    assert read == []
    for name in ("active", "archived", "by_id", "problems"):
        assert getattr(again, name) == getattr(first, name)
    assert len(again.active) == 30
    project.spec("2026-01-22-007-abc", body="# New\n")
    assert SpecStore(project.root).head("2026-01-22-007-abc").title == "New"
    assert len(read) == 1


def test_files_that_were_just_written_are_not_trusted(project, monkeypatch):
    path = project.spec("a", body="# one\n")
    now = path.stat().st_ctime_ns
    assert not identity_of(path.stat(), now + 1_000_000).settled
    assert identity_of(path.stat(), now + 5_000_000_000).settled


DAMAGE = [
    lambda raw: b"",
    lambda raw: raw[: len(raw) // 2],
    lambda raw: raw.replace(b"pending", b"pendinG", 1),
    lambda raw: b"\x00" * len(raw),
    lambda raw: raw.replace(b'"version":1', b'"version":99'),
    lambda raw: b"not json\n" + raw,
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_rebuilt(project, damage, monkeypatch):
    fill(project, 20)
    age()
    expected = SpecStore(project.root).snapshot().active
    place = project.store.paths.spec_index
    sound = place.read_bytes()
    place.write_bytes(damage(sound))
    assert SpecStore(project.root).snapshot().active == expected
    read = counting(monkeypatch)
    assert SpecStore(project.root).snapshot().active == expected
    assert read == []
    assert json.loads(place.read_bytes().partition(b"\n")[0])["version"] == 2


@pytest.mark.parametrize("payload", [[], {}, {"id": 5}, {"id": ["a"], "problems": []}])
def test_an_index_of_another_shape_is_rebuilt(project, payload):
    from binascii import crc32

    project.spec("a")
    text = json.dumps(payload).encode()
    project.store.paths.make_store()
    header = json.dumps({"version": 1, "crc32": crc32(text)}).encode()
    project.store.paths.spec_index.write_bytes(header + b"\n" + text)
    assert [head.id for head in project.store.heads()] == ["a"]


def test_an_index_that_cannot_be_written_is_done_without(project):
    project.spec("a")
    project.store.paths.store.write_text("a file where the directory would be")
    assert [head.id for head in project.store.heads()] == ["a"]
    assert [head.id for head in project.store.heads()] == ["a"]


def test_threads_share_a_store(project):
    paths = [project.spec(f"s{number}", body="# 0\n") for number in range(8)]
    wrong = []

    def work(path):
        for number in range(1, 30):
            path.write_text(f"# {number}\n")
            if project.store.head(path.stem).title != str(number):
                wrong.append((path.stem, number))

    threads = [threading.Thread(target=work, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "look", "break"]), st.integers(0, 5), st.integers(0, 9)
    ),
    max_size=25,
)


@settings(max_examples=40)
@given(STEPS)
def test_any_course_of_events_ends_with_what_the_files_say(tmp_path_factory, steps):
    project = Project(tmp_path_factory.mktemp("course"))
    model = {}
    for action, number, value in steps:
        path = project.store.paths.spec_file(f"2026-01-22-00{number}-abc")
        if action == "look":
            project.store.heads()
        elif action == "delete":
            path.unlink(missing_ok=True)
            model.pop(path.stem, None)
        elif action == "write":
            path.write_text(f"# {value}\n")
            model[path.stem] = str(value)
        else:
            path.write_text("---\nstatus: x\n")
            model.pop(path.stem, None)
    expected = sorted(model.items())
    assert [(head.id, head.title) for head in project.store.heads()] == expected
    assert [(head.id, head.title) for head in SpecStore(project.root).heads()] == expected
