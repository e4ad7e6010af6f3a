"""History on the command line: `commitmux …`, and the same under `clew history …`."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.frame import LazyGroup, command
from clew.cli.tables import HISTORY_COMMANDS
from clew.kit.errors import ClewError, UsageError
from clew.kit.jsontext import pretty
from clew.kit.outcome import Outcome, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.history.model import Repo
    from clew.history.store import HistoryStore

history = LazyGroup(
    name="history",
    entries=HISTORY_COMMANDS,
    help="Git history of many repositories in one index.",
    no_args_is_help=True,
)

_EPOCH = datetime.fromtimestamp(0, UTC)
_TIP = "Tip: run 'commitmux serve' to expose this index via MCP to AI agents."


def _database(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
    return click.option("--db", metavar="FILE", help="The index. Also COMMITMUX_DB.")(function)


def _path(db: str | None) -> Path:
    from clew.history.store import database_path

    return database_path({"db": db} if db else {})


@command()
@_database
def init(db: str | None) -> Outcome:
    """Make the index."""
    from clew.history.store import HistoryStore

    path = _path(db)
    existed = path.exists()
    HistoryStore.create(path).close()
    words = "Database already initialized" if existed else "Initialized commitmux database"
    return Outcome({"db": str(path), "created": not existed}, (f"{words} at {path}",))


@command()
@click.option("--repo", metavar="NAME", help="Only this repository.")
@click.option(
    "--full", is_flag=True, help="Read everything anew; the old stays until that is done."
)
@_database
def sync(repo: str | None, *, full: bool, db: str | None) -> Outcome:
    """Read new commits into the index."""
    from clew.history.store import HistoryStore

    store = HistoryStore.open(_path(db))
    repos = [store.find_repo(repo)] if repo else store.repos()
    done = [_sync_one(store, one, full=full) for one in repos]
    failed = [entry for entry in done if entry["error"]]
    lines = [_sync_line(entry) for entry in done]
    if not failed and any(entry["indexed"] for entry in done):
        lines.append(_TIP)
    return Outcome({"repos": done}, tuple(lines), exit_code=1 if failed else 0)


def _sync_one(store: HistoryStore, repo: Repo, *, full: bool) -> dict[str, Any]:
    from clew.history.syncing import bring_up_to_date

    started = time.monotonic()
    entry: dict[str, Any] = {"name": repo.name, "indexed": 0, "known": 0, "filtered": 0}
    try:
        with _progress(repo.name) as advance:
            result = bring_up_to_date(store, repo, advance, full=full)
    except ClewError as error:
        return {**entry, "problems": [], "error": error.full_text()}
    known = store.commit_count(repo.repo_id) - result.indexed
    return {
        **entry,
        "indexed": result.indexed,
        "known": known,
        "filtered": result.filtered,
        "orphaned": result.orphaned,
        "problems": list(result.problems),
        "seconds": round(time.monotonic() - started, 3),
        "error": None,
    }


def _progress(name: str) -> Any:
    """A bar with rate on a terminal; nothing in a pipe."""
    from contextlib import contextmanager

    @contextmanager
    def shown() -> Any:
        if not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), f"{name}: commits", MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda count: bar.update(task, completed=count)

    return shown()


def _sync_line(entry: dict[str, Any]) -> str:
    if entry["error"]:
        return f"Error syncing '{entry['name']}': {entry['error']}"
    line = (
        f"Syncing '{entry['name']}'... {entry['indexed']} indexed, {entry['known']} already indexed"
    )
    if entry["filtered"]:
        line += f", {entry['filtered']} filtered by author"
    warnings = [f"  warning: {problem}" for problem in entry["problems"]]
    return "\n".join([line, *warnings])


@command()
@_database
def status(db: str | None) -> Outcome:
    """Show what is indexed and how fresh it is."""
    from clew.history.freshness import repo_status
    from clew.history.store import HistoryStore

    store = HistoryStore.read(_path(db))
    repos = [repo_status(store, repo) for repo in store.repos()]
    if not repos:
        return Outcome({"repos": []}, ("No repositories indexed.\nRun: commitmux add-repo <path>",))
    rows = tuple(
        (
            repo["name"],
            str(repo["commit_count"]),
            repo["source"],
            _when(repo["last_synced_at"]),
            "?" if repo["behind"] is None else str(repo["behind"]),
        )
        for repo in repos
    )
    table = Table(("repo", "commits", "source", "last synced", "behind"), rows)
    errors = [f"{r['name']}: {r['last_error']}" for r in repos if r["last_error"]]
    return Outcome({"repos": repos}, (table, *errors))


def _when(seconds: int | None) -> str:
    if seconds is None:
        return "never"
    try:
        return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S UTC")
    except OverflowError:
        return f"@{seconds}"


@command()
@click.argument("query", nargs=-1, required=True)
@click.option("--repo", "repos", multiple=True, metavar="NAME", help="Only these repositories.")
@click.option("--path", "paths", multiple=True, metavar="PART", help="Only commits that touch it.")
@click.option("--since", metavar="DATE", help="Not before: YYYY-MM-DD or a Unix timestamp.")
@click.option("--limit", type=int, default=20, show_default=True, help="At most so many.")
@_database
def search(
    query: tuple[str, ...],
    repos: tuple[str, ...],
    paths: tuple[str, ...],
    since: str | None,
    limit: int,
    db: str | None,
) -> Outcome:
    """Search commits by message, path and what they added or removed."""
    from clew.history.search import search_commits
    from clew.history.store import HistoryStore

    found = search_commits(
        HistoryStore.read(_path(db)),
        " ".join(query),
        since=_timestamp(since),
        repos=list(repos) or None,
        paths=list(paths) or None,
        limit=limit,
    )
    rows = tuple(
        (_when(hit["date"])[:10], hit["repo"], hit["sha"][:12], hit["author"], hit["subject"])
        for hit in found
    )
    table = Table(("date", "repo", "commit", "author", "subject"), rows)
    return Outcome({"commits": found}, (table if rows else "Nothing found.",))


@command()
@click.argument("path_glob", metavar="PATH")
@click.option("--repo", "repos", multiple=True, metavar="NAME", help="Only these repositories.")
@click.option("--since", metavar="DATE", help="Not before: YYYY-MM-DD or a Unix timestamp.")
@click.option("--limit", type=int, default=50, show_default=True, help="At most so many.")
@_database
def touches(
    path_glob: str, repos: tuple[str, ...], since: str | None, limit: int, db: str | None
) -> Outcome:
    """Show commits that touched a path: a part of it, or a glob."""
    from clew.history.store import HistoryStore
    from clew.history.touches import find_touches

    found = find_touches(
        HistoryStore.read(_path(db)),
        path_glob,
        since=_timestamp(since),
        repos=list(repos) or None,
        limit=limit,
    )
    rows = tuple(
        (_when(hit["date"])[:10], hit["repo"], hit["sha"][:12], hit["status"], hit["path"])
        for hit in found
    )
    table = Table(("date", "repo", "commit", "status", "path"), rows)
    return Outcome({"touches": found}, (table if rows else "Nothing found.",))


@command()
@click.argument("repo")
@click.argument("sha")
@_database
def show(repo: str, sha: str, db: str | None) -> Outcome:
    """Show one commit: its message and files."""
    from clew.history.lookup import get_commit
    from clew.history.store import HistoryStore

    found = get_commit(HistoryStore.read(_path(db)), repo, sha)
    return Outcome(found, (pretty(found),))


@command()
@click.argument("repo")
@click.argument("sha")
@click.option("--max-bytes", type=int, help="Cut it there, at a character boundary.")
@_database
def patch(repo: str, sha: str, max_bytes: int | None, db: str | None) -> Outcome:
    """Show one commit's patch."""
    from clew.history.lookup import get_patch
    from clew.history.store import HistoryStore

    found = get_patch(HistoryStore.read(_path(db)), repo, sha, max_bytes)
    return Outcome(found, (found["patch_text"].rstrip("\n"),))


def _timestamp(text: str | None) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.removeprefix("-").isdigit():
        return int(text)
    try:
        date = datetime.fromisoformat(text)
        return int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise UsageError(
            f"Not a date: {text}", "Write YYYY-MM-DD, or seconds since 1970."
        ) from None
