"""Questions to history: who, when, what together. `commitmux …`, and under `clew history …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import database_option, flag, limit_option, repeatable
from clew.cli.history.sync import timestamp
from clew.kit.outcome import Outcome, Table
from clew.kit.times import day_text

if TYPE_CHECKING:
    from clew.history.store.interface import HistoryStore

_repos = repeatable("--repo", "repos", "Only these repositories.", metavar="NAME")
_paths = repeatable("--path", "paths", "Only these paths.", metavar="PART")
_since = click.option(
    "--since", metavar="DATE", help="Earliest date: YYYY-MM-DD or a Unix timestamp."
)
_rev = click.option(
    "--rev", default="HEAD", show_default=True, help="Look at the file as of this commit."
)


def _opened(db: str | None) -> HistoryStore:
    from clew.history.store.sqlite import SqliteHistory, database_path

    return SqliteHistory.read(database_path({"db": db} if db else {}))


def _day(seconds: int | None) -> str:
    return "never" if seconds is None else day_text(seconds)


def _told(found: dict[str, Any], items: str, columns: dict[str, str], *more: str) -> Outcome:
    """The items as a table: a heading and the key behind it per column."""
    rows = tuple(tuple(_cell(key, item[key]) for key in columns.values()) for item in found[items])
    parts: list[str | Table] = [Table(tuple(columns), rows) if rows else "Nothing found.", *more]
    if found["total"] > len(rows):
        parts.append(f"{len(rows)} of {found['total']}; --limit shows more.")
    return Outcome(found, tuple(parts))


def _cell(key: str, value: Any) -> str:
    if key in ("date", "last_touch", "last_synced_at"):
        return _day(value)
    if key in ("sha", "tip", "head"):
        return value[:12] if value else "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)


_COMMIT = {"date": "date", "repo": "repo", "commit": "sha", "author": "author"}


@command(name="list-repos")
@limit_option(100)
@database_option
def list_repos(limit: int, db: str | None) -> Outcome:
    """List repositories with what is indexed and whether the index is stale."""
    from clew.history.sync.freshness import commits_behind
    from clew.history.sync.freshness import list_repos as find

    store = _opened(db)
    found = find(store, limit=limit)
    for entry in found["repos"]:
        entry["behind"] = commits_behind(store, store.find_repo(entry["name"]))
    columns = {"repo": "name", "commits": "commit_count", "last synced": "last_synced_at"}
    places = {"indexed": "tip", "now": "head", "stale": "stale", "behind": "behind"}
    return _told(found, "repos", {**columns, **places})


@command()
@click.argument("text")
@flag("--regex", "TEXT is a regular expression.")
@click.option(
    "--direction",
    type=click.Choice(["both", "added", "removed"]),
    default="both",
    show_default=True,
    help="Which changes to include.",
)
@_repos
@_paths
@_since
@limit_option(20)
@database_option
def pickaxe(text: str, db: str | None, **options: Any) -> Outcome:
    """Show commits that added or removed a text, with the first and the last of them."""
    from clew.history.questions.pickaxe import find_changes

    found = find_changes(_opened(db), text, **_meant(options))
    ends = [
        f"{word}: {_day(hit['date'])} {hit['repo']} {hit['sha'][:12]} {hit['subject']}"
        for word, hit in (("First", found["first"]), ("Last", found["last"]))
        if hit
    ]
    cut = () if found["complete"] else ("The search was cut short: narrow it down.",)
    columns = {**_COMMIT, "+": "added", "-": "removed", "subject": "subject"}
    return _told(found, "commits", columns, *ends, *cut)


def _meant(options: dict[str, Any]) -> dict[str, Any]:
    """Options as the room takes them: no names means all, dates are seconds."""
    meant = dict(options)
    for key, value in options.items():
        if isinstance(value, tuple):
            meant[key] = list(value) or None
        elif key in ("since", "until"):
            meant[key] = timestamp(value)
    return meant


@command(name="file-history")
@click.argument("repo")
@click.argument("path")
@_since
@limit_option(50)
@database_option
def file_history(repo: str, path: str, db: str | None, **options: Any) -> Outcome:
    """Show the commits of one file, across renames."""
    from clew.history.questions.file_history import file_history as find

    found = find(_opened(db), repo, path, **_meant(options))
    changes = {"status": "status", "+": "added", "-": "removed", "path": "path", "from": "old_path"}
    columns = {"date": "date", "commit": "sha", "author": "author", **changes, "subject": "subject"}
    return _told(found, "commits", columns)


@command()
@click.argument("repo")
@click.argument("path")
@click.option("--start", type=int, help="First line (default: all lines).")
@click.option("--end", type=int, help="Last line (default: the first).")
@_rev
@limit_option(100)
@database_option
def blame(repo: str, path: str, db: str | None, **options: Any) -> Outcome:
    """Show who last touched lines of a file. Reads the repository."""
    from clew.history.questions.blame import blame as find

    found = find(_opened(db), repo, path, **options)
    columns = {"from": "start", "to": "end", "commit": "sha", "date": "date", "author": "author"}
    return _told(found, "lines", {**columns, "subject": "subject"})


@command(name="line-history")
@click.argument("repo")
@click.argument("path")
@click.argument("start", type=int)
@click.option("--end", type=int, help="Last line (default: the first).")
@_rev
@limit_option(20)
@database_option
def line_history(repo: str, path: str, start: int, db: str | None, **options: Any) -> Outcome:
    """Show all commits that changed lines of a file. Reads the repository."""
    from clew.history.questions.blame import line_history as find

    found = find(_opened(db), repo, path, start, **options)
    columns = {"date": "date", "commit": "sha", "author": "author", "subject": "subject"}
    return _told(found, "commits", columns)


@command()
@click.argument("repo")
@click.argument("path", default="")
@_since
@limit_option(10)
@database_option
def owners(repo: str, path: str, db: str | None, **options: Any) -> Outcome:
    """Show who knows a file or directory, by the number and age of their changes."""
    from clew.history.questions.owners import owners as find

    found = find(_opened(db), repo, path, **_meant(options))
    columns = {"author": "author", "email": "email", "commits": "commits", "lines": "lines"}
    summary = f"Bus factor: {found['bus_factor']}"
    return _told(
        found, "owners", {**columns, "last touch": "last_touch", "share": "share"}, summary
    )


@command(name="co-change")
@click.argument("repo")
@click.argument("path")
@click.option(
    "--min-support",
    type=int,
    default=2,
    show_default=True,
    help="Minimum number of common commits.",
)
@_since
@limit_option(20)
@database_option
def co_change(repo: str, path: str, db: str | None, **options: Any) -> Outcome:
    """Show files that usually change together with a file."""
    from clew.history.questions.cochange import co_change as find

    found = find(_opened(db), repo, path, **_meant(options))
    columns = {"path": "path", "commits": "support", "confidence": "confidence"}
    return _told(found, "files", columns)


@command()
@_repos
@_paths
@_since
@click.option("--until", metavar="DATE", help="Latest date, in the same forms.")
@limit_option(20)
@database_option
def hotspots(db: str | None, **options: Any) -> Outcome:
    """Show the paths that changed most."""
    from clew.history.questions.hotspots import hotspots as find

    found = find(_opened(db), **_meant(options))
    counts = {"commits": "commits", "authors": "authors", "+": "added", "-": "removed"}
    return _told(found, "paths", {"repo": "repo", "path": "path", **counts})


@command()
@click.argument("repo", required=False)
@click.argument("sha", required=False)
@click.option(
    "--diff",
    type=click.File(encoding="utf-8", errors="replace"),
    help="Compare with this diff instead of a commit.",
)
@repeatable("--in", "repos", "Only these repositories.", metavar="NAME")
@limit_option(10)
@database_option
def similar(db: str | None, diff: Any, **options: Any) -> Outcome:
    """Show commits similar to a commit or to a diff (--diff FILE, - for standard input)."""
    from clew.history.questions.similar import similar as find

    text = None if diff is None else diff.read()
    found = find(_opened(db), diff=text, **_meant(options))
    columns = {**_COMMIT, "score": "score", "subject": "subject", "words": "words"}
    return _told(found, "commits", columns)


@command()
@click.argument("repo")
@click.argument("sha")
@limit_option(50)
@database_option
def links(repo: str, sha: str, limit: int, db: str | None) -> Outcome:
    """Show reverts, fixes and cherry-picks of and by a commit, and its issues."""
    from clew.history.questions.links import commit_links

    found = commit_links(_opened(db), repo, sha, limit=limit)
    issues = " ".join(issue["ref"] for issue in found["issues"])
    columns = {"link": "kind", "commit": "sha", "date": "date", "subject": "subject"}
    return _told(found, "links", columns, *([f"Issues: {issues}"] if issues else []))


@command(name="by-issue")
@click.argument("issue")
@_repos
@limit_option(50)
@database_option
def by_issue(issue: str, db: str | None, **options: Any) -> Outcome:
    """Show commits that name an issue: #123, GH-123, ABC-123 or its address."""
    from clew.history.questions.issues import by_issue as find

    found = find(_opened(db), issue, **_meant(options))
    return _told(found, "commits", {**_COMMIT, "closes": "closes", "subject": "subject"})


