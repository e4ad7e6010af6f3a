"""Specs as JSON, CSV and Markdown."""

import csv
import io
import json

import pytest

from clew.kit.errors import Invalid
from clew.specs.query.export import ALL_FIELDS, DEFAULT_FIELDS, export_specs, fields_of
from tests.specs.making import Project

A, B = "2026-01-22-001-aaa", "2026-01-22-002-bbb"


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    made.spec(A, "status: in_progress\nlabels: [a, b]\nteam: core", '# Say "hi" | now, ä\n')
    made.spec(B, "status: completed\ncompleted_at: 2026-02-01T10:00:00Z", "no title\n")
    return made


def exported(project, form, fields=DEFAULT_FIELDS):
    return export_specs(project.store, project.store.heads(), form, fields)


def test_json(project):
    assert json.loads(exported(project, "json")) == [
        {
            "id": A,
            "type": "code",
            "status": "in_progress",
            "title": 'Say "hi" | now, ä',
            "labels": ["a", "b"],
        },
        {
            "id": B,
            "type": "code",
            "status": "completed",
            "completed_at": "2026-02-01T10:00:00Z",
        },
    ]


def test_csv(project):
    rows = list(csv.DictReader(io.StringIO(exported(project, "csv"))))
    assert rows[0]["title"] == 'Say "hi" | now, ä'
    assert (rows[0]["labels"], rows[0]["model"]) == ("a, b", "")
    assert list(rows[0]) == list(DEFAULT_FIELDS)


def test_markdown(project):
    lines = exported(project, "markdown", ("id", "title", "team")).splitlines()
    assert lines == [
        "| id | title | team |",
        "| --- | --- | --- |",
        f'| {A} | Say "hi" \\| now, ä | core |',
        f"| {B} |  |  |",
    ]


def test_fields():
    assert fields_of(None) == DEFAULT_FIELDS
    assert fields_of("all") == ALL_FIELDS
    assert fields_of(" id, team ") == ("id", "team")
    assert fields_of("all,team") == (*ALL_FIELDS, "team")


def test_an_unknown_format_is_refused(project):
    with pytest.raises(Invalid) as caught:
        exported(project, "xml")
    assert caught.value.message == "Unknown format: xml. Supported formats: json, csv, markdown"
