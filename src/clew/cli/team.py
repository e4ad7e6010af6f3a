"""A team on the command line: the database, and what moves in and out of it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import choice, flag, option, repeatable
from clew.cli.core.streams import say
from clew.cli.history.sync import open_index
from clew.kit.errors import ClewError, Invalid
from clew.kit.outcome import Outcome, Table, listing

if TYPE_CHECKING:
    from clew.team.working.orders import Orders

team_database_option = option("--database", "postgresql://… Also CLEW_DATABASE.", metavar="ADDRESS")


def team_address(database: str | None) -> str:
    """The address of the team's database."""
    from clew.cli.history.sync import history_address
    from clew.history.store.engines import is_remote

    address = history_address(database)
    if not is_remote(address):
        raise Invalid("No database is named", "Set CLEW_DATABASE, or use --database.")
    return address


@command()
@team_database_option
def migrate(database: str | None) -> Outcome:
    """Make the tables, or bring them up to date."""
    from clew.history.store.engines import create_index
    from clew.team.database import migrations

    create_index(team_address(database)).close()
    version = len(migrations())
    return Outcome({"schema": version}, (f"The database has schema {version}.",))


@command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@repeatable("--repo", "repos", "Only this one.", metavar="NAME")
@team_database_option
def import_file(file: Path, repos: tuple[str, ...], database: str | None) -> Outcome:
    """Take the index of a file into the database; what is there of a name is replaced."""
    from clew.team.history.moving import import_index

    done = import_index(open_index(team_address(database), for_writing=True), file, repos)
    data = [{"name": name, "commits": count} for name, count in done]
    return Outcome({"repos": data}, tuple(f"{name}: {count} commits" for name, count in done))


@command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@team_database_option
def export(name: str, file: Path, database: str | None) -> Outcome:
    """Write a repository's index to a file, which any Clew can use by --db."""
    from clew.history.maintenance.export import write_snapshot

    count = write_snapshot(open_index(team_address(database)), name, file)
    text = f"Wrote {count} commits of '{name}' to {file}"
    return Outcome({"name": name, "file": str(file), "commits": count}, (text,))


@command(name="add-repos")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@choice("--forge", "Ask this forge.", among="github gitlab gitea")
@option("--owner", "With --forge: the organisation or group.", metavar="NAME")
@option("--base", "With --forge: address of its API, if it is your own.", metavar="URL")
@team_database_option
def add_repos(
    file: Path | None, forge: str | None, owner: str | None, base: str | None, database: str | None
) -> Outcome:
    """Register the repositories of a file or of a forge's list; workers sync them.

    FILE has an address on each line, after a name or alone. CLEW_FORGE_TOKEN is the forge's token.
    """
    from clew.team.syncing import sources

    if (file is None) == (forge is None or owner is None):
        raise Invalid("Give a file, or --forge with --owner")
    named = (
        sources.named_in_file(file)
        if file is not None
        else sources.named_by_forge(forge or "", owner or "", base)
    )
    store = open_index(team_address(database), for_writing=True)
    added, changed = sources.register_all(store, named)
    text = f"{added} repositories added, {changed} changed, {len(named)} in all."
    return Outcome({"added": added, "changed": changed, "named": len(named)}, (text,))


@command()
@click.argument("names", nargs=-1)
@team_database_option
def sync(names: tuple[str, ...], database: str | None) -> Outcome:
    """Ask the workers for a sync of these repositories, or of all."""
    from clew.team.syncing.worker import queue_every_repository

    count = queue_every_repository(team_address(database), names)
    return Outcome({"queued": count}, (f"{count} syncs queued.",))


