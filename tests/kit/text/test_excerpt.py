"""The two ends of a long patch, against the whole of it."""

from __future__ import annotations

import random

import pytest

from clew.kit.text.diff import file_diffs
from clew.kit.text.excerpt import both_ends
from tests.support.repos import Repository


@pytest.fixture(scope="module")
def patch(tmp_path_factory):
    """A patch of several files: new, changed in many places, removed, without a last newline."""
    repository = Repository(tmp_path_factory.mktemp("ends") / "repository")
    numbers = random.Random(7)
    before = {f"old{name}.txt": [f"{name} line {n}" for n in range(400)] for name in "abc"}
    repository.commit("Before", {name: "\n".join(lines) for name, lines in before.items()})
    after = {
        name: "\n".join(line if numbers.random() < 0.8 else f"{line} changed" for line in lines)
        for name, lines in before.items()
    }
    after["new.txt"] = "".join(f"new {n}\n" for n in range(300))
    (repository.path / "oldb.txt").unlink()
    after.pop("oldb.txt")
    repository.commit("After", after)
    return repository.git("show", "--format=", "HEAD")


def lines_of(raw):
    """Every changed line, with its file and its number there."""
    return {
        (part.path, sign, number, text)
        for part in file_diffs(raw.decode())
        for sign, lines in (("+", part.added), ("-", part.removed))
        for number, text in lines
    }


def test_every_line_of_an_end_has_its_file_and_its_number(patch):
    for size in range(300, len(patch) // 2, 97):
        found = lines_of(both_ends(patch, size))
        assert found <= lines_of(patch)
        assert len(found) > size // 100


def test_the_first_and_the_last_bytes_are_there(patch):
    for size in (300, 1000, len(patch) // 3):
        ends = both_ends(patch, size)
        assert ends[: size // 2] == patch[: size // 2] or ends.startswith(b"diff --git")
        assert ends[-size // 2 :] == patch[-size // 2 :]
        assert len(ends) < 2 * size + 1000


def test_of_one_line_that_is_longer_than_what_is_kept_both_ends_are_there(tmp_path):
    repository = Repository(tmp_path / "repository")
    text = "begin " + " ".join(str(n) for n in range(5000)) + " end"
    repository.commit("Long", {"long.txt": text + "\n"})
    ends = both_ends(repository.git("show", "--format=", "HEAD"), 1000)
    first, last = (text for _, _, _, text in sorted(lines_of(ends), reverse=True))
    assert first.startswith("begin 0 1 2 ")
    assert last.endswith(" 4999 end")
    assert text.startswith(first)
    assert text.endswith(last)
