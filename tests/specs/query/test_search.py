"""Search: parts of words, in any case, always as the files are; the best hits first."""

import gc
import os
import subprocess
import sys
import weakref
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.kit.errors import Invalid, Unavailable
from clew.specs.index import text_index
from clew.specs.index.text_index import SPEC, Entry, Source
from clew.specs.query.search import find_rows, search_specs, snippets
from clew.specs.store.store import SpecStore
from tests.specs.making import Project

A, B, C = "2026-01-22-001-aaa", "2026-01-22-002-bbb", "2026-01-22-003-ccc"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def found(project, text, store=None):
    return [row.data["id"] for row in find_rows(store or project.store, text)]


def test_parts_of_words_in_any_case(project):
    project.spec(A, "", "# Authentication\n\nUse ÄRGER and tokens -> sessions.\n")
    project.spec(B, "status: cancelled", "# Other\n\nNo tokens; [x] y\n")
    project.spec(C, "", "# Authentication\n", archived=True)
    assert found(project, "AUTHENT") == [A]
    assert found(project, "hentica") == [A]
    assert found(project, "ärger") == [A]
    assert found(project, "tokens") == [A, B]
    assert found(project, "tokens -> s") == [A]
    assert found(project, "s ->") == [A]
    assert found(project, "->") == [A]
    assert found(project, "[x]") == [B]
    assert found(project, "#") == [A, B]
    assert found(project, "") == [A, B]
    assert found(project, "type: code") == []
    assert found(project, "nothing like it") == []


def test_changes_are_seen_at_once(project):
    project.spec(A, "", "# One\n\nalpha\n")
    assert found(project, "alpha") == [A]
    project.spec(A, "", "# One\n\nomega\n")
    assert (found(project, "alpha"), found(project, "omega")) == ([], [A])
    path = project.spec(B, "", "# Two\n\nalpha\n")
    assert found(project, "alpha") == [B]
    path.unlink()
    assert found(project, "alpha") == []


def test_a_change_of_the_same_size_in_the_same_moment_is_seen(project):
    path = project.spec(A, "", "# One\n\nalpha\n")
    assert found(project, "alpha") == [A]
    kept = path.stat()
    project.spec(A, "", "# One\n\nomega\n")
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert (found(project, "alpha"), found(project, "omega")) == ([], [A])


def many(project, count, word="common"):
    for number in range(count):
        path = project.spec(
            f"2026-01-01-{number:03d}-aaa", "", f"# Spec {number}\n\n{word} w{number}x\n"
        )
        os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.fixture
def lasting(monkeypatch, private_home):
    """The directory of the indexes; every project is large enough to have one."""
    monkeypatch.setattr(text_index, "WORTH_A_FILE", 10)
    return private_home / ".clew" / "texts"


def test_what_is_saved_is_used_and_checked(project, lasting):
    many(project, 60)
    assert len(found(project, "common")) == 60
    (saved,) = lasting.glob("*.sqlite3")
    assert saved.stat().st_mode & 0o777 in (0o600, 0o644)
    path = project.spec("2026-01-01-007-aaa", "", "# Spec\n\nchanged\n")
    os.utime(path, (1_700_000_001, 1_700_000_001))
    fresh = SpecStore(project.root)
    assert len(found(project, "common", fresh)) == 59
    assert found(project, "changed", fresh) == ["2026-01-01-007-aaa"]
    assert found(project, "w12x", fresh) == ["2026-01-01-012-aaa"]
    path.unlink()
    assert len(found(project, "spec")) == 59


def test_a_small_project_has_no_index_on_disk(project, private_home):
    many(project, 20)
    assert len(found(project, "common")) == 20
    assert not (private_home / ".clew" / "texts").exists()


