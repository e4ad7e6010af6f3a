"""Searching history on the command line: `search` and `touches`, with the same filters."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import (
    all_repos_option,
    combined,
    database_option,
    limit_option,
    no_index_option,
    repeatable,
    timestamp,
)
from clew.cli.core.streams import say
from clew.cli.core.surroundings import Surroundings, current_face
from clew.cli.core.terminal import headed, is_terminal, styled, width
from clew.cli.core.tool_commands import command_line
from clew.history.search.filters import Filters
from clew.history.search.query import Term
from clew.history.store.interface import HistoryStore
from clew.kit.call import Call
from clew.kit.outcome import Day, Drawn, Hint, Hits, Outcome, Table
from clew.kit.text.display import clipped, terminal_text
from clew.kit.times import ago_text

_SIGNS = {"added": "+", "removed": "-", "context": " "}
_LEAST_SEEN = 20
_COLOURS = {"added": "green", "removed": "red", "context": None}
_LONGEST_SUBJECT, _LONGEST_LINE = 120, 160
_A_DAY = 86_400
_filters = combined(
    repeatable("--repo", "repos", "Only these repositories.", metavar="NAME"),
    click.option(
        "--author", metavar="PART", help="Only authors whose name or email contains PART."
    ),
    click.option(
        "--ref", metavar="REF", help="Only commits reachable from a branch, tag or commit."
    ),
    click.option(
        "--since", metavar="DATE", help="Earliest date: 2024-01-31, '2 weeks ago', 1700000000."
    ),
    click.option("--until", metavar="DATE", help="Latest date, in the same forms."),
    click.option(
        "--status", metavar="LETTERS", help="Only files with these statuses: A, M, D, R, C."
    ),
    click.option("--cursor", metavar="TEXT", help="Cursor of the previous page."),
    all_repos_option,
    database_option,
    no_index_option,
)


@command()
@click.argument("query", nargs=-1)
@repeatable("--path", "paths", "Only commits that touch a matching path.", metavar="GLOB")
@click.option(
    "--in",
    "place",
    type=click.Choice(["all", "message", "diff"]),
    default="all",
    show_default=True,
    help="Where to search.",
)
@click.option(
    "--sort",
    type=click.Choice(["relevance", "date"]),
    default="relevance",
    show_default=True,
    help="Sort order.",
)
@click.option(
    "--lines",
    type=int,
    default=3,
    show_default=True,
    help="Maximum number of matching lines per commit.",
)
@click.option(
    "--max-chars",
    type=int,
    default=4000,
    show_default=True,
    help="Size up to which matching lines are shown.",
)
@limit_option(20)
@_filters
def search(
    query: tuple[str, ...],
    place: str,
    sort: str,
    lines: int,
    max_chars: int,
    limit: int,
    **options: Any,
) -> Outcome:
    """Search commits by message, path and what they added or removed.

    All words must match. "a phrase", pre*, -not and a OR b work; added:x, removed:x, path:x and
    message:x limit where to search. Without words: all commits that pass the filters, newest
    first.
    """
    from clew.history.search.search import SearchRequest, page_of_commits, unseen_beside

    text = " ".join(query)
    if not query and not any(options[name] for name in _NARROWING):
        raise click.UsageError("Give words to look for, or a filter.")
    with _index(options) as store:
        request = SearchRequest(
            text if query else None, _asked(options, options["paths"]), sort, place
        )
        found = page_of_commits(
            store,
            request,
            lines=lines,
            limit=limit,
            cursor=options["cursor"],
        )
        unseen = unseen_beside(store, found, request)
        found["freshness"] = _freshness(store, options["repos"], unseen)
    shown = _shown_commits(found["commits"], text, max_chars)
    parts = (
        *_some(found),
        *shown,
        *_more(found, "commits"),
        *_hunks(found["commits"], options["paths"], is_here=options["is_here"]),
    )
    return Outcome(found, parts)


def _some(found: dict[str, Any]) -> tuple[str, ...]:
    """What is said of commits that have only some of the words."""
    count = found.get("any_word", 0)
    if not count:
        return ()
    if count == len(found["commits"]):
        return ("No commit has all of the words; these have some.",)
    return (f"The last {count} have only some of the words.",)


def _hunks(hits: list[dict[str, Any]], paths: Sequence[str], *, is_here: bool) -> list[str]:
    """The call that shows the first of them."""
    if not hits:
        return []
    asked = {"repo": hits[0]["repo"], "shas": [hits[0]["sha"]], "paths": list(paths)}
    return [Hint(f"Next: {command_line('commitmux_hunks', asked, is_here=is_here)}")]


@contextmanager
def _index(options: dict[str, Any]) -> Iterator[HistoryStore]:
    """The index, brought up to date with the repositories that are asked about; those of here else."""
    from clew.history.reader import index_for

    settings = {"db": options["db"]} if options["db"] else {}
    settings |= {"index": "no"} if options["no_index"] else {}
    scope = Surroundings(settings).scope(options["repos"], every=options["all_repos"])
    options["is_here"] = not (options["repos"] or options["all_repos"])
    options["repos"] = tuple(scope or ())
    with index_for(Call(settings=settings)) as store:
        yield store


_NARROWING = ("paths", "repos", "author", "ref", "since", "until", "status")


@command()
@click.argument("path_glob", metavar="PATH")
@limit_option(50)
@_filters
def touches(path_glob: str, limit: int, **options: Any) -> Outcome:
    """Show commits that touched a path, given as a part of it or as a glob."""
    from clew.history.questions.file_history import page_of_touches

    with _index(options) as store:
        found = page_of_touches(
            store, path_glob, _asked(options), limit=limit, cursor=options["cursor"]
        )
        found["freshness"] = _freshness(store, options["repos"])
    rows = tuple(
        (
            Day(hit["date"]),
            hit["repo"],
            hit["sha"][:12],
            hit["status"],
            terminal_text(hit["path"]),
        )
        for hit in found["touches"]
    )
    table = Hits(("date", "repo", "commit", "status", "path"), rows)
    parts = (
        table if rows else "Nothing found.",
        *_more(found, "touches"),
        *_hunks(found["touches"], [path_glob], is_here=options["is_here"]),
    )
    return Outcome(found, parts)


def _asked(options: dict[str, Any], paths: tuple[str, ...] = ()) -> Filters:
    from clew.history.search.filters import Filters

    return Filters(
        repos=options["repos"] or None,
        paths=paths or None,
        status=options["status"],
        author=options["author"],
        ref=options["ref"],
        since=timestamp(options["since"]),
        until=timestamp(options["until"]),
    )


def _freshness(
    store: HistoryStore, names: tuple[str, ...], unseen: dict[str, Any] | None = None
) -> dict[str, Any]:
    """How fresh and whole the index is; said on standard error when it is not."""
    from clew.history.sync.freshness import freshness, freshness_lines

    repos = [repo for repo in store.repos() if not names or repo.name in names]
    found = freshness(store, repos) | (unseen or {})
    for line in freshness_lines(found):
        say(line)
    return found


def _more(found: dict[str, Any], items: str) -> tuple[str, ...]:
    if found["next_cursor"] is None:
        return ()
    counted = found.get("total")
    known = f" of {counted}" if counted is not None else ""
    shown = f"{len(found[items])}{known} shown; there are more."
    return (f"{shown} Next page: --cursor {found['next_cursor']}",)


def committed_later(hit: dict[str, Any]) -> str:
    """The day of the commit where it is not the one that its author wrote it: filters go by it."""
    committed = hit.get("committed", hit["date"])
    return f" (committed {Day(committed)})" if abs(committed - hit["date"]) >= _A_DAY else ""


def _shown_commits(commits: list[dict[str, Any]], text: str, most: int) -> tuple[str | Table, ...]:
    """The commits, each with its lines as long as they fit."""
    if not commits:
        return ("Nothing found.",)
    several = len({hit["repo"] for hit in commits}) > 1 or current_face() != "clew"
    heads = [
        (
            Day(hit["date"]),
            hit["repo"] if several else "",
            hit["sha"][:12],
            hit["author"],
            clipped(hit["subject"], _LONGEST_SUBJECT) + committed_later(hit),
        )
        for hit in commits
    ]
    if not any(hit["snippets"] for hit in commits):
        columns = ("date", "repo", "commit", "author", "subject")
        if several:
            return (Hits(columns, tuple(heads)),)
        rows = tuple((day, *rest) for day, _, *rest in heads)
        return (Hits((columns[0], *columns[2:]), rows),)
    from clew.history.search.query import parse_query

    terms = parse_query(text).terms
    blocks: list[str | Table] = []
    room = most - sum(len(" ".join(head)) for head in heads)
    left = 0
    for head, hit in zip(heads, commits, strict=True):
        size = sum(
            len(line["path"]) + len(line["text"][:_LONGEST_LINE]) for line in hit["snippets"]
        )
        is_fitting = size <= room
        room -= size if is_fitting else 0
        left += 0 if is_fitting else len(hit["snippets"])
        lines = [f"    {_shown_line(line, terms)}" for line in hit["snippets"] if is_fitting]
        blocks.append(Drawn("\n".join([_heading(head), *lines])))
    if left:
        blocks.append(f"{left} matching lines left out; --max-chars shows them.")
    return tuple(blocks)


def _heading(head: tuple[Day, str, str, str, str]) -> str:
    """A commit in one line: when, where, which, who, what."""
    day, repo, sha, author, subject = head
    watched = is_terminal(sys.stdout)
    when = ago_text(day.seconds) if watched else day
    cells = (
        (when, {"dim": True}),
        (terminal_text(repo), {"fg": "cyan"}),
        (sha, {"fg": "yellow"}),
        (terminal_text(author) if watched else "", {"dim": True}),
    )
    return headed(cells, terminal_text(subject))


def _shown_line(line: dict[str, Any], terms: tuple[Term, ...]) -> str:
    """A line of a file as `path:number: +text`, with what was looked for made bold."""
    from clew.history.search.snippets import marks

    place = f"{terminal_text(line['path'])}:{line['line']}: {_SIGNS[line['kind']]}"
    text = _seen(line["text"][:_LONGEST_LINE], len(place))
    colour, at, shown = _COLOURS[line["kind"]], 0, ""
    for begin, end in marks(text, terms):
        shown += styled(terminal_text(text[at:begin]), fg=colour)
        shown += styled(terminal_text(text[begin:end]), fg=colour, bold=True, underline=True)
        at = end
    shown += styled(terminal_text(text[at:]), fg=colour)
    return f"{place}{shown}"


def _seen(text: str, before: int) -> str:
    """A line of code as one line of the terminal; as it is in a pipe."""
    if not is_terminal(sys.stdout):
        return text
    plain, room = text.strip(), max(_LEAST_SEEN, width() - before - 5)
    return plain if len(plain) <= room else f"{plain[: room - 1]}…"