@command()
@click.argument("repo")
@click.argument("sha")
@limit_option(100)
@database_option
def contains(repo: str, sha: str, limit: int, db: str | None) -> Outcome:
    """Show which branches and tags contain a commit. Reads the repository."""
    from clew.history.questions.contains import contains as find

    found = find(_opened(db), repo, sha, limit=limit)
    return _told(found, "refs", {"ref": "ref", "indexed": "indexed"})


_mode = click.option(
    "--mode",
    type=click.Choice(["hybrid", "semantic", "words"]),
    default="hybrid",
    show_default=True,
    help="Search by meaning, by words, or both.",
)


@command()
@click.argument("query", nargs=-1, required=True)
@_mode
@_repos
@_paths
@_since
@limit_option(10)
@database_option
def semantic(query: tuple[str, ...], db: str | None, **options: Any) -> Outcome:
    """Search commits by a description: by meaning and by words."""
    from clew.history.semantic.search import search_semantic as find

    found = find(_opened(db), " ".join(query), **_meant(options))
    columns = {**_COMMIT, "score": "score", "found by": "found_by", "subject": "subject"}
    return _told(found, "commits", columns, *_how(found))


def _how(found: dict[str, Any]) -> tuple[str, ...]:
    """By which model, and what could not be used."""
    model = (f"Model: {found['model']}",) if found["model"] else ()
    return (*model, *(f"Left out: {reason}" for reason in found["skipped"]))


