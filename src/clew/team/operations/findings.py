"""What `clew team doctor` looks at, from the database to the clones of this machine."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

from clew.history.semantic.nearest import MOST_KEPT
from clew.history.store.vectors import WITH_SYNC
from clew.kit.errors import ClewError
from clew.team.database import migrations, require_schema, schema_version
from clew.team.history.vectors import PostgresVectors
from clew.team.identity.access_tokens import Keys
from clew.team.identity.records import Records
from clew.team.operations.state import TeamState
from clew.team.syncing.worker import cache_directory

_OLDEST_POSTGRES = 150_000
_MOST_SKEW = 5.0
_MOST_LAG = 30.0
_LONGEST_WAIT = 900.0
_OLDEST_SYNC = 3600.0
_LEAST_FREE = 0.1


class Finding(NamedTuple):
    """What was found of one thing."""

    name: str
    status: Literal["ok", "warn", "fail"]
    summary: str
    fix: str | None = None


def findings(address: str, replica: str | None = None) -> list[Finding]:
    """Everything that was looked at; without a database, only that."""
    with closing(TeamState(address)) as state:
        try:
            state.clock()
        except ClewError as error:
            return [Finding("database", "fail", error.message, error.hint)]
        looks: tuple[tuple[str, Callable[[], Finding | Iterator[Finding]]], ...] = (
            ("database", lambda: _version(state)),
            ("schema", lambda: _schema(state)),
            ("clock", lambda: _clock(state)),
            ("vectors", lambda: _vectors(state)),
            ("replica", lambda: _replica(replica)),
            ("queue", lambda: _queue(state)),
            ("leases", lambda: _leases(state)),
            ("index", lambda: _index(state)),
            ("sign-in", lambda: _sign_in(address)),
            ("clones", lambda: _clones(cache_directory(address))),
        )
        found: list[Finding] = []
        for name, look in looks:
            try:
                one = look()
                found += [one] if isinstance(one, Finding) else one
            except ClewError as error:
                found.append(Finding(name, "fail", error.message, error.hint))
                if name == "schema":  # whatever else is asked for may not be there
                    return found
        return found


def _version(state: TeamState) -> Finding:
    number = state.server_version()
    text = f"PostgreSQL {number // 10_000}.{number % 10_000}"
    if number < _OLDEST_POSTGRES:
        return Finding("database", "fail", f"{text} is too old", "Upgrade it to 15 or newer.")
    return Finding("database", "ok", text)


def _schema(state: TeamState) -> Finding:
    require_schema(state.database)
    version, own = schema_version(state.database), len(migrations())
    if version > own:
        text = f"schema {version}; this Clew knows {own}, and may still work with it"
        return Finding("schema", "warn", text, "Upgrade Clew here.")
    return Finding("schema", "ok", f"schema {version}")


def _clock(state: TeamState) -> Finding:
    before = time.time()
    told = state.clock()
    skew = max(before - told, told - time.time(), 0.0)
    if skew > _MOST_SKEW:
        text = f"this machine and the database differ by {skew:.0f} s"
        return Finding("clock", "warn", text, "Let both follow a time server.")
    return Finding("clock", "ok", f"as the database's, within {_MOST_SKEW:g} s")


def _vectors(state: TeamState) -> Finding:
    vectors = PostgresVectors(state.database, None)
    about, count = vectors.about(), vectors.total()
    if "model" not in about:
        return Finding("vectors", "ok", "none; 'commitmux embed --with-sync' makes them")
    by = "pgvector" if vectors.are_compared else "servers"
    text = f"{count} of {about['model']}, compared by {by}"
    if count > MOST_KEPT and not vectors.are_compared:
        fix = "Install pgvector, then 'commitmux embed --rebuild'."
        return Finding("vectors", "warn", f"{text}: each question reads them all", fix)
    if WITH_SYNC not in about:
        fix = "commitmux embed --with-sync"
        return Finding("vectors", "warn", f"{text}; syncs add none", fix)
    return Finding("vectors", "ok", text)


def _replica(address: str | None) -> Finding:
    if not address:
        return Finding("replica", "ok", "none is named (CLEW_DATABASE_READ)")
    try:
        with closing(TeamState(address)) as state:
            require_schema(state.database)
            lag = state.replica_lag()
    except ClewError as error:
        fix = "See that it runs, and that CLEW_DATABASE_READ is right."
        return Finding("replica", "fail", error.message, fix)
    if lag is None:
        return Finding("replica", "warn", "CLEW_DATABASE_READ is no replica", "Name a standby.")
    if lag > _MOST_LAG:
        return Finding("replica", "warn", f"{lag:.0f} s behind", "See what its replay waits for.")
    return Finding("replica", "ok", f"{lag:.0f} s behind")


def _queue(state: TeamState) -> Iterator[Finding]:
    backlog = state.backlog()
    waiting = [one for one in backlog if one.state == "todo"]
    for one in waiting:
        if one.oldest > _LONGEST_WAIT:
            text = f"{one.jobs} of '{one.queue}' wait, the oldest for {one.oldest:.0f} s"
            yield Finding("queue", "warn", text, f"clew worker --queue {one.queue}")
    failed = sum(one.jobs for one in backlog if one.state == "failed")
    text = f"{sum(one.jobs for one in waiting)} wait, {failed} failed"
    yield Finding("queue", "ok", text)


def _leases(state: TeamState) -> Finding:
    orders = state.orders()
    text = f"{orders['leased']} leased, {orders['waiting']} waiting"
    if orders["lost"]:
        lost = f"{text}, {orders['lost']} whose worker is silent"
        return Finding("leases", "warn", lost, "clew worker --queue work")
    return Finding("leases", "ok", text)


def _index(state: TeamState) -> Finding:
    index = state.index()
    text = f"{index.repositories} repositories"
    if index.failing:
        text += f", the last sync of {index.failing} failed"
    if index.never_synced:
        text += f", {index.never_synced} never synced"
    if index.oldest > _OLDEST_SYNC:
        text += f", the oldest sync {index.oldest / 3600:.0f} h ago"
    is_fine = not (index.failing or index.never_synced or index.oldest > _OLDEST_SYNC)
    return Finding(
        "index", "ok" if is_fine else "warn", text, None if is_fine else "clew team sync"
    )


def _sign_in(address: str) -> Iterator[Finding]:
    with closing(Records(address)) as records:
        sign_in, groups = records.sign_in(), records.groups()
    if sign_in is None:
        text = "not set up: whoever has the server's token sees everything"
        fix = "clew team sign-in --issuer URL --resource URL"
        yield Finding("sign-in", "warn", text, fix)
        return
    count = len(Keys(sign_in.issuer).current().keys)
    text = f"{count} keys of {sign_in.issuer}"
    yield Finding("sign-in", "ok" if count else "fail", text, None if count else "See its JWKS.")
    if not groups:
        fix = "clew team grant GROUP REPO"
        yield Finding("groups", "warn", "no group has a grant: nobody sees anything", fix)


def _clones(place: Path) -> Finding:
    there = next(one for one in (place, *place.parents) if one.exists())
    usage = shutil.disk_usage(there)
    text = f"{usage.free / 1e9:.0f} GB free for clones on this machine"
    if not os.access(there, os.W_OK):
        return Finding("clones", "fail", f"{there} cannot be written", f"chmod u+w {there}")
    if usage.free < _LEAST_FREE * usage.total:
        return Finding("clones", "warn", text, "clew worker --disk GIGABYTES")
    return Finding("clones", "ok", text)
