"""The advisors on the command line: `clew advise …`, and the same as `clariad …`."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from clew.advisors.conversation.store import ConversationStore
from clew.advisors.documents.model import Finding
from clew.cli.core.app import command
from clew.cli.core.options import (
    combined,
    flag,
    limit_option,
    option,
    project_option,
    repeatable,
    spec_argument,
)
from clew.cli.core.streams import read_text
from clew.kit.call import Call
from clew.kit.errors import Invalid, NotFound, UsageError
from clew.kit.outcome import Outcome, Table, listing

_turn_options = combined(
    repeatable("--file", "files", "Read the text from FILE (- for standard input).", metavar="FILE"),
    option("--conversation", "conversation_id", "Continue this conversation.", default="", metavar="ID"),
    repeatable("--answer", "answers", "Answer an open question.", metavar="Q-1=TEXT"),
    option("--draft", "Statements with quotes as JSON (- for standard input).", metavar="FILE"),
    flag("--no-save", "Write no files; keep the result in the conversation."),
    flag("--no-model", "Do not use a language model."),
    project_option,
)  # fmt: skip


@command()
@click.argument("description", nargs=-1)
@_turn_options
def vision(description: tuple[str, ...], **options: Any) -> Outcome:
    """Write or refine the Vision & Scope document from a DESCRIPTION."""
    text = _text(description, options)
    if not any([text, options["answers"], options["draft"]]):
        raise UsageError("What is the project?", 'For example: clew advise vision "A booking app"')
    return _turn("vision", text, "", options)


@command()
@click.argument("name")
@click.argument("requirements", nargs=-1)
@_turn_options
def architecture(name: str, requirements: tuple[str, ...], **options: Any) -> Outcome:
    """Write or refine the architecture of NAME, and its decision records."""
    text = _text(requirements, options)
    return _turn("architecture", text, name, options)


def _turn(kind: Any, text: str, name: str, options: dict[str, Any]) -> Outcome:
    from clew.advisors.conversation.result import document_text, footer, turn_data
    from clew.advisors.conversation.turn import TurnRequest, take_turn

    request = TurnRequest(
        tool=f"{kind}_agent",
        kind=kind,
        text=text,
        name=name,
        conversation_id=options["conversation_id"],
        answers=dict(_answer(one) for one in options["answers"]),
        draft=_json(options["draft"], "draft", dict) if options["draft"] else None,
        project=options["project"],
        save=not options["no_save"],
        use_model=not options["no_model"],
    )
    result = take_turn(request, Call())
    shown = footer(result)
    if not result.main.path:
        shown = f"{document_text(result)}\n\n---\n\n{shown}"
    return Outcome(turn_data(result, request.tool), (shown,))


def _json(file: str, name: str, wanted: type) -> Any:
    """What a file has under a name, or as a whole."""
    from clew.kit.jsontext import JsonError, loads

    try:
        value = loads(read_text(file))
    except JsonError as error:
        raise Invalid(f"{file} is not JSON: {error}", f"Send the value of `{name}`.") from None
    found = value.get(name, value) if isinstance(value, dict) else value
    if not isinstance(found, wanted):
        raise Invalid(f"{file} has no {name}", f'Send {{"{name}": ...}}.')
    return found


def _answer(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--answer takes NAME=VALUE, not {text!r}")
    return name.strip(), value


def _text(words: tuple[str, ...], options: dict[str, Any]) -> str:
    parts = [" ".join(words), *(read_text(name) for name in options["files"])]
    return "\n\n".join(part for part in parts if part.strip())


@command()
@option(
    "--conversation",
    "conversation_id",
    "Use the unsaved documents of this conversation.",
    default="",
    metavar="ID",
)
@option("--specs", "file", "Drafts of specs as JSON (- for standard input).", metavar="FILE")
@flag("--later", "Include features of later releases.")
@project_option
def refine(conversation_id: str, file: str | None, project: str | None, *, later: bool) -> Outcome:
    """Turn the vision's features into specs; later runs create only what has changed."""
    from clew.advisors.actions.project_documents import sources_of
    from clew.advisors.actions.refine import refine_all, refined_text
    from clew.specs.store.store import open_store

    store = open_store(project=project)
    sources = sources_of(store.project, conversation_id)
    given = _json(file, "specs", list) if file else None
    done, refused = refine_all(store, sources, given, later=later, actor="cli")
    rows = tuple((one.spec_id, one.action, one.feature, one.title, one.note) for one in done)
    parts: list[str | Table] = (
        [Table(("spec", "", "feature", "title", "note"), rows)] if rows else []
    )
    parts += [refined_text([], refused)] if refused or not rows else []
    data = {"specs": [one.as_json() for one in done], "refused": [one._asdict() for one in refused]}
    return Outcome(data, tuple(parts), exit_code=1 if refused else 0)


@command()
@spec_argument
@option("--range", "asked", "Range of commits, for example main..branch.", metavar="COMMITS")
@flag("--exit-code", "Exit with code 1 if changes are needed.")
@project_option
def review(spec_id: str, asked: str | None, *, exit_code: bool, project: str | None) -> Outcome:
    """Check a spec's changes against its acceptance criteria."""
    from clew.advisors.actions.review import review as look
    from clew.advisors.actions.review import review_data
    from clew.specs.store.store import open_store

    store = open_store(project=project)
    found = look(store.project, store.load(spec_id), asked)
    failed = exit_code and found.verdict == "changes needed"
    data = review_data(found)
    return Outcome(data, (data["output"].rstrip(),), exit_code=1 if failed else 0)


