"""Documents, settings and files of other programs: each reader with what must hold."""

from __future__ import annotations

import functools
import shutil
import tempfile
from binascii import crc32
from pathlib import Path

from clew.advisors.checks.document import check_text
from clew.advisors.documents.adr import date_of, status_of
from clew.advisors.documents.document import parse, render
from clew.advisors.documents.templates import TEMPLATES
from clew.advisors.extract.notes import notes_of
from clew.commands.render.arguments import read_words, request_from_words
from clew.history.semantic.notes import sections
from clew.hosts.files.formats import ConfigText
from clew.kit import jsontext
from clew.kit.errors import ClewError
from clew.specs.index import cache_file
from clew.specs.query.search import find_rows
from clew.specs.store.config import load_config
from clew.specs.store.store import SpecStore
from clew.work.agents.options import WorkOptions, limits_of, worktree_settings
from clew.work.split.plan import Demand, Piece, ordered, problems, read_answer
from tests.fuzz.corpus import as_text
from tests.specs.making import Project

_ENTRY = ("mcp_servers", "clew")
_VALUE = {"command": "clew", "args": ["serve"]}
_PIECE = Piece("Title", "Words", (Demand("It works"), Demand("It is quick")), ("src/a.py",))


def told(reason):
    """What is refused is refused in words."""
    assert reason


@functools.cache
def place():
    """A directory for files of this process, which goes with it."""
    return tempfile.TemporaryDirectory(prefix="clew-fuzz-")


@functools.cache
def _project(name):
    made = Project(Path(place().name) / name)
    for number in range(3):
        made.spec(f"2026-01-01-00{number}-abc", "", f"# Title {number}\n\nsome words\n")
    return made


def read_markdown(data):
    """Any Markdown is a document of any kind; written and read again it is the same."""
    text = as_text(data)
    for kind in tuple(TEMPLATES):
        document = parse(text, kind)
        assert parse(render(document), kind) == document
        list(check_text(text, kind))
    record = parse(text, "adr")
    status_of(record)
    date_of(record)
    notes_of(text)
    list(sections(text, "notes.md", "project"))


def _edited(data, form):
    try:
        before = ConfigText.from_bytes(Path("file"), form, data)
        edit = before.put(_ENTRY, _VALUE)
        after = ConfigText(Path("file"), form, edit.text)
        assert after.entry(_ENTRY) == _VALUE
        removed = after.remove(_ENTRY, edit.trace)
        if before.entry(_ENTRY) is None and not before.is_blank(before.text):
            assert ConfigText(Path("file"), form, removed).entry(()) == before.entry(())
    except ClewError as error:
        told(error.message)


def edit_toml(data):
    """A host's TOML: our table goes in and comes out, or the file is refused by line."""
    _edited(data, "toml")


def edit_jsonc(data):
    """A host's JSON with comments: the same."""
    _edited(data, "jsonc")


def read_settings(data):
    """A project's settings: read with warnings, or refused with the line."""
    project = _project("settings")
    (project.root / ".chant" / "config.md").write_bytes(data)
    try:
        config = load_config(project.root)
        for warning in config.warnings:
            told(warning.cause)
        limits_of(config)
        worktree_settings(config, WorkOptions())
    except ClewError as error:
        told(error.message)


def read_split_answer(data):
    """What a model says about dividing a spec: members that fit it, or a refusal."""
    try:
        members = read_answer([as_text(data)], _PIECE)
    except ClewError as error:
        told(error.message)
        return
    wrong = problems(_PIECE, members)
    if not wrong:
        kept, _ = ordered(_PIECE, members)
        assert len(kept) == len(members)
    assert all(wrong)


def read_command_line(data):
    """Words and options of a command: a request, or a refusal."""
    try:
        request_from_words(read_words(as_text(data).split()))
    except ClewError as error:
        told(error.message)


def read_cache(data):
    """Files that only save time, brought by a repository: they never change what is found."""
    project = _project("cache")
    store = project.root / ".chant" / ".store"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    header = jsontext.dumps_bytes({"version": cache_file._VERSION, "crc32": crc32(data)})
    (store / "index.json").write_bytes(header + b"\n" + data)
    specs = SpecStore(project.root)
    for words in ("words", "o", "some words", as_text(data)[:20] or "x"):
        found = find_rows(specs, words)
        assert len(found) == 3 or words not in ("words", "o", "some words")
