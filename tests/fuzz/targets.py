"""What is fuzzed: each reader with what must hold, and the errors that it may raise."""

from __future__ import annotations

import functools
import json
import re
import tempfile
from pathlib import Path

import zstandard

from clew.commands import frontmatter as command_frontmatter
from clew.commands.render import fill, render, render_compatibly
from clew.history.dates import moment
from clew.history.difftext import file_diffs
from clew.history.gitstream import _commit
from clew.history.ingest import index_commit
from clew.history.lookup import get_patch
from clew.history.query import parse_query as parse_history_query
from clew.history.search import search_commits
from clew.history.store import HistoryStore
from clew.hosts import jsonc
from clew.kit import jsontext
from clew.kit.errors import ClewError
from clew.specs.criteria import append_output, parse_criteria, set_criterion
from clew.specs.frontmatter import FrontmatterError, edit_document, read_document
from clew.specs.mergedriver import merge_specs
from clew.specs.query import parse_query as parse_spec_query
from clew.specs.reading import Identity, Unreadable, make_spec
from clew.work.streams import _READERS, StreamReader
from tests.fuzz.corpus import as_text
from tests.history.index import new_index
from tests.specs.making import Project
from tests.support.repos import Repository

_KEY = re.compile(r"\bAKIA[A-Z0-9]{16}\b", re.ASCII)
_SOMETIME = Identity(0, 0, 0, 0, settled=False)


def told(reason):
    """What is refused is refused in words."""
    assert reason


def read_json(data):
    """Strict JSON: what it reads, it writes and reads again; what it refuses is told."""
    try:
        value = jsontext.loads_bytes(data)
    except jsontext.JsonError as error:
        told(str(error))
        return
    assert jsontext.loads(jsontext.dumps(value)) == value
    assert json.loads(data) == value


def read_host_file(data):
    """JSON with comments: a tree, or an error that names a line."""
    try:
        jsonc.parse(as_text(data))
    except jsonc.JsoncError as error:
        told(str(error))


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
    _, body, problem = command_frontmatter.split(text)
    assert problem or text.endswith(body)


@functools.cache
def _index():
    """A small index that queries are run against."""
    home = Path(tempfile.mkdtemp(prefix="clew-fuzz-"))
    repository = Repository(home / "r")
    repository.git("config", "user.name", "Ada")
    repository.git("config", "user.email", "ada@example.com")
    for number in range(8):
        repository.commit(f"fix the parser {number}", {f"src/a{number}.py": f"two words {number}"})
    new_index(home / "db", repository).close()
    return HistoryStore.read(home / "db")


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
    made = Project(Path(tempfile.mkdtemp(prefix="clew-fuzz-")))
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
    snapshot = _specs().snapshot()
    assert set(query.fitting(snapshot.active, snapshot.graph())) <= set(snapshot.active)


def read_git(data):
    """A commit and a patch with any text in them: both can be indexed and shown."""
    fields = [b"a" * 40, b"b" * 40, b"", data[:50], data[50:90], data[90:120], b"", b"", b"x", data]
    meta = _commit([field.replace(b"\0", b"") for field in fields])
    head, _, patch = data.partition(b"\n\n")
    lines = [line for line in head.split(b"\n") if line.count(b"\t") and line.count(b" ") >= 4]
    raw = [b":100644 100644 1111111 2222222 M\t" + line.split(b"\t")[1] for line in lines]
    diff = b"\n".join(raw) + b"\n\n" + patch if raw else patch.lstrip(b":")
    found = index_commit(meta, diff, ("ignored/",), zstandard.ZstdCompressor(level=1))
    assert found.meta.sha == "a" * 40
    if found.patch_blob is not None:
        shown = zstandard.ZstdDecompressor().decompress(found.patch_blob).decode("utf-8", "replace")
        assert not _KEY.search(shown)
        list(file_diffs(shown))


def read_stream(data):
    """Any line of any agent is at most some events."""
    for form in _READERS:
        reader = StreamReader(form)
        for line in as_text(data).splitlines():
            list(reader.read(line))


def read_patch_argument(data):
    """A commit's name is looked up, never run."""
    try:
        get_patch(_index(), "r", as_text(data))
    except ClewError as error:
        told(error.message)


TARGETS = {
    read_json: "messages",
    read_host_file: "messages",
    read_spec: "specs",
    read_criteria: "specs",
    merge_spec_files: "specs",
    render_template: "templates",
    search_history: "queries",
    search_specs: "queries",
    read_git: "patches",
    read_patch_argument: "queries",
    read_stream: "streams",
}
COSTLY = {merge_spec_files}  # each input is a process of git
