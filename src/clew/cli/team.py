"""A team on the command line: the database, and what moves in and out of it."""

from __future__ import annotations

from pathlib import Path

import click

from clew.cli.core.app import LazyGroup, command
from clew.cli.core.command_table import TEAM_COMMANDS
from clew.cli.history.sync import open_index
from clew.kit.errors import Invalid
from clew.kit.outcome import Outcome

team = LazyGroup(
    name="team",
    entries=TEAM_COMMANDS,
    help="One Clew for many machines, on PostgreSQL.",
    no_args_is_help=True,
)
team_database_option = click.option(
    "--database", metavar="ADDRESS", help="postgresql://… Also CLEW_DATABASE."
)


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
@click.option("--repo", "repos", multiple=True, metavar="NAME", help="Only this one; repeatable.")
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
