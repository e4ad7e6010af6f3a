"""A team's server with an identity provider: one index with two repositories, and two kinds of people."""

from __future__ import annotations

import subprocess
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from clew.team.history.store import PostgresHistory
from clew.team.identity.records import Group, Records, SignIn
from tests.support.http import face_http, http_server
from tests.support.issuer import running_issuer
from tests.support.postgres import free_port
from tests.team.test_visibility import MARK, fill

REMOTE = f"https://forge.example/{MARK}.git"
GRANTS = (
    Group("makers", ("de*",), "write"),
    Group("owners", ("*",), "admin"),
    Group("guests", (), "read"),
)
SPEC = f"---\ntype: code\nstatus: pending\n---\n# Keep the {MARK}\n\nIt must swim.\n"


class Team:
    """A running server, its issuer, and what is kept in its database."""

    def __init__(self, server, issuer, records, resource, address):
        self.server, self.issuer, self.address = server, issuer, address
        self.records, self.resource = records, resource

    def send(self, method, params=None, *, token=None, headers=None):
        """Status, headers and body of one request."""
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.server.send("POST", body, {**sent, **(headers or {})})

    def call(self, token, tool, **arguments):
        """Status, headers and body of one call."""
        return self.send("tools/call", {"name": tool, "arguments": arguments}, token=token)

    def token(self, **claims):
        return self.issuer.token(self.resource, **claims)


def make_project(place):
    """A checkout of the repository that not everybody may see, with a spec."""
    (place / ".chant/specs").mkdir(parents=True)
    (place / ".chant/config.md").write_text("---\nproject:\n  name: x\n---\n", encoding="utf-8")
    (place / ".chant/specs/2026-11-18-001-abc.md").write_text(SPEC, encoding="utf-8")
    for words in (["init", "-q"], ["remote", "add", "origin", REMOTE]):
        subprocess.run(["git", *words], cwd=place, check=True)
    return place


def filled_place(postgres):
    """The address of an index with two repositories, of which the second is the server's project."""
    address = postgres.new_place()
    with closing(PostgresHistory.create(address)) as store:
        fill(store, with_secret=True)
        store.update_repo(replace(store.find_repo("secret"), remote_url=REMOTE))
    return address


@contextmanager
def running_team(postgres, place, issuer, *options, **sign_in):
    """A server on a database of its own."""
    address = filled_place(postgres)
    port = free_port()
    resource = f"http://127.0.0.1:{port}/mcp"
    with closing(Records(address)) as records:
        for group in GRANTS:
            records.grant(group)
        usual = SignIn(issuer.url, resource, (resource,), "groups", "scope", ())
        records.set_sign_in(replace(usual, **sign_in))
        home = place / "home"
        home.mkdir()
        command = face_http(
            "clew", "serve", "--database", address, "--toolsets", "all", "--workers", "2", "--port", str(port),
            "--project", str(make_project(place / "checkout")), *options,
        )  # fmt: skip
        env = {"HOME": str(home), "CLEW_HOME": str(home / ".clew")}
        with http_server(command, env) as server:
            yield Team(server, issuer, records, resource, address)
    postgres.drop_place(address)


@pytest.fixture(scope="package")
def team(postgres, tmp_path_factory):
    """The team that most tests share."""
    with (
        running_issuer() as issuer,
        running_team(postgres, tmp_path_factory.mktemp("team"), issuer) as found,
    ):
        yield found
