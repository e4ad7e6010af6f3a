"""`python -m benchmarks.team --database postgresql://…`: growth of questions in the database.

The database has to run on this machine: its backends' processor time is read.
"""

from __future__ import annotations

import argparse
import os

import psycopg

from benchmarks.team.commits import fill, schema_address, schema_name
from benchmarks.team.ingest import ingest
from benchmarks.team.questions import measure
from clew.team.history.store import PostgresHistory


def main() -> None:
    """Make what is missing, ask, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--ingest", type=int, metavar="COMMITS", help="only write so many")
    options = parser.parse_args()
    if options.ingest:
        for workers in (1, 2, 4):
            cost = ingest(options.database, workers, options.ingest)
            each = f"worker {cost.worker:.2f} ms, database {cost.database:.2f} ms a commit"
            rate = workers * options.ingest / cost.seconds
            print(f"{workers} workers: {rate:.0f} commits a second; {each}")
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    addresses = {size: schema_address(options.database, size) for size in sizes}
    with psycopg.connect(options.database, autocommit=True) as connection:
        missing = [
            size
            for size in sizes
            if connection.execute(
                "SELECT to_regclass(%s) IS NULL", (f"{schema_name(size)}.commit_words",)
            ).fetchone()
            == (True,)
        ]
        for size in missing:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema_name(size)}".encode())
    for size in missing:
        fill(addresses[size], size)
    for address in addresses.values():
        PostgresHistory.create(address).close()  # made by an older version, maybe
    before = os.getloadavg()[0]
    found = measure(addresses, options.rounds)
    print("| Question | " + " | ".join(f"{size:,} commits" for size in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    for name, by_size in found.items():
        cells = (f"{median:.1f} ({slow:.1f})" for median, slow in by_size.values())
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\nLoad {before:.0f} to {os.getloadavg()[0]:.0f}; {options.rounds} questions each.")


if __name__ == "__main__":
    main()
