"""The words of the one door that decide what they are about: `clew show` and `clew log`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.completion import complete_path, complete_revision, complete_spec, either
from clew.cli.core.options import (
    database_option,
    flag,
    limit_option,
    no_index_option,
    option,
    project_option,
    timestamp,
)
from clew.cli.core.surroundings import Surroundings
from clew.kit.call import Call
from clew.kit.errors import ClewError, NotFound
from clew.kit.git import PLAIN_DIFF, run_git
from clew.kit.outcome import Day, Hits, Outcome, Table

_MOST_FILES = 100


@command()
@click.argument(
    "what",
    metavar="WHAT...",
    nargs=-1,
    required=True,
    shell_complete=either(complete_spec, complete_revision),
)
@flag("-p", "--patch", "Show the commit's patch, too.")
@project_option
def show(what: tuple[str, ...], *, patch: bool, project: str | None) -> Outcome:
    """Show each WHAT: a spec by its id, or a commit by SHA, branch or tag."""
    found = [_shown(one, patch=patch, project=project) for one in dict.fromkeys(what)]
    if len(found) == 1:
        return found[0]
    return Outcome(
        {"shown": [one.data for one in found]}, tuple(part for one in found for part in one.parts)
    )


def _shown(what: str, *, patch: bool, project: str | None) -> Outcome:
    from clew.specs.store.store import open_store

    root = Surroundings({"project": project} if project else {}).checkout()
    commit = _commit_outcome(root, what, patch=patch) if root is not None else None
    try:
        is_spec = what in open_store(project=project).snapshot().by_id
    except ClewError:
        is_spec = False
    if commit is not None and not is_spec:
        return commit
    return _spec_outcome(what, project)


def _spec_outcome(what: str, project: str | None) -> Outcome:
    from clew.cli.specs.read import spec_outcome

    try:
        return spec_outcome(what, project)
    except ClewError as error:
        raise NotFound(
            f"Neither a commit nor a spec: {what} ({error.message})",
            "`clew log` and `clew list` show what there is.",
        ) from error


def _commit_outcome(root: Path, what: str, *, patch: bool) -> Outcome | None:
    """A commit as git has it; None where the word names none."""
    from clew.history.lookup import message_lines
    from clew.thread.why.commits import commit_here

    try:
        found = commit_here(root, what)
    except ClewError:
        return None
    files = [{"path": p, "status": s, "old_path": old} for p, s, old in found.files]
    data: dict[str, Any] = {
        "sha": found.sha,
        "subject": found.subject,
        "body": found.body,
        "author": found.author,
        "date": found.date,
        "changed_files": files,
    }
    said = message_lines(found.subject, found.body)
    parts: list[str | Table] = [f"{found.sha[:12]} {Day(found.date)} {found.author}"]
    parts += [f"    {line}" if line else "" for line in said]
    parts += [f"{s} {f'{old} => {p}' if old else p}" for p, s, old in found.files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        parts.append(f"and {len(files) - _MOST_FILES} more files")
    if patch:
        data["patch_text"] = _patch_of(root, found.sha)
        parts.append(data["patch_text"])
    return Outcome(data, tuple(parts))


def _patch_of(root: Path, sha: str) -> str:
    """What a commit changed; a merge, against the branch that it went into."""
    asked = ("log", "-1", "-p", "-m", "-M", "--first-parent", "--format=", *PLAIN_DIFF, sha, "--")
    return run_git(*asked, cwd=root).decode("utf-8", "replace").strip("\n")


@command()
@click.argument("path", required=False, shell_complete=complete_path)
@limit_option(20)
@option("--since", "Earliest date: 2024-01-31, '2 weeks ago'.", metavar="DATE")
@project_option
@database_option
@no_index_option
def log(path: str | None, limit: int, since: str | None, **options: Any) -> Outcome:
    """Show commits, newest first: of PATH across renames, or of the repository."""
    from clew.history.locations import find_location
    from clew.history.questions.file_history import file_history
    from clew.history.reader import looked_up
    from clew.history.search.filters import Filters
    from clew.history.search.search import SearchRequest, page_of_commits

    settings = {name: options[name] for name in ("project", "db") if options[name]}
    settings |= {"index": "no"} if options["no_index"] else {}
    here = Surroundings(settings)
    scope = here.scope(())
    root = here.checkout()
    if root is None or scope is None:
        raise NotFound(
            "There is no git repository here", "Change to one, or use --project DIRECTORY."
        )
    place = find_location(root, path) if path else None
    chosen, earliest = (place.path if place else path), timestamp(since)
    if chosen and not (root / chosen).is_dir():
        found, _ = looked_up(
            Call(settings=settings),
            lambda store: file_history(store, scope[0], chosen, since=earliest, limit=limit),
        )
        return Outcome(found, _log_parts(found["commits"], found["total"]))
    below = (f"{chosen}/**",) if chosen else None
    asked = SearchRequest(None, Filters(repos=tuple(scope), paths=below, since=earliest))
    found, _ = looked_up(
        Call(settings=settings),
        lambda store: page_of_commits(store, asked, limit=limit, cursor=None),
    )
    return Outcome(found, _log_parts(found["commits"], found.get("total") or len(found["commits"])))


def _log_parts(commits: list[dict[str, Any]], total: int) -> tuple[str | Table, ...]:
    from clew.cli.history.search import committed_later

    rows = tuple(
        (Day(one["date"]), one["sha"][:12], one["author"], one["subject"] + committed_later(one))
        for one in commits
    )
    if not rows:
        return ("Nothing found.",)
    more = (f"{len(rows)} of {total}; --limit shows more.",) if total > len(rows) else ()
    return (Hits(("date", "commit", "author", "subject"), rows), *more)
