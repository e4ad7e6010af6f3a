"""The types."""

from __future__ import annotations

from clew.specs.files.parse import Identity, make_spec
from clew.specs.model import FIELD_ORDER, LIST_FIELDS, STATUSES, Problem, words_of

NOWHERE = Identity(0, 0, 0, 0, settled=False)


def spec_of(text):
    return make_spec(text.encode(), ".chant/specs/a.md", NOWHERE, archived=False)


def test_a_spec_has_its_fields_body_bytes_and_version():
    text = "---\nstatus: failed\nlabels: one\nmodel: ''\nat: 2026-01-01\n---\nBody\r\n"
    spec = spec_of(text)
    assert (spec.id, spec.type, spec.status, spec.title) == ("a", "code", "failed", None)
    assert (spec.body, spec.raw) == ("Body\r\n", text.encode())
    assert spec.words("labels") == ("one",)
    assert spec.words("nothing") == ()
    assert spec.text("at") == "2026-01-01"
    assert spec.text("model") is None
    assert len(spec.version) == 16
    assert spec.version != spec_of(text + " ").version


def test_a_head_tells_declared_from_undeclared_dependencies():
    assert spec_of("# T").head.depends_on is None
    assert spec_of("---\ndepends_on:\n---\n").head.depends_on is None
    assert spec_of("---\ndepends_on: []\n---\n").head.depends_on == ()
    assert spec_of("---\ndepends_on: x\n---\n").head.depends_on == ("x",)
    assert spec_of("---\ndepends_on: [1, 02]\n---\n").head.depends_on == ("1", "02")


def test_a_head_has_approval_and_criteria():
    head = spec_of(
        "---\napproval:\n  required: true\n  status: rejected\n---\n"
        "# T\n\n## Acceptance Criteria\n\n- [x] a\n- [ ] b\n"
    ).head
    assert (head.approval_required, head.approval_status) == (True, "rejected")
    assert (head.title, head.criteria_total, head.criteria_checked) == ("T", 2, 1)


def test_tables_fit_together():
    assert len(STATUSES) == len(set(STATUSES)) == 9
    assert len(set(FIELD_ORDER)) == len(FIELD_ORDER)
    assert set(FIELD_ORDER) > LIST_FIELDS
    assert words_of({"a": "b"}) == ()
    assert str(Problem("a.md", 3, "bad")) == "a.md:3: bad"
    assert str(Problem("a.md", None, "bad")) == "a.md: bad"
