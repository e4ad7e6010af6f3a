"""`clew team`: who may do what, and who did what."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import choice, flag, limit_option, option, repeatable
from clew.cli.team import team_address, team_database_option
from clew.kit.errors import UsageError
from clew.kit.outcome import Outcome, listing

if TYPE_CHECKING:
    from clew.team.identity.records import Records

_NOBODY = "No group has a grant: nobody sees anything."
scope_option = choice(
    "--scope",
    "What may be done at most; each includes those before it.",
    among="read write work admin",
    default="read",
)


@contextmanager
def _records(database: str | None) -> Iterator[Records]:
    from clew.team.identity.records import Records

    with closing(Records(team_address(database))) as found:
        yield found


@contextmanager
def changing(database: str | None, deed: str, **arguments: object) -> Iterator[Records]:
    """The records, with a line in the audit of what is changed."""
    with (
        _records(database) as found,
        found.audited(whoami(), "command line", f"team {deed}", arguments),
    ):
        yield found


def whoami() -> str:
    """Who works at this machine."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


@command(name="sign-in")
@option("--issuer", "Identity provider, as it names itself.", metavar="URL")
@option("--resource", "Address of the server, as people reach it.", metavar="URL")
@repeatable("--audience", "Audience that tokens may have instead of the resource.", metavar="NAME")
@option("--groups-claim", "Claim with groups.", default="groups", metavar="NAME")
@option("--scopes-claim", "Claim with scopes.", default="scope", metavar="NAME")
@flag("--no-scopes", "Let the groups decide, where the provider has no custom scopes.")
@repeatable("--ask", "Scope that clients are told to ask for.", metavar="SCOPE")
@flag("--off", "Let nobody sign in any more; the server's own token counts again.")
@team_database_option
def sign_in(database: str | None, *, off: bool, no_scopes: bool, **given: Any) -> Outcome:
    """Let people sign in by your identity provider, or show how they do."""
    from clew.team.identity.records import SignIn

    if off:
        with changing(database, "sign-in", off=True) as records:
            records.set_sign_in(None)
        return Outcome({"signIn": None}, ("Nobody signs in any more.",))
    if given["issuer"] is None and given["resource"] is None:
        with _records(database) as records:
            found = records.sign_in()
        data = None if found is None else asdict(found)
        lines = [f"{name}: {value}" for name, value in (data or {}).items()]
        return Outcome({"signIn": data}, tuple(lines or ["Sign-in is not set up."]))
    if given["issuer"] is None or given["resource"] is None:
        raise UsageError("Give both --issuer and --resource")
    wanted = SignIn(
        given["issuer"],
        given["resource"],
        given["audience"] or (given["resource"],),
        given["groups_claim"],
        "" if no_scopes else given["scopes_claim"],
        given["ask"],
    )
    with changing(database, "sign-in", **asdict(wanted)) as records:
        records.set_sign_in(wanted)
    text = f"People sign in by {wanted.issuer}. Servers know it from their next start on."
    return Outcome({"signIn": asdict(wanted)}, (text,))


@command()
@click.argument("group")
@click.argument("patterns", nargs=-1, required=True, metavar="REPO...")
@scope_option
@team_database_option
def grant(group: str, patterns: tuple[str, ...], scope: str, database: str | None) -> Outcome:
    """Let a group see repositories, by patterns of their names, and say what it may do.

    It replaces what the group had. A group without a grant sees nothing.
    """
    from clew.team.identity.records import Group

    granted = Group(group, patterns, scope)
    with changing(database, "grant", **asdict(granted)) as records:
        records.grant(granted)
    return Outcome(asdict(granted), (f"{group}: {scope} in {', '.join(patterns)}",))


@command()
@click.argument("group")
@team_database_option
def withdraw(group: str, database: str | None) -> Outcome:
    """Let a group see and do nothing any more."""
    with changing(database, "withdraw", group=group) as records:
        records.withdraw(group)
    return Outcome({"group": group}, (f"{group}: nothing",))


@command()
@team_database_option
def groups(database: str | None) -> Outcome:
    """List groups, what they see and what they may do."""
    with _records(database) as records:
        found = [asdict(one) for one in records.groups().values()]
    return listing("groups", found, "group:name scope repositories:patterns", _NOBODY)


@command(name="create")
@click.argument("name")
@scope_option
@repeatable("--group", "Group for which it acts.", metavar="NAME")
@option("--days", "How long it is valid.", type=float, default=90.0)
@team_database_option
def create_token(
    name: str, scope: str, group: tuple[str, ...], days: float, database: str | None
) -> Outcome:
    """Make a token for a program. It is shown this once."""
    with changing(database, "token create", name=name, scope=scope, groups=group) as records:
        token = records.make_token(name, scope, group, days, whoami())
    return Outcome({"name": name, "token": token}, (token,))


@command(name="list")
@team_database_option
def list_tokens(database: str | None) -> Outcome:
    """List tokens of programs, without what they are."""
    with _records(database) as records:
        found = records.tokens()
    columns = "name scope groups made_by expires_at revoked_at"
    return listing("tokens", found, columns, "There are no tokens.")


@command(name="revoke")
@click.argument("name")
@team_database_option
def revoke_token(name: str, database: str | None) -> Outcome:
    """Accept a program's token no more."""
    with changing(database, "token revoke", name=name) as records:
        records.revoke_token(name)
    return Outcome({"name": name}, (f"{name} is revoked.",))


@command()
@option("--person", "Only what this one did.", metavar="NAME")
@limit_option(50)
@team_database_option
def audit(person: str | None, limit: int, database: str | None) -> Outcome:
    """Show who changed what by which client, the newest first."""
    with _records(database) as records:
        found = records.audit(limit, person)
    columns = "at person client tool outcome arguments"
    return listing("audit", found, columns, "Nothing was changed yet.")
