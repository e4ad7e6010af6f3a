"""Files taken apart and edited: what was not meant keeps every byte."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid
from clew.kit.text.frontmatter import FrontmatterError, read_leniently
from clew.kit.text.frontmatter_edit import edit_document
from clew.specs.files.parse import read_document
from clew.specs.model import FIELD_ORDER

REAL = """---
# Kept by hand; see the wiki
type: code
status: in_progress   # waiting for review
depends_on:
- 2026-01-22-001-x7m
# the next one is a guess
- 2026-01-22-002-abc
labels: [auth, "needs review"]
custom_field: {owner: team-a, "since": 2026-01-01}
target_files:
  - src/auth.py
  - "src/odd: name.py"

completed_at: 2026-02-13T04:25:27Z
note: >
  folded text
  of two lines
approval:
  required: true   # by policy
  status: pending
commits:
- 6ec9589
- 1234567
---

# Add user authentication

Text with --- in it.

---

## Acceptance Criteria

- [ ] One
"""


def edited(raw, **changes):
    return edit_document(read_document(raw), changes)


@pytest.mark.parametrize(
    "text", [REAL, REAL.replace("\n", "\r\n"), "\ufeff" + REAL, "\n \n" + REAL]
)
def test_one_scalar_changes_one_line(text):
    raw = text.encode()
    new = edited(raw, status="completed")
    assert new == raw.replace(b"status: in_progress ", b"status: completed ")
    assert read_document(new).fields["status"] == "completed"


def test_appending_to_a_list_adds_one_line_and_keeps_comments():
    new = edited(REAL.encode(), depends_on=["2026-01-22-001-x7m", "2026-01-22-002-abc", "third"])
    assert new.decode() == REAL.replace("-002-abc\n", "-002-abc\n- third\n")


def test_a_list_keeps_its_style():
    new = edited(REAL.encode(), labels=["auth"], target_files=["a.py"]).decode()
    assert "labels: [auth]\n" in new
    assert "target_files:\n  - a.py\n" in new


def test_new_keys_go_where_the_documented_order_has_them():
    new = edited(REAL.encode(), prompt="standard", model="opus", zebra="last").decode()
    names = [line.partition(":")[0] for line in new.splitlines() if ":" in line]
    assert names.index("prompt") == names.index("completed_at") - 1
    assert names.index("model") == names.index("completed_at") + 1
    assert new.index("\nzebra: last\n---\n") > new.index("commits:")


def test_a_removed_key_takes_only_its_lines():
    new = edited(REAL.encode(), note=None, completed_at=None).decode()
    gone = "completed_at: 2026-02-13T04:25:27Z\nnote: >\n  folded text\n  of two lines\n"
    assert new == REAL.replace(gone, "")


def test_a_file_without_frontmatter_gets_one():
    new = edit_document(read_document(b"\xef\xbb\xbf# Title\r\n\r\nText"), {"status": "failed"})
    assert new == b"\xef\xbb\xbf---\r\nstatus: failed\r\n---\r\n# Title\r\n\r\nText"


def test_only_the_body_changes():
    new = edit_document(read_document(REAL.encode()), {}, "# New")
    assert new.decode() == REAL[: REAL.index("\n# Add")] + "# New"


def test_a_body_below_a_closing_line_without_line_end():
    assert edit_document(read_document(b"---\na: b\n---"), {}, "x") == b"---\na: b\n---\nx"


def test_nothing_to_do_changes_nothing():
    raw = REAL.encode()
    assert edited(raw, status="in_progress", gone=None, commits=["6ec9589", "1234567"]) == raw


@pytest.mark.parametrize(
    "value", ["x\nstatus: completed", "a: b # c", "'", "---", "\r\n---\r\n", "*a"]
)
def test_values_cannot_become_yaml(value):
    for new in (edited(REAL.encode(), prompt=value), edited(REAL.encode(), labels=[value])):
        fields = read_document(new).fields
        assert fields["status"] == "in_progress"
        assert value in {fields.get("prompt"), *fields["labels"]}


@pytest.mark.parametrize("raw", [b"---\n{a: b, c: d}\n---\n", b"---\n  a: b\n---\n"])
def test_what_cannot_be_spliced_is_refused(raw):
    with pytest.raises(Invalid, match="cannot be changed safely"):
        edited(raw, a="x")


def test_an_anchor_that_others_need_is_not_cut_off():
    with pytest.raises(Invalid, match="cannot be changed safely"):
        edited(b"---\na: &x one\nb: *x\n---\n", a="two")


@pytest.mark.parametrize("name", ["a b", "", "a:", "-a", "a\nb"])
def test_field_names_are_checked(name):
    with pytest.raises(Invalid, match="field name"):
        edit_document(read_document(b"# T\n"), {name: "x"})


BROKEN = [
    ("---\nstatus: completed\n# Title\n", 1, "no closing"),
    ("\n\n---\nstatus: completed\n", 3, "no closing"),
    ("status: completed\n---\n# Title\n", 1, "no opening"),
    ("---\nstatus: completed\n  bad: x\n---\n", 3, "mapping values"),
    ("---\nstatus: a\nstatus: b\n---\n", 3, "twice"),
    ("---\n<<<<<<< HEAD\nstatus: a\n=======\nstatus: b\n>>>>>>> x\n---\n", 2, "conflict"),
    ("<<<<<<< HEAD\n---\n", 1, "conflict"),
    ("---\n- status: completed\n---\n", 2, "key: value"),
    ("", 1, "empty"),
    ("\ufeff \n\n", 1, "empty"),
    ("---\na: b\n---\n\0", 4, "NUL"),
    ("---\na: " + "x" * 140_000 + "\n---\n", 2, "longer than"),
]


@pytest.mark.parametrize(("text", "line", "cause"), BROKEN)
def test_damage_is_named(text, line, cause):
    with pytest.raises(FrontmatterError, match=cause) as caught:
        read_document(text.encode())
    assert caught.value.line == line


def test_bytes_that_are_no_text_and_too_many_bytes():
    with pytest.raises(FrontmatterError, match="UTF-8") as caught:
        read_document(b"---\na: b\n---\n\xff")
    assert caught.value.line == 4
    with pytest.raises(FrontmatterError, match="larger"):
        read_document(b"#" * (4 * 1024 * 1024 + 1))


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nProse below a rule.\n\n---\nMore.\n",
        "---\n# Heading\n\nProse.\n",
        "----\n# Long rule\n",
        "# Plain\n\n---\n",
        "***\n",
    ],
)
def test_a_rule_is_no_frontmatter(text):
    document = read_document(text.encode())
    assert (document.fields, document.body) == ({}, text)


@pytest.mark.parametrize("text", ["---\n---\nBody", "---\n\n---\nBody", "---   \n---\t\nBody"])
def test_empty_frontmatter(text):
    document = read_document(text.encode())
    assert (document.fields, document.body) == ({}, "Body")


LINES = st.sampled_from(
    [
        "type: code",
        "status: pending",
        "status: 'done'  # why",
        "labels: [a, b]",
        "labels:\n- a\n# between\n- b",
        "depends_on:\n  - x\n  # at the end",
        "approval:\n  required: true\n  status: pending",
        "# a comment",
        "",
        "owner: Zoë",
        "text: |\n  one\n\n  two",
        'quoted: "two\n  lines"',
        "empty:",
        "model: null",
        "flow: {a: [b, c]}",
    ]
)
VALUES = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
    st.lists(st.text(alphabet="ab'\": #\n", max_size=5), max_size=3),
    st.dictionaries(
        st.sampled_from(["required", "by"]), st.text(max_size=4, alphabet="a:#"), max_size=2
    ),
    st.just(None),
)
CHANGES = st.dictionaries(
    st.sampled_from([*FIELD_ORDER[:12], "owner", "own_1"]), VALUES, max_size=4
)


@given(
    st.lists(LINES, max_size=8),
    st.text(alphabet="ab\n#-é \r", max_size=20),
    CHANGES,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
)
def test_edits_touch_only_what_was_meant(lines, body, changes, end, mark):
    text = mark + "".join(f"{line}\n" for line in ["---", *lines, "---"]).replace("\n", end) + body
    try:
        before = read_document(text.encode())
    except FrontmatterError:
        return
    new = edit_document(before, changes)
    after = read_document(new)
    for name, value in changes.items():
        assert after.fields.get(name) == value
    untouched = {k: v for k, v in before.fields.items() if k not in changes}
    assert untouched == {k: v for k, v in after.fields.items() if k not in changes}
    assert after.body == before.body
    assert new.startswith(mark.encode())
    comments = re.findall(r"^# a comment\r?$", text, re.MULTILINE)
    assert re.findall(r"^# a comment\r?$", new.decode(), re.MULTILINE) == comments
    if end == "\r\n" and body == "":
        assert b"\n" not in new.replace(b"\r\n", b"")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: b\n---\nBody\n", ({"a": "b"}, "Body\n", "")),
        ("---\r\na: b\r\n---\r\nBody\r\n", ({"a": "b"}, "Body\r\n", "")),
        ("---\n---\nBody\n", ({}, "Body\n", "")),
        ("No rule\n---\na: b\n---\n", (None, "No rule\n---\na: b\n---\n", "")),
        ("\n---\na: b\n---\n", (None, "\n---\na: b\n---\n", "")),
        ("---\na: b\n", (None, "---\na: b\n", "")),
        ("---\nprose\n---\nBody\n", (None, "---\nprose\n---\nBody\n", "")),
        ("---\n- a: b\n---\nBody\n", (None, "---\n- a: b\n---\nBody\n", "")),
    ],
)
def test_the_lenient_reader_takes_only_a_mapping_that_opens_the_text(text, expected):
    assert read_leniently(text) == expected


def test_the_lenient_reader_takes_a_broken_block_away_and_says_why():
    fields, body, problem = read_leniently('---\ntitle: "open\n---\nBody\n')
    assert (fields, body) == ({}, "Body\n")
    assert problem.startswith("The frontmatter is not readable YAML: ")


@given(st.text(max_size=200) | st.lists(LINES, max_size=8).map("\n".join))
def test_the_lenient_reader_loses_nothing(text):
    fields, body, _ = read_leniently(text)
    assert text.endswith(body)
    assert fields is not None or body == text


def test_the_readers_cost_no_import():
    program = (
        "import sys\nfrom clew.kit.text.frontmatter import read_leniently\n"
        "read_leniently('---\\na: [b, \"c\"]\\n---\\n')\n"
        "print(sorted({'re', 'typing', 'json', 'ruamel.yaml', 'pathlib'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True, text=True, timeout=60, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)},
    )  # fmt: skip
    assert done.stdout == "[]\n"
