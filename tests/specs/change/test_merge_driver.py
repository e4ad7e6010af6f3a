"""Three versions of a spec become one: fields by what they mean, the body by git."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.specs.change.merge_driver import MergeFailed, merge_files, merge_specs, merge_value
from clew.specs.files.parse import read_document
from tests.support.repos import Repository

BODY = "# Title\n\none\n\ntwo\n\nthree\n"


def spec(fields, body=BODY):
    return f"---\n{fields.strip()}\n---\n{body}".encode()


def merged(base, ours, theirs):
    result = merge_specs(base, ours, theirs)
    return read_document(result.data), result.conflicts


def test_each_side_changes_something_else():
    base = spec("type: code  # kept\nstatus: pending\nteam: core\nlabels:\n- a")
    ours = spec("type: code  # kept\nstatus: in_progress\nteam: core\nlabels:\n- a")
    theirs = spec("type: code\nstatus: pending\nteam: web\nlabels:\n- a\nmodel: opus")
    result = merge_specs(base, ours, theirs)
    assert result.conflicts == ()
    assert result.data == spec(
        "type: code  # kept\nstatus: in_progress\nteam: web\nlabels:\n- a\nmodel: opus"
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("pending", "in_progress", "completed", "completed"),
        ("pending", "cancelled", "completed", "cancelled"),
        ("pending", "in_progress", "cancelled", "cancelled"),
        ("pending", "pending", "cancelled", "cancelled"),
        ("cancelled", "pending", "cancelled", "pending"),
        ("in_progress", "failed", "in_progress", "failed"),
        ("in_progress", "failed", "paused", "failed"),
        ("completed", "pending", "completed", "pending"),
        ("completed", "needs_attention", "pending", "needs_attention"),
    ],
)
def test_statuses(base, ours, theirs, expected):
    assert merge_value("status", base, ours, theirs) == (expected, True)
    assert merge_value("status", base, theirs, ours) == (expected, True)


def test_lists_gain_and_lose():
    value, clear = merge_value("labels", ["a", "b", "c"], ["a", "c", "x"], ["a", "b", "y"])
    assert (value, clear) == (["a", "x", "y"], True)
    assert merge_value("depends_on", None, ["a"], ["b"]) == (["a", "b"], True)
    assert merge_value("depends_on", ["a"], [], ["a", "b"]) == (["b"], True)


def test_maps_and_times():
    base = {"required": "true", "status": "pending"}
    ours = {**base, "status": "approved", "by": "kim"}
    theirs = {**base, "note": "soon"}
    assert merge_value("approval", base, ours, theirs) == ({**ours, "note": "soon"}, True)
    early, late = "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"
    assert merge_value("completed_at", None, early, late) == (late, True)


def test_a_conflict_is_marked():
    base = spec("type: code\nmodel: haiku\nstatus: pending")
    ours = spec("type: code\nmodel: opus\nstatus: pending")
    theirs = spec("type: code\nmodel: sonnet\nstatus: in_progress")
    result = merge_specs(base, ours, theirs)
    assert result.conflicts == ("model",)
    assert result.data == spec(
        "type: code\n<<<<<<< ours\nmodel: opus\n=======\nmodel: sonnet\n>>>>>>> theirs\n"
        "status: in_progress"
    )


def test_a_removed_field_against_a_changed_one_is_a_conflict():
    base, ours = spec("type: code\nmodel: a"), spec("type: code")
    result = merge_specs(base, ours, spec("type: code\nmodel: b"))
    assert result.conflicts == ("model",)
    assert b"<<<<<<< ours\n=======\nmodel: b\n>>>>>>> theirs\n" in result.data
    assert merge_specs(base, ours, spec("type: code\nmodel: a\nx: z")).data == spec(
        "type: code\nx: z"
    )


def test_bodies():
    base = spec("type: code", BODY)
    ours = spec("type: code", BODY.replace("one", "ONE"))
    theirs = spec("type: code", BODY.replace("three", "THREE"))
    document, conflicts = merged(base, ours, theirs)
    assert conflicts == ()
    assert document.body == BODY.replace("one", "ONE").replace("three", "THREE")
    result = merge_specs(base, ours, spec("type: code", BODY.replace("one", "1")))
    assert result.conflicts == ("body",)
    assert b"<<<<<<< ours\nONE\n=======\n1\n>>>>>>> theirs\n" in result.data


def test_underlined_headings_are_no_conflict():
    text = "Title\n=======\n\n<<<<<<< quoted\n\none\n\nthree\n"
    base = spec("type: code", text)
    ours = spec("type: code", text.replace("one", "ONE"))
    theirs = spec("type: code", text.replace("three", "THREE"))
    assert merge_specs(base, ours, theirs).conflicts == ()


def test_both_added_the_file():
    ours, theirs = spec("type: code\nlabels: [a]"), spec("type: code\nlabels: [b]\nx: y")
    document, conflicts = merged(b"", ours, theirs)
    assert conflicts == ()
    assert document.fields == {"type": "code", "labels": ["a", "b"], "x": "y"}


def test_windows_line_ends_stay():
    base, ours, theirs = (
        spec(f).replace(b"\n", b"\r\n")
        for f in ("type: code\nmodel: a", "type: code\nmodel: b", "type: code\nmodel: c\nx: y")
    )
    result = merge_specs(base, ours, theirs)
    assert result.conflicts == ("model",)
    assert result.data.count(b"\n") == result.data.count(b"\r\n")


def test_what_is_no_spec_is_merged_as_text():
    result = merge_specs(
        b"---\ntype: [\n---\na\n", b"---\ntype: [\n---\nb\n", b"---\nc: {\n---\na\n"
    )
    assert b"c: {" in result.data


def test_what_cannot_be_read_has_its_own_exit_code(tmp_path):
    with pytest.raises(MergeFailed) as caught:
        merge_files(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert caught.value.exit_code == 2


def test_git_uses_it(tmp_path):
    repo = Repository(tmp_path)
    script = (
        "import sys; from pathlib import Path; from clew.specs.change.merge_driver import merge_files; "
        "sys.exit(bool(merge_files(*map(Path, sys.argv[1:]))))"
    )
    repo.git("config", "merge.chant-spec.driver", f"{sys.executable} -c '{script}' %O %A %B")
    name = ".chant/specs/s.md"
    repo.commit(files={".gitattributes": ".chant/specs/*.md merge=chant-spec\n", name: spec(
        "type: code\nstatus: pending\nlabels:\n- a")})  # fmt: skip
    repo.git("checkout", "-q", "-b", "side")
    repo.commit(files={name: spec("type: code\nstatus: completed\nlabels:\n- a\n- b")})
    repo.git("checkout", "-q", "main")
    repo.commit(files={name: spec("type: code\nstatus: in_progress\nlabels:\n- a\n- c")})
    repo.git("merge", "-q", "side", "-m", "merge", env=repo.dates())
    document = read_document((tmp_path / name).read_bytes())
    assert document.fields["status"] == "completed"
    assert document.fields["labels"] == ["a", "c", "b"]


VALUES = st.one_of(
    st.none(),
    st.sampled_from(["a", "b", "2026-01-01T00:00:00Z"]),
    st.lists(st.sampled_from("abcd"), max_size=3, unique=True),
)
FIELDS = st.dictionaries(
    st.sampled_from(["labels", "model", "team", "tracks", "x"]), VALUES, max_size=4
)


@given(FIELDS, FIELDS)
def test_one_changed_side_is_taken_whole(base, ours):
    for name in {*base, *ours}:
        value = ours.get(name), True
        assert merge_value(name, base.get(name), ours.get(name), base.get(name)) == value
        assert merge_value(name, base.get(name), base.get(name), ours.get(name)) == value
        assert merge_value(name, base.get(name), ours.get(name), ours.get(name)) == value
