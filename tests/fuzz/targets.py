"""What is fuzzed: each reader with what must hold, and the errors that it may raise."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import SimpleNamespace

from clew.catalog.faces import FACES
from clew.commands.render.render import fill, render, render_compatibly
from clew.history.lookup import get_patch
from clew.history.search.dates import moment
from clew.history.search.query import parse_query as parse_history_query
from clew.history.search.search import search_commits
from clew.history.store.sqlite import SqliteHistory
from clew.kit import jsontext
from clew.kit.errors import ClewError
from clew.kit.text.frontmatter import FrontmatterError, read_leniently
from clew.kit.text.frontmatter_edit import edit_document
from clew.protocol.kernel.connection import Connection
from clew.serving import build_kernel
from clew.specs.change.merge_driver import merge_specs
from clew.specs.files.criteria import append_output, parse_criteria, set_criterion
from clew.specs.files.parse import Identity, Unreadable, make_spec, read_document
from clew.specs.query.query import parse_query as parse_spec_query
from clew.specs.query.search import find_rows
from tests.fuzz.corpus import as_text
from tests.fuzz.document_targets import (
    edit_jsonc,
    edit_toml,
    place,
    read_cache,
    read_command_line,
    read_markdown,
    read_settings,
    read_split_answer,
    told,
)
from tests.fuzz.git_targets import (
    hide_secrets,
    read_blame,
    read_git,
    read_git_log,
    read_patch,
    read_stream,
)
from tests.history.index import new_index
from tests.specs.making import Project
from tests.support.repos import Repository

_SOMETIME = Identity(0, 0, 0, 0, settled=False)


def read_json(data):
    """Strict JSON: what it reads, it writes and reads again; what it refuses is told."""
    try:
        value = jsontext.loads_bytes(data)
    except jsontext.JsonError as error:
        told(str(error))
        return
    assert jsontext.loads(jsontext.dumps(value)) == value
    assert json.loads(data) == value


@functools.cache
def _kernel():
    """The kernel of a server that only tells; every thread's work is done at once."""
    kernel = build_kernel(FACES["clew"], {"read_only": "", "tools": "clew_guide"})
    kernel._side_workers = SimpleNamespace(submit=_at_once)
    return kernel


def _at_once(job):
    job()
    return True


def serve_message(data):
    """Any message gets answers of the protocol, or none; no answer tells of a bug."""
    sent = []
    _kernel().receive(data, Connection(sent.append), sent.append, run=_at_once)
    for answer in sent:
        text = jsontext.dumps(answer)
        assert "Internal error" not in text
        for one in answer if isinstance(answer, list) else [answer]:
            assert one["jsonrpc"] == "2.0"


def read_spec(data):
    """A spec or a problem; a spec can be edited, and nothing else of it changes."""
    try:
        spec = make_spec(data, ".chant/specs/x.md", _SOMETIME, archived=False)
    except Unreadable as error:
        told(error.problem.cause)
        return
    try:
        raw = edit_document(read_document(data), {"model": "x: 'y'"})
    except (ClewError, FrontmatterError):
        return
    after = make_spec(raw, ".chant/specs/x.md", _SOMETIME, archived=False)
    assert after.fields == {**spec.fields, "model": "x: 'y'"}
    assert after.body == spec.body


def read_criteria(data):
    """Criteria can be counted and checked; a checked one stays the only change."""
    body = as_text(data)
    found = parse_criteria(body)
    assert 0 <= found.checked <= found.total
    append_output(body, "more")
    if found.total:
        after = parse_criteria(set_criterion(body, 1, checked=True))
        assert after.total == found.total


def merge_spec_files(data):
    """Two versions of a spec: merged, or left to the user."""
    half = len(data) // 2
    try:
        merge_specs(data, data[:half] + b"\nlabels: [x]\n" + data[half:], data[half:])
    except ClewError as error:
        told(error.message)


def render_template(data):
    """A template always becomes a prompt; what is put in is never read again."""
    text = as_text(data)
    value = "{uv-name} {{input_text}} ---"
    values = {"uv-name": value, "input_text": value}
    assert render(text, values).endswith("\n")
    assert render_compatibly(text, {"uv-name": "x"}).endswith("\n")
    assert fill(fill(text, {}), {}) == fill(fill(fill(text, {}), {}), {}) or "\\" in text
    _, body, problem = read_leniently(text)
    assert problem or text.endswith(body)


@functools.cache
def _index():
    """A small index that queries are run against."""
    home = Path(place().name) / "history"
    home.mkdir()
    repository = Repository(home / "r")
    repository.git("config", "user.name", "Ada")
    repository.git("config", "user.email", "ada@example.com")
    for number in range(8):
        repository.commit(f"fix the parser {number}", {f"src/a{number}.py": f"two words {number}"})
    new_index(home / "db", repository).close()
    return SqliteHistory.read(home / "db")


def search_history(data):
    """Whatever is typed finds commits or is refused in words; it is never an error of SQLite."""
    text = as_text(data)
    try:
        parse_history_query(text)
        found = search_commits(_index(), text)
        assert len(found) <= 20
        moment(text)
    except ClewError as error:
        told(error.message)
    assert _index().commit_count(1) == 8


@functools.cache
def _specs():
    made = Project(Path(place().name) / "specs")
    for number in range(6):
        made.spec(f"2026-01-01-00{number}-abc", "labels: [web]", f"# Title {number}\n")
    return made.store


def search_specs(data):
    """Whatever is typed selects specs or is refused in words."""
    try:
        query = parse_spec_query(as_text(data))
    except ClewError as error:
        told(error.message)
        return
    find_rows(_specs(), as_text(data))
    snapshot = _specs().snapshot()
    assert set(query.fitting(snapshot.active, snapshot.graph())) <= set(snapshot.active)


def read_patch_argument(data):
    """A commit's name is looked up, never run."""
    try:
        get_patch(_index(), "r", as_text(data))
    except ClewError as error:
        told(error.message)


TARGETS = {
    read_json: "messages",
    serve_message: "messages",
    edit_jsonc: "messages",
    edit_toml: "toml",
    read_spec: "specs",
    read_criteria: "specs",
    merge_spec_files: "specs",
    read_settings: "config",
    read_cache: "messages",
    read_markdown: "documents",
    read_split_answer: "answers",
    render_template: "templates",
    read_command_line: "queries",
    search_history: "queries",
    search_specs: "queries",
    read_patch_argument: "queries",
    read_git: "patches",
    read_patch: "patches",
    read_git_log: "patches",
    read_blame: "blame",
    hide_secrets: "patches",
    read_stream: "streams",
}
COSTLY = {merge_spec_files, read_markdown, read_cache}  # processes of git, files, long work