@command()
@option("--host", "Address.", metavar="ADDRESS", default="127.0.0.1")
@option("--port", "Port; 0 picks one.", type=int, default=8766)
@option("--secret-file", "File with the secret.", required=True, type=click.Path(path_type=Path))
@team_database_option
def webhooks(host: str, port: int, secret_file: Path, database: str | None) -> Outcome:
    """Take webhooks of GitHub, GitLab and Gitea, and queue a sync for each push."""
    from clew.protocol.http.token import open_listener
    from clew.team.history.store import PostgresHistory
    from clew.team.syncing.sources import text_in
    from clew.team.syncing.webhooks import hook_app, names_of, serve_hooks
    from clew.team.syncing.worker import queue_every_repository

    address = team_address(database)
    secret = text_in(secret_file).strip()
    if not secret:
        raise Invalid(f"{secret_file} is empty", "Write a long random secret into it.")

    def pushed(addresses: frozenset[str]) -> int:
        with PostgresHistory.read(address) as store:
            known = {repo.name: repo.remote_url for repo in store.repos()}
        names = names_of(addresses, known)
        return queue_every_repository(address, tuple(names)) if names else 0

    serve_hooks(open_listener(host, str(port)), host, hook_app(secret, pushed))
    return Outcome({})


@command()
@choice("--queue", "What to do.", among="sync work", default="sync")
@option("--slots", "Jobs at once.", type=click.IntRange(1, 64), default=1)
@option("--agents", "Of work: agents that are here.", default="default", metavar="LIST")
@option(
    "--label", "labels", "Of work: what may be asked of this worker; repeatable.", multiple=True
)
@option(
    "--lease",
    "Of work: seconds until a silent worker is taken for dead.",
    type=click.FloatRange(1, 3600),
    default=30.0,
)
@option("--every", "Of sync: when to look at all.", metavar="CRON", default="*/5 * * * *")
@option("--disk", "Of sync: gigabytes for clones.", type=float, default=20.0)
@option("--clones", "place", "Directory for clones.", type=click.Path(path_type=Path))
@option(
    "--log-format",
    "json: one object on each line of standard error. Also CLEW_LOG_FORMAT.",
    type=click.Choice(["text", "json"]),
    envvar="CLEW_LOG_FORMAT",
)
@flag("--trust-commands", "trusts", "Of work: run a project's commands that nobody approved.")
@flag("--once", "Exit when nothing waits.")
@team_database_option
def worker(queue: str, database: str | None, **options: Any) -> Outcome:
    """Work for a team: any number of these, on any number of machines."""
    if queue == "work" and database is not None:
        _refuse_shown_password(database)
    address = team_address(database)
    open_index(address).repos()  # refuses a database that this program does not fit
    if queue == "work":
        _run_work(address, options)
        return Outcome({})
    from clew.team.syncing.clone_cache import CloneCache
    from clew.team.syncing.worker import SyncWorker, cache_directory

    cache = CloneCache(options["place"] or cache_directory(address), int(options["disk"] * 1e9))
    worker = SyncWorker(address, cache, options["every"], _teller(options), options["slots"])
    worker.run(once=options["once"])
    return Outcome({})


@command()
@click.argument("repo")
@click.argument("specs", nargs=-1, required=True)
@option("--agent", "Agent; as configured if not given.", default="default")
@option("--label", "labels", "Only workers with this label; repeatable.", multiple=True)
@team_database_option
def order(
    repo: str, specs: tuple[str, ...], agent: str, labels: tuple[str, ...], database: str | None
) -> Outcome:
    """Have the fleet work on specs of a repository."""
    open_index(team_address(database)).find_repo(repo)
    with _orders(database) as orders:
        made = [orders.add(repo, spec, agent, labels) for spec in specs]
    data = [{"order": one.order_id, "spec": one.spec_id} for one in made]
    return Outcome({"orders": data}, tuple(f"order {one.order_id}: {one.spec_id}" for one in made))


@command()
@team_database_option
def orders(database: str | None) -> Outcome:
    """List what the fleet works on, and what waits."""
    with _orders(database) as found:
        every = [asdict(one) for one in found.all()]
    columns = "order:order_id project spec:spec_id state turn worker note"
    return listing("orders", every, columns, "There are no orders.")


