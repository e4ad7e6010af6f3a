"""History on the command line: `commitmux …`, and the same under `clew history …`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from clew.catalog.command_table import HISTORY_COMMANDS
from clew.cli.core.app import LazyGroup, command
from clew.cli.core.options import database_option, flag, one_repo_option, repeatable
from clew.cli.core.surroundings import progress_bar
from clew.cli.core.tool_commands import command_line
from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.history.sync.repositories import without_password
from clew.kit.errors import ClewError
from clew.kit.outcome import Hint, Outcome, Table

history = LazyGroup(
    name="history",
    entries=HISTORY_COMMANDS,
    help="Search the git history of many repositories in one index.",
    no_args_is_help=True,
)

_EPOCH = datetime.fromtimestamp(0, UTC)
_TIP = Hint("Tip: run 'commitmux serve' to expose this index via MCP to AI agents.")


def history_address(db: str | None) -> str:
    """Where the index is."""
    from clew.history.store.engines import index_address
    from clew.program import offer_engines

    offer_engines()
    return index_address({"database": db} if db else {})


def open_index(db: str | None, *, for_writing: bool = False) -> HistoryStore:
    """The index, open until the command ends."""
    from clew.history.store import engines

    address = history_address(db)
    store = engines.open_index(address) if for_writing else engines.read_index(address)
    click.get_current_context().call_on_close(store.close)
    return store


@command()
@database_option
def init(db: str | None) -> Outcome:
    """Create the index."""
    from clew.history.store.engines import create_index, is_remote

    address = history_address(db)
    existed = not is_remote(address) and Path(address).exists()
    create_index(address).close()
    words = "Database already initialized" if existed else "Initialized commitmux database"
    shown = without_password(address) if is_remote(address) else address
    return Outcome({"db": shown, "created": not existed}, (f"{words} at {shown}",))


@command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@one_repo_option
@flag("--full", "Rebuild the index; the old one stays in use until it is done.")
@flag("--may-skip", "Skip if another sync is already waiting; for hooks.")
@database_option
def sync(
    names: tuple[str, ...], repo: str | None, *, full: bool, may_skip: bool, db: str | None
) -> Outcome:
    """Read new commits of all repositories or of these into the index."""
    store = open_index(db, for_writing=True)
    asked = dict.fromkeys([*names, *([repo] if repo else [])])
    repos = [store.find_repo(name) for name in asked] if asked else store.repos()
    done = [_sync_one(store, one, full=full, may_skip=may_skip) for one in repos]
    failed = [entry for entry in done if entry["error"]]
    lines: list[str] = [_sync_line(entry) for entry in done]
    if not failed and any(entry["indexed"] for entry in done):
        lines.append(_TIP)
    return Outcome({"repos": done}, tuple(lines), exit_code=1 if failed else 0)


def _sync_one(store: HistoryStore, repo: Repo, **how: bool) -> dict[str, Any]:
    from clew.history.sync.freshness import limit_lines
    from clew.history.sync.sync import bring_up_to_date

    started = time.monotonic()
    entry: dict[str, Any] = {"name": repo.name, "indexed": 0, "known": 0, "filtered": 0}
    try:
        with progress_bar(repo.name) as advance:
            result = bring_up_to_date(store, repo, advance, **how)
    except ClewError as error:
        return {**entry, "problems": [], "error": error.full_text()}
    known = store.commit_count(repo.repo_id) - result.indexed
    return {
        **entry,
        "indexed": result.indexed,
        "known": known,
        "filtered": result.filtered,
        "orphaned": result.orphaned,
        "problems": [*result.problems, *limit_lines(repo)],
        "seconds": round(time.monotonic() - started, 3),
        "error": None,
    }


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
@database_option
def status(db: str | None) -> Outcome:
    """Show what is indexed and how fresh it is."""
    from clew.history.sync.freshness import limit_lines, repo_status

    store = open_index(db)
    repos = [repo_status(store, repo) for repo in store.repos()]
    if not repos:
        return Outcome(
            {"repos": []}, ("No repositories indexed.", Hint("Run: commitmux add-repo <path>"))
        )
    rows = tuple(
        (
            repo["name"],
            str(repo["commit_count"]),
            repo["source"],
            when(repo["last_synced_at"]),
            "?" if repo["behind"] is None else str(repo["behind"]),
        )
        for repo in repos
    )
    table = Table(("repo", "commits", "source", "last synced", "behind"), rows)
    errors = [
        f"{r['name']}: {line}" for r in repos for line in (r["last_error"] or "").splitlines()
    ]
    lacking = [f"{r.name}: {line}" for r in store.repos() for line in limit_lines(r)]
    return Outcome({"repos": repos}, (table, *errors, *lacking))


def when(seconds: int | None) -> str:
    """A time as people read it."""
    if seconds is None:
        return "never"
    try:
        return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S UTC")
    except OverflowError:
        return f"@{seconds}"


@command()
@click.argument("repo")
@click.argument("shas", nargs=-1, required=True)
@database_option
def show(repo: str, shas: tuple[str, ...], db: str | None) -> Outcome:
    """Show commits: their messages and files."""
    from clew.history.lookup import get_commit

    store = open_index(db)
    found = [get_commit(store, repo, sha) for sha in dict.fromkeys(shas)]
    parts = ["\n".join(_commit_lines(commit)) for commit in found]
    following = {"repo": repo, "shas": [commit["sha"] for commit in found]}
    parts.append(Hint(f"Next: {command_line('commitmux_hunks', following)}"))
    return Outcome(found[0] if len(found) == 1 else {"commits": found}, tuple(parts))


def _commit_lines(commit: dict[str, Any]) -> Iterator[str]:
    from clew.history.lookup import message_lines

    yield f"{commit['sha']} {when(commit['date'])[:10]} {commit['author']}"
    yield from (f"    {line}" for line in message_lines(commit["subject"], commit["body"]))
    for file in commit["changed_files"]:
        old = f"{file['old_path']} => " if file["old_path"] else ""
        yield f"{file['status']} {old}{file['path']}"


@command()
@click.argument("repo")
@click.argument("shas", nargs=-1, required=True)
@repeatable("--path", "paths", "Only files that match.", metavar="GLOB")
@flag("--code-only", "Leave out tests, prose and generated files.")
@click.option("--hunk", "text", metavar="TEXT", help="Only hunks that change this text.")
@click.option(
    "--max-bytes", type=int, help="Maximum number of bytes; a filtered patch is cut between hunks."
)
@database_option
def patch(
    repo: str, shas: tuple[str, ...], max_bytes: int | None, db: str | None, **only: Any
) -> Outcome:
    """Show patches: whole, or the hunks that pass the filters."""
    from clew.history.lookup import get_patch
    from clew.history.questions.hunks import chosen_patch

    store = open_index(db)
    asked = {name: value for name, value in only.items() if value}
    if asked or len(shas) > 1:
        found = [chosen_patch(store, repo, sha, max_chars=max_bytes, **asked) for sha in shas]
    else:
        found = [get_patch(store, repo, shas[0], max_bytes)]
    parts: list[str] = []
    for one in found:
        parts += [f"commit {one['sha']}"] if len(found) > 1 else []
        parts.append(one["patch_text"].rstrip("\n") or "Nothing found.")
        if one.get("left_out"):
            parts.append(f"{one['left_out']} more hunks; --max-bytes shows them.")
    return Outcome(found[0] if len(found) == 1 else {"patches": found}, tuple(parts))


@command()
@one_repo_option
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

    store = open_index(db, for_writing=True)
    chosen = [store.find_repo(repo)] if repo else store.repos()
    embedder = load_embedder()
    from clew.history.semantic.vectors import embed_commits

    if with_sync is not None:
        with store.new_vectors() as vectors:
            vectors.set_with_sync(is_wanted=with_sync)
    with progress_bar("vectors") as advance:
        done = embed_commits(store, embedder, chosen, advance, rebuild=rebuild)
    dropped = f", {done.dropped} dropped" if done.dropped else ""
    text = f"{done.added} vectors added{dropped}, {done.total} in all ({done.model})."
    return Outcome(asdict(done), (text,))
