"""Looking after the repositories of the index: `commitmux add-repo`, `verify`, `gc` and others."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.completion import complete_repo, complete_revision
from clew.cli.core.hints import own_commands
from clew.cli.core.options import database_option, flag, one_repo_option, repeatable
from clew.cli.core.streams import say
from clew.cli.history.sync import open_index
from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.kit.errors import ClewError, Invalid, UsageError
from clew.kit.outcome import Hint, Outcome, Table

_branch_option = click.option(
    "--default-branch", metavar="BRANCH", shell_complete=complete_revision,
    help="Index this branch instead of HEAD.",
)  # fmt: skip


def _chosen(store: HistoryStore, repo: str | None) -> list[Repo]:
    return [store.find_repo(repo)] if repo else store.repos()


@command(name="add-repo")
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--url", metavar="URL", help="Clone from URL; every sync fetches first.")
@click.option("--name", help="Name in the index (default: the directory's name).")
@repeatable("--exclude", "Exclude paths with this prefix.", metavar="PREFIX")
@flag("--all-refs", "Index all local branches and tags.")
@_branch_option
@click.option("--author", metavar="EMAIL", help="Index only this author's commits.")
@database_option
def add_repo(path: Path | None, url: str | None, db: str | None, **settings: Any) -> Outcome:
    """Register a repository. Its history is read by the next sync."""
    from clew.history.sync.clones import add_clone
    from clew.history.sync.repositories import register

    if (path is None) == (url is None):
        raise UsageError("Give a path or --url, one of them", "See: commitmux add-repo --help")
    store = open_index(db, for_writing=True)
    if url is not None:
        repo = add_clone(store, url, announce=say, **settings)
    else:
        assert path is not None
        repo = register(store, path, **settings)
    text = f"Added repo '{repo.name}' at {repo.local_path}"
    return Outcome({"name": repo.name, "local_path": repo.local_path}, (text,))


@command(name="remove-repo")
@click.argument("name", shell_complete=complete_repo)
@database_option
def remove_repo(name: str, db: str | None) -> Outcome:
    """Remove a repository from the index. Only a clone made with --url is deleted from disk."""
    from clew.history.sync.clones import remove_with_clone

    count, clone = remove_with_clone(open_index(db, for_writing=True), name)
    what = f" ({count} commits deleted from index)" if count else ""
    lines = [f"Removed repo '{name}'{what}"]
    if clone is not None:
        lines.append(f"Removed managed clone at {clone}")
    return Outcome({"name": name, "commits": count, "clone": clone and str(clone)}, tuple(lines))


@command(name="update-repo")
@click.argument("name", shell_complete=complete_repo)
@click.option("--name", "new_name", metavar="NAME", help="New name.")
@click.option("--path", metavar="PATH", help="New location of the repository.")
@repeatable("--exclude", "Replace the excluded prefixes.", metavar="PREFIX")
@flag("--clear-exclude", "Reset the excluded prefixes to the defaults.")
@click.option("--author", metavar="EMAIL", help="Index only this author's commits.")
@flag("--no-author", "Index every author's commits.")
@_branch_option
@flag("--no-default-branch", "Index HEAD.")
@click.option(
    "--all-refs/--default-only", default=None, help="Index all branches and tags, or one branch."
)
@database_option
def update_repo(name: str, db: str | None, **options: Any) -> Outcome:
    """Change a repository's name, location, or what is indexed."""
    from clew.history.sync.repositories import update

    change = update(open_index(db, for_writing=True), name, _wanted(options))
    shown = change.repo.name
    lines = [f"Updated repo '{shown}'" + ("" if change.changed else " (no changes)")]
    if change.needs_full_sync:
        lines.append(
            Hint(f"Run 'commitmux sync --full --repo {shown}' to re-read what is indexed.")
        )
    elif {"default_branch", "all_refs", "local_path"} & set(change.changed):
        lines.append("The next sync acts on it.")
    if "name" in change.changed:
        lines.append(Hint(f"If it has hooks, run 'commitmux install-hook {shown}' again."))
    data = {"name": shown, "changed": list(change.changed), "needs_full": change.needs_full_sync}
    return Outcome(data, tuple(lines))


def _wanted(options: dict[str, Any]) -> dict[str, Any]:
    """The settings that were named, under the names that `Repo` has for them."""
    wanted: dict[str, Any] = {}
    for value, off, key in (
        ("exclude", "clear_exclude", "exclude_prefixes"),
        ("author", "no_author", "author_filter"),
        ("default_branch", "no_default_branch", "default_branch"),
    ):
        given = options[value] not in (None, ())
        if given and options[off]:
            raise UsageError(f"--{value} and --{off} exclude each other".replace("_", "-"))
        if given:
            wanted[key] = options[value]
        elif options[off]:
            wanted[key] = () if key == "exclude_prefixes" else None
    named = {"name": "new_name", "local_path": "path", "all_refs": "all_refs"}
    return wanted | {key: options[o] for key, o in named.items() if options[o] is not None}


@command(name="install-hook")
@click.argument("name", shell_complete=complete_repo)
@flag("--remove", "Remove the hooks.")
@database_option
def install_hook(name: str, *, remove: bool, db: str | None) -> Outcome:
    """Sync automatically after every commit, merge and rewrite. Existing hooks are kept."""
    from clew.history.store.engines import is_remote
    from clew.history.sync.hooks import install_hooks, remove_hooks

    store = open_index(db, for_writing=True)
    repo = store.find_repo(name)
    if is_remote(store.address):
        raise Invalid("Hooks are for an index on this machine", "Run 'clew worker --queue sync'.")
    changes = remove_hooks(repo) if remove else install_hooks(repo, store.path)
    data = [{"path": str(change.path), "deed": change.deed} for change in changes]
    lines = [f"{change.path.name}: {change.deed} ({change.path})" for change in changes]
    return Outcome({"name": name, "hooks": data}, tuple(lines))