@command()
@project_option
def deployment(project: str | None) -> Outcome:
    """Show what to check at a deployment: what CI, images, migrations, changelog and tags say."""
    from clew.advisors.actions.deployment import checklist, checklist_data
    from clew.kit.project import find_project

    data = checklist_data(checklist(find_project(project)))
    return Outcome(data, (data["output"].rstrip(),))


@command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@flag("--strict", "Treat warnings as errors.")
@project_option
def check(files: tuple[str, ...], *, strict: bool, project: str | None) -> Outcome:
    """Check vision, architecture and decisions; exit code 1 if there are errors."""
    from clew.advisors.actions.project_documents import check_files, check_project
    from clew.advisors.documents.files import project_of

    root = project_of({}, project)
    report = check_files(root, files) if files else check_project(root)
    found = [(one.path, finding) for one in report for finding in one.findings]
    rows = tuple(_finding_row(*one) for one in found)
    severities = [finding.severity for _, finding in found]
    counts = {name: severities.count(name) for name in ("error", "warning", "info")}
    failed = counts["error"] or (strict and counts["warning"])
    parts: list[str | Table] = [Table(("", "rule", "where", "found", "fix"), rows)] if rows else []
    numbers = f"{counts['error']} errors, {counts['warning']} warnings, {counts['info']} notes"
    parts.append(f"{len(report)} documents: {numbers}")
    data = {"documents": [one.as_json() for one in report], **counts}
    return Outcome(data, tuple(parts), exit_code=1 if failed else 0)


def _finding_row(path: str, finding: Finding) -> tuple[str, ...]:
    place = f"{path}: {finding.location}" if path != finding.location else path
    return (finding.severity, finding.rule, place, finding.message, finding.fix)


@command()
@project_option
def trace(project: str | None) -> Outcome:
    """Show objective, feature, component, decision and spec side by side."""
    from clew.advisors.actions.project_documents import traced
    from clew.advisors.documents.files import project_of

    found = [row.as_json() for row in traced(project_of({}, project))]
    columns = "objective feature text components decisions specs"
    return listing("rows", found, columns, "There is no vision with features yet.")


@command()
@click.argument("record")
@click.argument("status")
@option("--by", "With superseded: the record that replaces it.", default="", metavar="RECORD")
@project_option
def decide(record: str, status: str, by: str, project: str | None) -> Outcome:
    """Set the STATUS of a decision RECORD: accepted, rejected, deprecated or superseded.

    RECORD is its number or file. An accepted record is sealed: `check` reports later changes to it.
    """
    from clew.advisors.actions.decide import decide as move
    from clew.advisors.documents.files import project_of

    done = move(project_of({}, project), record, status, by)
    words = f"{done.record} {done.title}: {done.status} ({', '.join(done.files)})"
    return Outcome(done.as_json(), (words,))


@command(name="list")
@limit_option(50)
def list_conversations(limit: int) -> Outcome:
    """List conversations, most recently used first."""
    with _store() as store:
        found = store.recent(limit)
    columns = "id title version documents updated project"
    return listing("conversations", found, columns, "No conversations yet.")


def _store() -> AbstractContextManager[ConversationStore]:
    from clew.advisors.conversation.store import opened_store

    if address := os.environ.get("CLEW_DATABASE"):
        from clew.program import keep_conversations

        keep_conversations(address)
    return opened_store()


@command()
@click.argument("conversation_id", metavar="ID")
@option("--document", "Print this document: vision, architecture, adr/...", metavar="NAME")
@option("--version", "number", "With --document: an older version.", type=int)
def show(conversation_id: str, document: str | None, number: int | None) -> Outcome:
    """Show a conversation, or one of its documents."""
    from clew.advisors.tools import summary

    with _store() as store:
        exported = store.export(conversation_id)
    if document:
        return _document(exported, document, number)
    data = summary(exported)
    turns = Table.of("version at tool what:summary", data["turns"])
    documents = Table.of("document:name version title file:path", data["documents"])
    return Outcome(data, (f"{data['id']}: {data['title']}", turns, documents))


def _document(exported: dict[str, Any], name: str, number: int | None) -> Outcome:
    found = [
        one
        for one in exported["documents"]
        if one["name"] == name and (number is None or one["version"] == number)
    ]
    if not found:
        there = ", ".join(f"{one['name']} {one['version']}" for one in exported["documents"])
        raise NotFound(f"No such document or version: {name}", f"There are: {there}.")
    return Outcome(found[-1], (found[-1]["text"].rstrip(),))


@command()
@click.argument("conversation_id", metavar="ID")
@option("-o", "--output", "Write to FILE instead of standard output.", metavar="FILE")
def export(conversation_id: str, output: str | None) -> Outcome:
    """Print everything stored for a conversation, as JSON."""
    from clew.kit.files import write_atomic
    from clew.kit.jsontext import pretty

    with _store() as store:
        exported = store.export(conversation_id)
    if output:
        write_atomic(Path(output), pretty(exported) + "\n")
        return Outcome({"file": output}, (f"Written to {output}",))
    return Outcome(exported, (pretty(exported),))


@command()
@click.argument("conversation_id", metavar="ID")
def delete(conversation_id: str) -> Outcome:
    """Delete a conversation; documents in projects stay."""
    with _store() as store:
        store.delete(conversation_id)
    return Outcome({"deleted": conversation_id}, (f"Deleted conversation {conversation_id}",))