@pytest.mark.parametrize("damage", [b"", b"x" * 100, "half", "flip"])
def test_a_damaged_index_is_built_anew(project, lasting, damage):
    many(project, 30)
    assert len(found(project, "common")) == 30
    project.store.texts.close()
    (saved,) = lasting.glob("*.sqlite3")
    raw = saved.read_bytes()
    flipped = bytes(byte ^ 0x55 for byte in raw[4096:])
    broken = {"half": raw[: len(raw) // 2], "flip": raw[:4096] + flipped}
    saved.write_bytes(broken.get(damage, damage) if isinstance(damage, str) else damage)
    with suppress(Unavailable):  # says so once
        found(project, "common", SpecStore(project.root))
    assert len(found(project, "common", SpecStore(project.root))) == 30


def test_an_index_that_cannot_be_written_does_no_harm(project, lasting):
    many(project, 30)
    lasting.parent.mkdir()
    lasting.write_text("")
    assert len(found(project, "common")) == 30


def test_two_processes_share_an_index(project, lasting):
    many(project, 40)
    script = (
        "import sys; from pathlib import Path\n"
        "from clew.specs.index import text_index; text_index.WORTH_A_FILE = 5\n"
        "from clew.specs.query.search import find_rows; from clew.specs.store.store import SpecStore\n"
        "print(len(find_rows(SpecStore(Path(sys.argv[1])), 'common')))\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(project.root)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate(timeout=60)[0] for process in running] == ["40\n"] * 3
    assert len(list(lasting.glob("*.sqlite3"))) == 1


def test_the_best_hits_come_first_with_their_lines(project):
    project.spec(A, "", "# Other\n\nline\nthe login page\nmore\nLogin again\n")
    project.spec(B, "labels: [x]", "# Relogin\n")
    project.spec(C, "", "# Login\n")
    answer = search_specs(project.store, "login")
    assert [hit["id"] for hit in answer["specs"]] == [C, B, A]
    assert (answer["total"], answer["returned"], answer["offset"]) == (3, 3, 0)
    last = answer["specs"][-1]
    assert last["snippets"] == [
        {"line": 7, "text": "the login page"},
        {"line": 9, "text": "Login again"},
    ]
    assert (last["status"], last["state"], last["archived"]) == ("pending", "ready", False)
    page = search_specs(project.store, "login", limit=1, offset=1)
    assert [hit["id"] for hit in page["specs"]] == [B]
    assert page["total"] == 3
    assert search_specs(project.store, "login label:x")["total"] == 1
    assert search_specs(project.store, "is:ready")["specs"][0]["snippets"] == []
    with pytest.raises(Invalid, match="limit"):
        search_specs(project.store, "x", limit=-1)


def test_archived_specs_when_asked_for(project):
    project.spec(A, "status: completed", "# Login\n", archived=True)
    assert search_specs(project.store, "login")["total"] == 0
    assert search_specs(project.store, "login", archived=True)["specs"][0]["archived"] is True
    assert search_specs(project.store, "login is:archived")["total"] == 1


def test_long_lines_are_cut_around_the_hit():
    (snippet,) = snippets("x" * 300 + " needle " + "y" * 300, ("needle",))
    assert "needle" in snippet["text"]
    assert len(snippet["text"]) < 170


LETTERS = st.sampled_from("abcABC _-éÉ€\n1")
TEXTS = st.lists(st.text(LETTERS, max_size=20), min_size=1, max_size=8)


@settings(deadline=None)
@given(TEXTS, TEXTS, st.text(LETTERS, max_size=6))
def test_the_index_finds_what_a_look_at_every_text_finds(texts, others, wanted):
    index = text_index.TextIndex(Path("/nowhere"))
    for now in (texts, others):
        bodies = dict(zip(map(str, count()), now, strict=False))
        source = Source(
            SPEC,
            lambda bodies=bodies: {key: f"{body}:" for key, body in bodies.items()},
            lambda key, bodies=bodies: Entry("", bodies[key], "", 0),
        )
        with index.current([source], lasting=False):
            expected = {key for key, body in bodies.items() if wanted.lower() in body.lower()}
            assert index.containing(SPEC, wanted) == expected
    index.close()


def test_a_new_text_takes_no_number_of_a_changed_one():
    index = text_index.TextIndex(Path("/nowhere"))
    for bodies in ({"b": "one", "c": "two"}, {"a": "new", "b": "one", "c": "changed"}):
        source = Source(
            SPEC, lambda now=bodies: dict(now), lambda key, now=bodies: Entry("", now[key], "", 0)
        )
        with index.current([source], lasting=False):
            assert index.containing(SPEC, "e") == {key for key in bodies if "e" in bodies[key]}
    index.close()


def test_a_store_that_nobody_uses_goes_with_its_index(project):
    project.spec(A)
    store = SpecStore(project.root)
    find_rows(store, "title")
    gone = weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None


def test_rows_follow_what_happens_to_the_specs(project):
    def rows(**how):
        return [(row.data["id"], row.data["status"]) for row in find_rows(store, "work", **how)]

    project.spec("a", "status: pending", "# A\n\nSome work.\n")
    project.spec("b", "status: pending\ndepends_on: [a]", "# B\n\nMore work.\n")
    store = project.store
    assert rows() == [("a", "pending"), ("b", "blocked")]
    assert rows(status="blocked") == [("b", "blocked")]
    kept = find_rows(store, "more work")
    project.spec("a", "status: completed", "# A\n\nSome work.\n")
    assert rows() == [("a", "completed"), ("b", "pending")]
    project.spec("c", "status: pending", "# C\n\nOther work.\n")
    assert rows(status="pending") == [("b", "pending"), ("c", "pending")]
    assert kept[0].data["status"] == "blocked", "an answer stays what it was"
