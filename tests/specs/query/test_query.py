"""The query language: what each part means, and what is refused."""

import os
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid
from clew.specs.query.query import KEYS, parse_query
from clew.specs.query.search import matching_heads
from tests.specs.making import Project

AUTH, DOCS, DONE, OLD = (
    "2026-01-22-001-aut",
    "2026-01-23-001-doc",
    "2026-01-24-001-don",
    "2025-12-01-001-old",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("query"))
    project.spec(
        AUTH,
        "status: in_progress\nlabels: [auth, wip]\ntarget_files: [src/auth/login.py]\n"
        "model: claude-opus-4\nprompt: standard\nbranch: chant/x",
        "# Add login\n\nUse the session store.\n\n## Acceptance Criteria\n- [x] a\n- [ ] b\n",
    )
    project.spec(
        DOCS,
        f"type: documentation\nlabels: [auth]\ndepends_on: [{AUTH}]\n"
        "approval:\n  required: true\n  status: pending",
        "# Describe login\n\nThe session Store is fine.\n",
    )
    project.spec(
        DONE,
        "status: completed\ncompleted_at: 2026-02-01T10:00:00Z",
        "# Remove logs\n\n## Acceptance Criteria\n- [x] a\n",
    )
    project.spec(f"{DONE}.1", "", "# Member\n")
    path = project.spec(OLD, "status: completed\ncompleted_at: 2025-12-31T23:59:59Z", archived=True)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return project


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [AUTH, DOCS, DONE, f"{DONE}.1"]),
        ("status:in_progress", [AUTH]),
        ("status:in-progress,completed", [AUTH, DONE]),
        ("status:blocked", [DOCS]),
        ("is:ready", [f"{DONE}.1"]),
        ("-status:completed -is:blocked", [AUTH, f"{DONE}.1"]),
        ("label:auth", [AUTH, DOCS]),
        ("label:auth -label:wip", [DOCS]),
        ("label:AUTH,other", [AUTH, DOCS]),
        ("type:documentation", [DOCS]),
        (f"depends:{AUTH}", [DOCS]),
        ("depends:001-aut", [DOCS]),
        ("file:src/*", [AUTH]),
        ("file:login", [AUTH]),
        ("file:*.rs", []),
        ("login", [AUTH, DOCS]),
        ("LOGIN session", [AUTH, DOCS]),
        ('"the session store"', [AUTH, DOCS]),
        ('login -"store is"', [AUTH]),
        ("title:describe", [DOCS]),
        ('title:"add login"', [AUTH]),
        ("001-aut", [AUTH]),
        ("completed:>2026-01-01", [DONE]),
        ("completed:2026-02-01", [DONE]),
        ("completed:>2026-02-01", []),
        ("completed:>=2026-02-01", [DONE]),
        ("completed:<2026-02-01T10:00:01Z", [DONE]),
        ("completed:2026-01-01..2026-02-01", [DONE]),
        ("completed:..2026-01-31", []),
        ("created:2026-01-23", [DOCS]),
        ("updated:1d", [AUTH, DOCS, DONE, f"{DONE}.1"]),
        ("updated:>1d", []),
        ("is:archived", [OLD]),
        ("is:archived updated:>1d", [OLD]),
        ("is:archived completed:<2026-01-01", [OLD]),
        ("is:done", [DONE]),
        ("is:open", [AUTH, DOCS, f"{DONE}.1"]),
        ("is:member", [f"{DONE}.1"]),
        (f"group:{DONE}", [f"{DONE}.1"]),
        ("is:group", [DONE]),
        ("is:verified", [DONE]),
        ("has:criteria", [AUTH, DONE]),
        ("has:unchecked", [AUTH]),
        ("has:dependents", [AUTH]),
        ("-has:labels", [DONE, f"{DONE}.1"]),
        ("has:approval", [DOCS]),
        ("approval:pending", [DOCS]),
        ("model:opus prompt:standard branch:chant/", [AUTH]),
    ],
)
def test_what_is_found(project, query, expected):
    assert [head.id for head in matching_heads(project.store, query)] == expected


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("stauts:done", "Unknown search condition 'stauts:'", "status:"),
        ("foo:bar", "Unknown search condition 'foo:'", '"foo:bar"'),
        ("status:finished", "Invalid status: finished", ""),
        ("is:nice", "Unknown 'is:nice'", "ready"),
        ("label:", "needs a value", "label:auth"),
        ("completed:soon", "Not a date: 'soon'", "2026-01-31"),
        ("completed:>2026-13-01", "Not a date", ""),
        ("x" * 3000, "longer than", ""),
    ],
)
def test_what_is_refused(query, message, hint):
    with pytest.raises(Invalid) as caught:
        parse_query(query)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_addresses_are_text():
    assert parse_query("https://example.com/x").wanted == ("https://example.com/x",)


def test_an_age_is_counted_from_now(project):
    now = datetime(2026, 2, 8, tzinfo=UTC)
    graph = project.store.graph()
    head = project.store.head(DONE)
    assert parse_query("completed:7d", now).fitting([head], graph)
    assert not parse_query("completed:6d", now).fitting([head], graph)
    assert parse_query("completed:>6d", now).fitting([head], graph)


@given(
    st.lists(
        st.one_of(
            st.text(max_size=12),
            st.builds("{}:{}".format, st.sampled_from(KEYS), st.text(max_size=8)),
        ),
        max_size=6,
    ).map(" ".join)
)
def test_any_text_is_read_or_refused(text):
    with suppress(Invalid):
        parse_query(text)
