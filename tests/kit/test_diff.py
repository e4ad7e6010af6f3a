"""Diffs as git prints them: names, lines and numbers, whatever is in the files."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.kit.text.diff import (
    changed_texts,
    count_lines,
    file_diffs,
    is_binary_only,
    line_place,
    unquote,
)
from tests.support.repos import Repository


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=1, max_size=20).filter(lambda raw: b"\x00" not in raw))
def test_quoted_paths_are_read(raw):
    signs = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
    quoted = "".join(
        f"\\{signs[c]}" if c in signs else chr(c) if 32 <= c < 127 else f"\\{c:03o}" for c in raw
    )
    try:
        wanted = raw.decode("utf-8")
    except UnicodeDecodeError:
        wanted = f'"{quoted}"'
    assert unquote(f'"{quoted}"'.encode()) == wanted


def test_lines_are_told_apart():
    patch = (
        b"diff --git a/q b/q\nindex 1..2\n--- a/q\n+++ b/q\n@@ -1,3 +1,3 @@ def f\n ctx\n"
        b"--- gone\n+++ come\n\\ No newline at end of file\n"
        b"diff --git a/r b/r\n--- a/r\n+++ b/r\n@@ -1 +1 @@\n-x\n+y\n"
    )
    assert changed_texts(patch) == ("++ come\ny", "-- gone\nx", "def f")


def test_a_patch_is_read_with_its_numbers():
    patch = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ def f\n a\n--- b\n+++ c\n"
        "\\ No newline at end of file\ndiff --git a/o b/n\nrename from o\nrename to n\n"
    )
    first, second = file_diffs(patch)

    assert (first.path, first.removed, first.added) == ("x", [(4, "-- b")], [(4, "++ c")])
    assert (second.path, second.added) == ("n", [])


def test_a_merge_with_two_columns_of_signs_is_read(tmp_path):
    repository = Repository(tmp_path)
    repository.commit("base", {"f": "one\ntwo\n", "g": "x\n"})
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side", {"f": "one\nside\n"})
    repository.git("checkout", "-q", "-")
    repository.commit("main", {"f": "one\nmain\n"})
    repository.git("merge", "--no-commit", "side", check=False)
    repository.commit("joined", {"f": "one\nboth\n"})
    combined = repository.git("show", "--format=", "HEAD").decode()
    after = "diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n"

    first, second = file_diffs(combined + after)

    assert combined.startswith("diff --cc f")
    assert (first.path, first.added) == ("f", [(2, "both")])
    assert [text for _, text in first.removed] == ["main", "side"]
    assert (second.path, second.added, second.removed) == ("g", [(1, "y")], [(1, "x")])


def test_files_without_lines_have_names():
    patch = (
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        'diff --git "a/\\303\\251" "b/\\303\\251"\nindex 1..2\nBinary files differ\n'
        "diff --cc both.bin\nindex 1,2..3\nBinary files differ\n"
    )
    assert [(file.path, file.is_binary) for file in file_diffs(patch)] == [
        ("run", False),
        ("é", True),
        ("both.bin", True),
    ]
    assert not is_binary_only(patch.encode())
    assert is_binary_only(patch[patch.index('diff --git "') :].encode())


def test_a_patch_that_was_cut_is_read_as_far_as_it_goes():
    patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n-b\n+c"
    (file,) = file_diffs(patch)
    assert (file.added, file.removed) == ([(2, "c")], [(2, "b")])
    assert count_lines(patch.encode()) == (1, 1)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["+", "-", " ", "\\", "++", "--", "-@@ "]), max_size=9),
        min_size=1,
        max_size=5,
    )
)
def test_a_line_found_by_its_offset_has_the_number_it_has_when_all_are_read(hunks):
    body = "".join(
        f"@@ -{50 * at + 7} +{50 * at + 9} @@ f\n" + "".join(f"{sign}x\n" for sign in signs)
        for at, signs in enumerate(hunks)
    )
    patch = f"diff --git a/n b/n\n--- a/n\n+++ b/n\n{body}diff --git a/o b/o\n--- a/o\n+++ b/o\n"
    numbers = [
        old if kind == "removed" else new
        for part in file_diffs(patch)
        for kind, old, new, _ in part.lines()
        if kind != "hunk"
    ]
    starts = [0, *(at + 1 for at, sign in enumerate(patch) if sign == "\n")]
    first, last = patch.find("\n@@"), patch.rfind("\ndiff")
    starts = [at for at in starts if first + 1 < at <= last and patch[at] in "+- "]

    assert [line_place(patch, at) for at in starts] == [("n", number) for number in numbers]