@command(name="search-memory")
@click.argument("query", nargs=-1, required=True)
@_mode
@click.option("--project", metavar="NAME", help="Only this project's notes.")
@repeatable(
    "--dir", "directories", "Directory of notes; repeatable. Also CLEW_MEMORY.", metavar="DIR"
)
@limit_option(10)
def search_memory(query: tuple[str, ...], **options: Any) -> Outcome:
    """Search the Markdown notes that agents keep as their memory, section by section."""
    from clew.history.semantic.notes import search_memory as find

    found = find(" ".join(query), **_meant(options))
    for entry in found["sections"]:
        entry["place"] = f"{entry['source']}:{entry['line']}"
    columns = {"project": "project", "place": "place", "heading": "heading", "score": "score"}
    return _told(found, "sections", {**columns, "found by": "found_by"}, *_how(found))


@command()
@click.option("--repo", metavar="NAME", help="Only this repository.")
@flag("--rebuild", "Delete all vectors first; needed after a change of model.")
@click.option(
    "--with-sync/--without-sync",
    "with_sync",
    default=None,
    help="Embed new commits with every sync from now on.",
)
@database_option
def embed(repo: str | None, *, rebuild: bool, with_sync: bool | None, db: str | None) -> Outcome:
    """Compute the vectors for semantic search, for commits that have none yet."""
    from clew.cli.history.sync import _progress
    from clew.models.embedding import load_embedder

    store = _opened(db)
    chosen = [store.find_repo(repo)] if repo else store.repos()
    embedder = load_embedder()
    from clew.history.semantic.vectors import embed_commits
    from clew.history.store.vectors import VectorFile

    if with_sync is not None:
        with VectorFile.create(store.path) as file:
            file.set_with_sync(is_wanted=with_sync)
    with _progress("vectors") as advance:
        done = embed_commits(store, embedder, chosen, advance, rebuild=rebuild)
    data = {"model": done.model, "added": done.added, "dropped": done.dropped, "total": done.total}
    dropped = f", {done.dropped} dropped" if done.dropped else ""
    return Outcome(
        data, (f"{done.added} vectors added{dropped}, {done.total} in all ({done.model}).",)
    )