@command()
@click.option(
    "--interval", type=click.FloatRange(0.1, 86_400), default=5.0, show_default=True,
    metavar="SECONDS", help="Polling interval.",
)  # fmt: skip
@flag("--once", "Check once, then exit.")
@database_option
def watch(interval: float, *, once: bool, db: str | None) -> Outcome:
    """Sync repositories as they change, until Ctrl-C. Clones are fetched every five minutes."""
    from clew.history.sync.watch import Watcher, lock_watching

    store = open_index(db, for_writing=True)
    lock = lock_watching(store)
    watcher = Watcher(store, say)
    failed = 0
    try:
        failed = watcher.look()
        while not once:
            time.sleep(interval)
            failed = watcher.look()
    except KeyboardInterrupt:
        say("")
    finally:
        lock.release()
    data = {"looks": watcher.rounds, "syncs": watcher.syncs, "commits": watcher.commits}
    text = f"Watched: {watcher.commits} commits indexed in {watcher.syncs} syncs."
    return Outcome(data | {"failed": failed}, (text,), exit_code=1 if once and failed else 0)


@command()
@one_repo_option
@click.option(
    "--sample",
    type=click.IntRange(0),
    metavar="N",
    help="Compare a sample of N commits instead of all.",
)
@database_option
def verify(repo: str | None, sample: int | None, db: str | None) -> Outcome:
    """Compare the index with git: commits, messages, files and patches. Exit 1 if they differ."""
    from clew.history.maintenance.verify import verify_repo

    store = open_index(db)
    done: list[dict[str, Any]] = []
    for one in _chosen(store, repo):
        try:
            done.append({**verify_repo(store, one, sample), "error": None})
        except ClewError as error:
            done.append({"name": one.name, "difference_count": 0, "error": error.full_text()})
    bad = any(entry["error"] or entry["difference_count"] for entry in done)
    lines = tuple(_verify_text(entry) for entry in done)
    return Outcome({"repos": done}, lines or ("No repositories indexed.",), exit_code=int(bad))


def _verify_text(entry: dict[str, Any]) -> str:
    name = entry["name"]
    if entry["error"]:
        return f"{name}: cannot be verified: {entry['error']}"
    if not entry["synced"] and not entry["difference_count"]:
        return f"{name}: not synced yet"
    seen = f"{entry['commits']} commits, {entry['compared']} compared with git"
    if not entry["difference_count"]:
        return f"{name}: {seen}, no differences"
    lines = [f"{name}: {seen}, {entry['difference_count']} differences"]
    lines += [f"  {d['kind']} {d['sha'][:12]}: {d['detail']}" for d in entry["differences"]]
    lines.append(own_commands(f"Run 'commitmux sync --full --repo {name}' to read it anew."))
    return "\n".join(lines)


@command()
@flag("--dry-run", "Show what would be removed; remove nothing.")
@click.option(
    "--days", type=click.IntRange(0, 36_500), default=30, show_default=True,
    help="Keep unreachable commits younger than this.",
)  # fmt: skip
@database_option
def gc(days: int, *, dry_run: bool, db: str | None) -> Outcome:
    """Remove unreachable commits and unused data, and compact the file."""
    from dataclasses import asdict

    from clew.history.maintenance.gc import collect

    freed = collect(open_index(db, for_writing=True), days, dry_run=dry_run)
    verb = "Would drop" if dry_run else "Dropped"
    text = (
        f"{verb} {freed.commits} commits, {freed.patches} patches, {freed.paths} paths"
        f" and {freed.people} people."
    )
    if not dry_run:
        text += f" The index went from {freed.bytes_before:,} to {freed.bytes_after:,} bytes."
    return Outcome({**asdict(freed), "dry_run": dry_run}, (text,))


@command()
@one_repo_option
@database_option
def redactions(repo: str | None, db: str | None) -> Outcome:
    """List the secrets that were redacted from the index."""
    store = open_index(db, for_writing=True)
    found = [
        {"repo": one.name, **entry._asdict()}
        for one in _chosen(store, repo)
        for entry in store.redactions(one.repo_id)
    ]
    rows = tuple((e["repo"], e["sha"][:12], e["kind"], e["hint"], e["subject"]) for e in found)
    table = Table(("repo", "commit", "kind", "begins", "subject"), rows)
    return Outcome({"redactions": found}, (table if rows else "Nothing was redacted.",))


@command()
@click.argument("name", shell_complete=complete_repo)
@click.argument("file", type=click.Path(path_type=Path))
@database_option
def snapshot(name: str, file: Path, db: str | None) -> Outcome:
    """Write one repository's index to a file of its own."""
    from clew.history.maintenance.export import write_snapshot

    count = write_snapshot(open_index(db, for_writing=True), name, file)
    text = f"Wrote {count} commits of '{name}' to {file}"
    return Outcome({"name": name, "file": str(file), "commits": count}, (text,))


@command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="Name in this index (default: the name in the snapshot).")
@database_option
def attach(file: Path, name: str | None, db: str | None) -> Outcome:
    """Import a snapshot of a repository's index into this one."""
    from clew.history.maintenance.export import attach_snapshot

    repo, count = attach_snapshot(open_index(db, for_writing=True), file, name)
    lines = [f"Attached repo '{repo.name}' ({count} commits)"]
    if not Path(repo.local_path).is_dir():
        lines.append(Hint(f"Say where it is: commitmux update-repo {repo.name} --path PATH"))
    return Outcome({"name": repo.name, "commits": count}, tuple(lines))
