"""Questions to history: who, when, what together. `commitmux …`, and under `clew history …`.

A command asks the question of the tool of the same name, and shows what it found as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import wraps
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import database_option, flag, limit_option, repeatable
from clew.cli.history.sync import open_index, progress_bar, timestamp
from clew.history.store.interface import HistoryStore
from clew.kit.outcome import Outcome, Table
from clew.kit.times import day_text

Found = dict[str, Any]


_repos = repeatable("--repo", "repos", "Only these repositories.", metavar="NAME")
_paths = repeatable("--path", "paths", "Only these paths.", metavar="PART")
_since = click.option(
    "--since", metavar="DATE", help="Earliest date: YYYY-MM-DD or a Unix timestamp."
)
_rev = click.option(
    "--rev", default="HEAD", show_default=True, help="Look at the file as of this commit."
)
_mode = click.option(
    "--mode",
    type=click.Choice(["hybrid", "semantic", "words"]),
    default="hybrid",
    show_default=True,
    help="Search by meaning, by words, or both.",
)


def _question(
    tool: str,
    items: str,
    columns: str,
    *,
    complete: Callable[..., None] | None = None,
    notes: Callable[[Found], Iterable[str]] = lambda _: (),
) -> Callable[[Callable[[], None]], click.Command]:
    """Declare a command: the tool it asks, the items it lists, and a word for each column.

    A column is a key of the items, or `heading:key`. `complete` adds to what was found, `notes`
    are lines below the table.
    """
    shown = [word.rpartition(":")[::2] for word in columns.split()]
    keys = {(heading or key).strip("_").replace("_", " "): key for heading, key in shown}

    def decorate(function: Callable[[], None]) -> click.Command:
        @wraps(function)
        def run(**options: Any) -> Outcome:
            from clew.history.tools.questions import ask

            store = [open_index(options.pop("db"))] if "db" in options else []
            found = ask(tool, _arguments(options), *store)
            if complete is not None:
                complete(found, *store)
            return _listed(found, items, keys, notes(found))

        return command(name=function.__name__.replace("_", "-"))(run)

    return decorate


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Options as questions take them: no names means all, dates are seconds, files are text."""
    arguments = dict(options)
    for key, value in options.items():
        if key == "query":
            arguments[key] = " ".join(value)
        elif key in ("since", "until"):
            arguments[key] = timestamp(value)
        elif isinstance(value, tuple):
            arguments[key] = list(value) or None
        elif hasattr(value, "read"):
            arguments[key] = value.read()
    return arguments


def _listed(found: Found, items: str, columns: dict[str, str], notes: Iterable[str]) -> Outcome:
    """The items as a table: a heading and the key behind it per column."""
    rows = tuple(tuple(_cell(key, item[key]) for key in columns.values()) for item in found[items])
    parts: list[str | Table] = [Table(tuple(columns), rows) if rows else "Nothing found.", *notes]
    if found["total"] > len(rows):
        parts.append(f"{len(rows)} of {found['total']}; --limit shows more.")
    return Outcome(found, tuple(parts))


def _cell(key: str, value: Any) -> str:
    if key in ("date", "last_touch", "last_synced_at"):
        return "never" if value is None else day_text(value)
    if key in ("sha", "tip", "head"):
        return value[:12] if value else "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)


def _with_distance(found: Found, store: HistoryStore) -> None:
    from clew.history.sync.freshness import commits_behind

    for entry in found["repos"]:
        entry["behind"] = commits_behind(store, store.find_repo(entry["name"]))


@_question(
    "list_repos",
    "repos",
    "repo:name commits:commit_count last_synced:last_synced_at indexed:tip now:head stale behind",
    complete=_with_distance,
)
@limit_option(100)
@database_option
def list_repos() -> None:
    """List repositories with what is indexed and whether the index is stale."""


def _first_and_last(found: Found) -> Iterable[str]:
    for word, hit in (("First", found["first"]), ("Last", found["last"])):
        if hit:
            day = day_text(hit["date"])
            yield f"{word}: {day} {hit['repo']} {hit['sha'][:12]} {hit['subject']}"
    if not found["complete"]:
        yield "The search was cut short: narrow it down."


@_question(
    "pickaxe",
    "commits",
    "date repo commit:sha author +:added -:removed subject",
    notes=_first_and_last,
)
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
def pickaxe() -> None:
    """Show commits that added or removed a text, with the first and the last of them."""


@_question(
    "file_history",
    "commits",
    "date commit:sha author status +:added -:removed path from:old_path subject",
)
@click.argument("repo")
@click.argument("path")
@_since
@limit_option(50)
@database_option
def file_history() -> None:
    """Show the commits of one file, across renames."""