@command()
@click.argument("order_id", type=int, metavar="ORDER")
@click.argument("request", type=click.Choice(["pause", "takeover", "cancel", "resume"]))
@team_database_option
def ask(order_id: int, request: str, database: str | None) -> Outcome:
    """Ask the worker of an order to pause, hand over or cancel; or let a paused one go on."""
    with _orders(database) as orders:
        orders.resume(order_id) if request == "resume" else orders.ask(order_id, request)
    return Outcome({"order": order_id, "request": request}, (f"order {order_id}: {request}",))


@command()
@click.argument("order_id", type=int, metavar="ORDER")
@flag("-f", "--follow", "Keep on until the order has ended.")
@team_database_option
def logs(order_id: int, *, follow: bool, database: str | None) -> Outcome:
    """Show what an agent of the fleet did and said, from any machine."""
    after, pieces = (0, 0), []
    with _orders(database) as orders:
        for _ in orders.changes(5.0):
            is_over = orders.get(order_id).state not in ("waiting", "leased")
            found = orders.said(order_id, after)
            for turn, number, text in found:
                after = turn, number
                say(text.rstrip("\n")) if follow else pieces.append(text)
            if is_over or not follow:
                break
    return Outcome({"order": order_id, "log": "".join(pieces)}, tuple(pieces))


def fleet_now() -> tuple[list[dict[str, Any]] | None, list[str]]:
    """What a team's workers do now, or why that is not known; nothing where there is no team."""
    from clew.history.store.engines import is_remote

    address = os.environ.get("CLEW_DATABASE", "")
    if not is_remote(address):
        return None, []
    try:
        from clew.team.database import Database
        from clew.team.working.fleet import fleet_runs

        with closing(Database(address, patience=1.0)) as database:
            runs = fleet_runs(database, ended=0)
    except ImportError:
        return None, ["The fleet is not shown: the extra clew[team] is not installed."]
    except ClewError as error:
        return None, [f"The fleet is not shown: {error.message}"]
    return [{**vars(run), "lease": run.lease} for run in runs], []


def fleet_table(runs: list[dict[str, Any]]) -> Table:
    """Runs of the fleet: who works on what, where, since when, and what was said last."""
    columns = "order:order_id project spec:spec_id state worker since lease last_line"
    return Table.of(columns, runs)


@contextmanager
def _orders(database: str | None) -> Iterator[Orders]:
    from clew.team.working.orders import Orders

    with closing(Orders(team_address(database))) as found:
        yield found


def _refuse_shown_password(address: str) -> None:
    """Every process of a machine can read command lines, so an agent can."""
    from psycopg.conninfo import conninfo_to_dict

    if conninfo_to_dict(address).get("password"):
        raise Invalid(
            "Agents of this worker could read the password in --database",
            "Put the address into CLEW_DATABASE, which a worker hides from them.",
        )


def _run_work(address: str, options: dict[str, Any]) -> None:
    from clew.team.history.store import local_place
    from clew.team.working.merging import SECRETS
    from clew.team.working.worker import WorkWorker
    from clew.work.processes.environment import keep_from_neighbours

    name = f"{socket.gethostname()}:{os.getpid()}"
    agents = tuple(options["agents"].split(","))
    place = options["place"] or local_place(address).parent / "work"
    tell = _teller(options)
    keep_from_neighbours()
    for secret in SECRETS[:2]:
        os.environ.pop(secret, None)
    worker = WorkWorker(
        address, name, agents, options["labels"], place, tell, options["lease"], options["trusts"]
    )
    worker.run(options["slots"], once=options["once"])


def _teller(options: dict[str, Any]) -> Callable[[str], None]:
    """How a worker says what it does."""
    if options["log_format"] != "json":
        return say
    from clew.protocol.http.notes import set_format, tell

    set_format("json")
    return tell
