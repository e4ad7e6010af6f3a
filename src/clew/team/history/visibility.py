"""What somebody may see of the index: in every statement, the rest of each table is not there.

A statement names tables; before it is sent, each of these names is given to the visible rows of
that table (`WITH commit_rows AS (SELECT * FROM commit_rows WHERE …)`). So no statement can forget
to ask who sees what, and PostgreSQL plans it as if the condition stood in it. Row level security
would not do: its conditions come before the text index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache

from clew.history.model import PLACE_BITS, first_id, last_id
from clew.kit.errors import Unavailable
from clew.team.database import Database

_RANGES = 40
_EVERYBODY = frozenset({"clew_schema", "vector_about"})  # say nothing of any repository
_BY_COMMIT = {
    "commit_rows": "id",
    "commit_text": "id",
    "file_rows": "commit_id",
    "patch_rows": "patch_id",
    "redactions": "commit_id",
}
_BY_LIST = {"paths": ("path_id", "repo_paths"), "people": ("person_id", "repo_people")}
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
# Ways to a table beside its name: another schema, the system's own tables, a partition.
_DETOUR = re.compile(rf"\.\s*(?:{'|'.join(_BY_COMMIT)})\b|\bpg_|\binformation_schema\b")
_PARTITION = re.compile(rf"(?:{'|'.join(_BY_COMMIT)})_(\d+)")


def only_of(database: Database, visible: frozenset[int]) -> Database:
    """The same connection, on which only these repositories are there."""
    return database.reworded(_reworder(database, visible))


def among(repo_ids: Collection[int], column: str = "c.id") -> str:
    """The condition that a commit is of one of these repositories.

    As ranges where they are few: then only their partitions are looked at.
    """
    numbers = [int(number) for number in repo_ids]
    if not numbers:
        return "FALSE"
    if len(numbers) > _RANGES:
        return f"{column} >> {PLACE_BITS} IN ({', '.join(map(str, numbers))})"
    either = (f"{column} BETWEEN {first_id(one)} AND {last_id(one)}" for one in numbers)
    return f"({' OR '.join(either)})"


def _reworder(database: Database, visible: frozenset[int]) -> Callable[[str], str]:
    seen = _visible_rows(database, visible)

    @lru_cache(maxsize=256)
    def reword(statement: str) -> str:
        said = statement.strip()
        if said.startswith("BEGIN"):
            return said
        first = said.partition(" ")[0]
        others = {int(one) for one in _PARTITION.findall(said)} - visible
        if first not in ("SELECT", "WITH") or _DETOUR.search(said) or others:
            raise Unavailable("Whoever sees a part of the index cannot do this")
        parts = [seen[name] for name in dict.fromkeys(_NAME.findall(said)) if name in seen]
        rest = said.removeprefix("WITH ") if first == "WITH" else said
        if not parts:
            return said
        return f"WITH {', '.join(parts)}{',' if first == 'WITH' else ''} {rest}"

    return reword


def _visible_rows(database: Database, visible: frozenset[int]) -> dict[str, str]:
    """What stands for each table; one of which nothing is known here is empty."""
    rows = database.rows(
        "SELECT c.relname, array_agg(a.attname::text) FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " WHERE c.relnamespace::regnamespace::text = ANY(current_schemas(false))"
        " AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition GROUP BY c.relname"
    )
    return {
        name: f"{name} AS NOT MATERIALIZED (SELECT * FROM {name} WHERE"
        f" {_condition(name, columns, visible)})"
        for name, columns in rows
        if name not in _EVERYBODY
    }


def _condition(table: str, columns: Collection[str], visible: frozenset[int]) -> str:
    numbers = ", ".join(str(int(one)) for one in sorted(visible))
    if table in _BY_COMMIT:
        return among(sorted(visible), _BY_COMMIT[table])
    if table in _BY_LIST and visible:
        key, listed = _BY_LIST[table]
        return (
            f"EXISTS (SELECT FROM {listed} l WHERE l.{key} = {table}.{key}"
            f" AND l.repo_id IN ({numbers}))"
        )
    return f"repo_id IN ({numbers})" if "repo_id" in columns and visible else "FALSE"
