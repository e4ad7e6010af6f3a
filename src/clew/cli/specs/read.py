"""Specs on the command line, the reading half: `chant …`, and the same under `clew spec …`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.hints import own_commands
from clew.cli.core.options import (
    choice,
    combined,
    flag,
    limit_option,
    offset_option,
    option,
    project_option,
    repeatable,
    spec_argument,
)
from clew.cli.core.render import print_outcome
from clew.cli.core.streams import write_out
from clew.cli.specs.repos import repos_options, stores_of
from clew.cli.team import fleet_now, fleet_table
from clew.kit.outcome import Outcome, Table
from clew.specs.query.logs import LogPage
from clew.specs.store.store import SpecStore
from clew.work.workspace import Workspace

_WATCH_SECONDS = 3.0
_FOLLOW_SECONDS = 0.3


def opened(project: str | None) -> SpecStore:
    """The spec store of the project that a command is about."""
    from clew.specs.store.store import open_store
    from clew.work.runs.repair_on_call import repair_project

    store = open_store(project=project)
    repair_project(store.project)
    return store


@contextmanager
def opened_work(project: str | None) -> Iterator[Workspace]:
    """The project that a command works on, opened once; orphaned runs are repaired first."""
    from clew.daemons import WIRING
    from clew.specs.store.store import open_store
    from clew.work.runs.reconcile import reconcile
    from clew.work.workspace import Workspace

    store = open_store(project=project)
    with Workspace(store.project, WIRING, store) as work:
        reconcile(work)
        yield work


def problem_lines(answer: dict[str, Any]) -> list[str]:
    """One warning for each file that could not be read as a spec."""
    return [_problem_line(problem) for problem in answer.get("problems", ())]


def _problem_line(problem: dict[str, Any]) -> str:
    place = f"{problem['path']}:{problem['line']}" if problem["line"] else problem["path"]
    return f"warning: {place}: {problem['cause']}"


def _page_outcome(page: dict[str, Any], empty: str) -> Outcome:
    rows = tuple(_row(item) for item in page["specs"])
    parts: list[str | Table] = []
    if rows:
        parts.append(Table(("id", "status", "type", "title", "waits for"), rows))
    elif not page["total"]:
        parts.append(empty)
    if page["returned"] < page["total"]:
        parts.append(f"{page['returned']} of {page['total']}; --limit and --offset show more.")
    return Outcome(page, (*parts, *problem_lines(page)))


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    waits = ", ".join(f"{by['id']} ({by['reason']})" for by in item.get("blocked_by", ()))
    return (item["id"], item["status"], item["type"], item["title"] or "(no title)", waits)


_ALL = 1_000_000
_FILTERS = combined(
    option("--status", "Only this status, or ready or blocked.", metavar="STATUS"),
    flag("--ready", "only_ready", "Only specs that are ready to work on."),
    repeatable("--label", "labels", "Only specs with this label.", metavar="LABEL"),
    option("--type", "spec_type", "Only this type.", metavar="TYPE"),
    choice("--approval", "Only this state of approval.", among="pending approved rejected"),
    option("--created-by", "Only specs that this person created.", metavar="NAME"),
    option("--activity-since", "Only specs changed since: 2h, 3d, 2026-01-31.", metavar="TIME"),
    option("--mentions", "Only specs that contain this text.", metavar="TEXT"),
)


@command(name="list")
@click.argument("query", nargs=-1)
@_FILTERS
@repos_options
@flag("--count", "Print only the number of specs.")
@limit_option(50, click.IntRange(0))
@offset_option
@project_option
def list_command(
    query: tuple[str, ...], *, every_repo: bool, repo: str | None, count: bool, **given: Any
) -> Outcome:
    """List specs. QUERY narrows it: status:pending label:auth -label:wip "exact phrase"."""
    limit, offset, project = given["limit"], given["offset"], given["project"]
    if every_repo or repo:
        stores, problems = stores_of(project, repo, every=every_repo)
        page = _pages_together(stores, query, given, problems)
    else:
        store = opened(project)
        stores, problems = {"": store}, []
        page = _listed(store, query, given, limit, offset)
    if count:
        return Outcome({"total": page["total"]}, (str(page["total"]),))
    empty = "" if page["total"] else "\n".join(dict.fromkeys(map(_none_listed, stores.values())))
    shown = _page_outcome(page, empty)
    return Outcome(shown.data, (*shown.parts, *problems))


def _listed(
    store: SpecStore, query: tuple[str, ...], given: dict[str, Any], limit: int, offset: int
) -> dict[str, Any]:
    from clew.specs.query.activity import active_since, created_by
    from clew.specs.query.lists import list_specs

    among: set[str] | None = None
    for name, look in (("created_by", created_by), ("activity_since", active_since)):
        if given[name]:
            found = look(store, given[name])
            among = found if among is None else among & found
    words = [*query]
    if given["approval"]:
        words.append(f"approval:{given['approval']}")
    if given["mentions"]:
        words.append('"' + given["mentions"].replace('"', " ") + '"')
    return list_specs(
        store,
        status="ready" if given["only_ready"] else given["status"],
        labels=given["labels"],
        spec_type=given["spec_type"],
        query=" ".join(words) or None,
        among=among,
        limit=limit,
        offset=offset,
    )


def _pages_together(
    stores: dict[str, SpecStore], query: tuple[str, ...], given: dict[str, Any], problems: list[str]
) -> dict[str, Any]:
    """One page out of several projects; ids begin with the name of theirs."""
    specs: list[dict[str, Any]] = []
    for name, store in stores.items():
        page = _listed(store, query, given, _ALL, 0)
        specs += [{**item, "id": f"{name}:{item['id']}", "repo": name} for item in page["specs"]]
        problems += [f"{line} ({name})" for line in problem_lines(page)]
    chosen = specs[given["offset"] : given["offset"] + given["limit"]]
    numbers = {"total": len(specs), "limit": given["limit"], "returned": len(chosen)}
    return {"specs": chosen, **numbers}


def _none_listed(store: SpecStore) -> str:
    """Why the list is empty, and what to do."""
    from clew.specs.query.lists import list_specs

    found = store.snapshot()
    if list_specs(store, limit=0)["total"]:
        return own_commands("No spec matches. `chant list` shows all.")
    cancelled = sum(head.status == "cancelled" for head in found.active)
    archived = len(found.by_id) - len(found.active)
    counts = (("cancelled", cancelled), ("archived", archived))
    left = ", ".join(f"{count} {word}" for word, count in counts if count)
    words = f"No open specs ({left})" if left else "No specs"
    return own_commands(f'{words}. Add one: `chant add "what is to be done"`')


@command()
@limit_option(50, click.IntRange(0))
@offset_option
@repeatable("--label", "labels", "Only specs with this label.", metavar="LABEL")
@project_option
def ready(limit: int, offset: int, labels: tuple[str, ...], project: str | None) -> Outcome:
    """List the specs that can be worked on now."""
    from clew.specs.query.lists import ready_specs

    page = ready_specs(opened(project), limit=limit, offset=offset, labels=labels)
    nothing = "Nothing is ready. `chant list` shows what waits, and for what."
    return _page_outcome(page, own_commands(nothing))


@command()
@spec_argument
@flag("--body", "only_body", "Print only the text below the front matter.")
@flag("--raw", "Print the file unchanged.")
@project_option
def show(spec_id: str, *, only_body: bool, raw: bool, project: str | None) -> Outcome:
    """Show one spec; REPO:ID, as `list --global` has it, one of another repository."""
    return spec_outcome(spec_id, project, only_body=only_body, raw=raw)


def spec_outcome(
    spec_id: str, project: str | None, *, only_body: bool = False, raw: bool = False
) -> Outcome:
    """One spec for a person, all of it or the part that was asked for."""
    from clew.specs.query.lists import spec_data

    repo, colon, inner = spec_id.partition(":")
    store = stores_of(project, repo, every=False)[0][repo] if colon else opened(project)
    found, snapshot = store.find(inner if colon else spec_id)
    data = spec_data(found, snapshot)
    reason = reason_lines(store, found.id, found.status, data)
    if raw:
        return Outcome(data, (found.raw.decode("utf-8", "replace").rstrip("\n"),))
    if only_body:
        return Outcome(data, (found.body.rstrip("\n"),))
    return Outcome(data, (_facts(data), *reason, "", found.body.strip("\n")))


def reason_lines(
    store: SpecStore, spec_id: str, status: str, data: dict[str, Any]
) -> tuple[str, ...]:
    """Why the spec waits for somebody, for people, and into the data for programs."""
    from clew.work.runs.reasons import explain

    found = explain(store.paths, spec_id, status)
    if found is None:
        return ()
    data["reason"] = found.as_json()
    return ("", own_commands(found.text()))


def _facts(data: dict[str, Any]) -> str:
    lines = [f"{data['id']}  {data['status']}  {data['type']}{'  archived' * data['archived']}"]
    names = ("depends_on", "labels", "target_files", "commits", "members")
    shown = {name: ", ".join(data[name]) for name in names if data[name]}
    texts = ("prompt", "branch", "model", "completed_at")
    shown |= {name: data[name] for name in texts if data[name]}
    if data["criteria"]["total"]:
        shown["criteria"] = "{checked} of {total} checked".format(**data["criteria"])
    if data["blocked_by"]:
        waits = [f"{blocker['id']} ({blocker['reason']})" for blocker in data["blocked_by"]]
        shown["waits for"] = ", ".join(waits)
    width = max(map(len, shown), default=0)
    return "\n".join([*lines, *(f"  {name:{width}}  {value}" for name, value in shown.items())])


@command()
@spec_argument
@flag("--clean", "Leave out what agents said in earlier runs.")
@project_option
def prep(spec_id: str, *, clean: bool, project: str | None) -> Outcome:
    """Print what is to be done, for an agent to read."""
    from clew.specs.files.criteria import without_agent_output

    found = opened(project).load(spec_id)
    body = without_agent_output(found.body) if clean else found.body
    return Outcome({"id": found.id, "body": body}, (body.strip("\n"),))


@command()
@click.argument("query", nargs=-1, required=True)
@flag("--archived", "Include archived specs.")
@limit_option(20, click.IntRange(1))
@offset_option
@project_option
def search(
    query: tuple[str, ...], *, archived: bool, limit: int, offset: int, project: str | None
) -> Outcome:
    """Search titles and bodies, best first, with the lines that match.

    QUERY is words, "exact phrases" and filters: status: label: type: depends: file: completed:
    updated: is:ready; a minus in front excludes.
    """
    from clew.specs.query.search import search_specs

    words = " ".join(query)
    found = search_specs(opened(project), words, limit=limit, offset=offset, archived=archived)
    parts = [line for hit in found["specs"] for line in _hit_lines(hit)]
    if found["returned"] < found["total"]:
        parts.append(f"{found['returned']} of {found['total']}; --offset shows more.")
    return Outcome(found, tuple(parts or [f"Nothing found for: {words}"]))


def _hit_lines(hit: dict[str, Any]) -> list[str]:
    first = f"{hit['id']}  {hit['status']}  {hit['title'] or '(no title)'}"
    return [first, *(f"    {s['line']}: {s['text']}" for s in hit.get("snippets", ()))]


@command()
@flag("--brief", "Print one line.")
@flag("--activity", "include_activity", "Include the last change of each spec.")
@flag("--watch", "Repeat every few seconds until Ctrl-C.")
@repos_options
@project_option
def status(*, watch: bool, every_repo: bool, repo: str | None, **given: Any) -> Outcome:
    """Count specs by status."""

    def read() -> Outcome:
        if every_repo or repo:
            return _status_of_repos(*stores_of(given["project"], repo, every=every_repo))
        return _status(**given)

    while watch:
        click.clear()
        print_outcome(read(), "chant status", as_json=False)
        time.sleep(_WATCH_SECONDS)
    return read()


def _status_of_repos(stores: dict[str, SpecStore], problems: list[str]) -> Outcome:
    from clew.specs.query.lists import brief_status, status_counts

    counts = {name: status_counts(store) for name, store in stores.items()}
    rows = tuple((name, str(one["total"]), brief_status(one)) for name, one in counts.items())
    return Outcome({"repos": counts}, (Table(("repo", "specs", "status"), rows), *problems))


def _status(*, brief: bool, include_activity: bool, project: str | None) -> Outcome:
    from clew.specs.query import lists

    counts = lists.status_counts(opened(project), activity=include_activity)
    if brief:
        return Outcome(counts, (lists.brief_status(counts),))
    fleet, trouble = fleet_now()
    counts |= {"fleet": fleet} if fleet is not None else {}
    names = [name for name in counts if isinstance(counts[name], int)]
    rows = tuple((name, str(counts[name])) for name in names)
    parts: list[str | Table] = [Table(("status", "specs"), rows)]
    if counts.get("in_progress_activity"):
        columns = ("id", "title", "spec_modified", "log_modified")
        moved = tuple(
            tuple(str(item[name] or "-") for name in columns)
            for item in counts["in_progress_activity"]
        )
        parts.append(Table(("id", "title", "spec changed", "log changed"), moved))
    if fleet:
        parts.append(fleet_table(fleet))
    return Outcome(counts, (*parts, *trouble, *problem_lines(counts)))


@command()
@spec_argument
@option("-n", "--lines", "Number of lines.", type=click.IntRange(0), default=100)
@option("--offset", "Start at this byte offset.", type=click.IntRange(0))
@option("--since", "Only lines after this time (ISO).", metavar="TIME")
@choice("--run", "Only the latest run.", among="latest")
@flag("-f", "--follow", "Follow the log until Ctrl-C.")
@project_option
def log(
    spec_id: str,
    lines: int,
    offset: int | None,
    since: str | None,
    *,
    run: str | None,
    follow: bool,
    project: str | None,
) -> Outcome:
    """Show a spec's log."""
    from clew.specs.query.logs import latest_run_offset, read_log

    store = opened(project)
    full = store.load(spec_id).id
    path = store.paths.log_file(full)
    offset = latest_run_offset(path, full) if run and offset is None else offset
    page = read_log(path, full, lines=lines, offset=offset, since=since)
    if follow:
        follow_log(path, full, page)
    return Outcome({"spec_id": full, **page._asdict()}, (page.content.rstrip("\n"),))


def follow_log(
    path: Path, spec_id: str, page: LogPage, is_over: Callable[[], bool] = lambda: False
) -> int:
    """Print this page and what comes, until it is over or somebody stops it; how far that was."""
    from clew.specs.query.logs import read_log

    while True:
        write_out(page.content, end="")
        was_over = is_over()  # before the look: what came until then is printed
        page = read_log(path, spec_id, lines=1000, offset=page.byte_offset)
        if not page.content:
            if was_over:
                return page.byte_offset
            time.sleep(_FOLLOW_SECONDS)