@_question("blame", "lines", "from:start to:end commit:sha date author subject")
@click.argument("repo")
@click.argument("path")
@click.option("--start", type=int, help="First line (default: all lines).")
@click.option("--end", type=int, help="Last line (default: the first).")
@_rev
@limit_option(100)
@database_option
def blame() -> None:
    """Show who last touched lines of a file. Reads the repository."""


@_question("line_history", "commits", "date commit:sha author subject")
@click.argument("repo")
@click.argument("path")
@click.argument("start", type=int)
@click.option("--end", type=int, help="Last line (default: the first).")
@_rev
@limit_option(20)
@database_option
def line_history() -> None:
    """Show all commits that changed lines of a file. Reads the repository."""


@_question(
    "owners",
    "owners",
    "author email commits lines last_touch:last_touch share",
    notes=lambda found: [f"Bus factor: {found['bus_factor']}"],
)
@click.argument("repo")
@click.argument("path", default="")
@_since
@limit_option(10)
@database_option
def owners() -> None:
    """Show who knows a file or directory, by the number and age of their changes."""


@_question("co_change", "files", "path commits:support confidence")
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
def co_change() -> None:
    """Show files that usually change together with a file."""


@_question("hotspots", "paths", "repo path commits authors +:added -:removed")
@_repos
@_paths
@_since
@click.option("--until", metavar="DATE", help="Latest date, in the same forms.")
@limit_option(20)
@database_option
def hotspots() -> None:
    """Show the paths that changed most."""


@_question("similar", "commits", "date repo commit:sha author score subject words")
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
def similar() -> None:
    """Show commits similar to a commit or to a diff (--diff FILE, - for standard input)."""


def _issues(found: Found) -> list[str]:
    named = " ".join(issue["ref"] for issue in found["issues"])
    return [f"Issues: {named}"] if named else []


@_question("links", "links", "link:kind commit:sha date subject", notes=_issues)
@click.argument("repo")
@click.argument("sha")
@limit_option(50)
@database_option
def links() -> None:
    """Show reverts, fixes and cherry-picks of and by a commit, and its issues."""


@_question("by_issue", "commits", "date repo commit:sha author closes subject")
@click.argument("issue")
@_repos
@limit_option(50)
@database_option
def by_issue() -> None:
    """Show commits that name an issue: #123, GH-123, ABC-123 or its address."""


@_question("contains", "refs", "ref indexed")
@click.argument("repo")
@click.argument("sha")
@limit_option(100)
@database_option
def contains() -> None:
    """Show which branches and tags contain a commit. Reads the repository."""


def _model(found: Found) -> list[str]:
    """By which model, and what could not be used."""
    model = [f"Model: {found['model']}"] if found["model"] else []
    return [*model, *(f"Left out: {reason}" for reason in found["skipped"])]


@_question(
    "search_semantic",
    "commits",
    "date repo commit:sha author score found_by:found_by subject",
    notes=_model,
)
@click.argument("query", nargs=-1, required=True)
@_mode
@_repos
@_paths
@_since
@limit_option(10)
@database_option
def semantic() -> None:
    """Search commits by a description: by meaning and by words."""


def _with_place(found: Found) -> None:
    for entry in found["sections"]:
        entry["place"] = f"{entry['source']}:{entry['line']}"


@_question(
    "search_memory",
    "sections",
    "project place heading score found_by:found_by",
    complete=_with_place,
    notes=_model,
)
@click.argument("query", nargs=-1, required=True)
@_mode
@click.option("--project", metavar="NAME", help="Only this project's notes.")
@repeatable(
    "--dir", "directories", "Directory of notes; repeatable. Also CLEW_MEMORY.", metavar="DIR"
)
@limit_option(10)
def search_memory() -> None:
    """Search the Markdown notes that agents keep as their memory, section by section."""


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
    from clew.models.embedding import load_embedder

    store = open_index(db)
    chosen = [store.find_repo(repo)] if repo else store.repos()
    embedder = load_embedder()
    from clew.history.semantic.vectors import embed_commits
    from clew.history.store.vectors import VectorFile

    if with_sync is not None:
        with VectorFile.create(store.path) as file:
            file.set_with_sync(is_wanted=with_sync)
    with progress_bar("vectors") as advance:
        done = embed_commits(store, embedder, chosen, advance, rebuild=rebuild)
    dropped = f", {done.dropped} dropped" if done.dropped else ""
    text = f"{done.added} vectors added{dropped}, {done.total} in all ({done.model})."
    return Outcome(asdict(done), (text,))
