"""A team's board: people sign in, and its project is one that not everybody may see."""

from __future__ import annotations

import re
import subprocess
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from clew.team.identity.records import Group, Records, SignIn
from clew.team.working.consent import TeamConsent
from clew.team.working.orders import Orders
from tests.support.client import BIN
from tests.support.http import http_server
from tests.support.issuer import running_issuer
from tests.team.identity.conftest import GRANTS, filled_place, make_project
from tests.team.test_visibility import MARK
from tests.web.test_security import ask

HTML = {"Accept": "text/html"}
READERS = Group("readers", ("secret",), "read")


class TeamBoard:
    """A running board, its identity provider, and what is kept in its database."""

    def __init__(self, server, issuer, records, address, place):
        self.server, self.issuer, self.records = server, issuer, records
        self.address, self.place = address, place

    def enter(self, *groups, **claims):
        """The cookie and the secret of somebody of these groups."""
        self.issuer.person = {"groups": list(groups), **claims}
        status, headers, _ = ask(self.server, "/sign-in?back=/history")
        assert status == 303
        kept = headers["set-cookie"].partition(";")[0]
        status, headers, body = ask(self.server, self.came_back(headers["location"]), Cookie=kept)
        assert (status, headers.get("location")) == (303, "/history"), body
        cookie = next(
            one.partition(";")[0]
            for one in headers["set-cookie"].split(", ")
            if "sign-in" not in one and "=" in one.partition(";")[0]
        )
        page = ask(self.server, "/history", Cookie=cookie, **HTML)[2]
        return cookie, re.search(r'name="csrf" content="([^"]+)"', page)[1]

    def came_back(self, address):
        """The address at the board to which the provider sends a browser."""
        asked = dict(pair.split("=", 1) for pair in urlsplit(address).query.split("&"))
        from urllib.parse import unquote_plus

        back = self.issuer.authorize({key: unquote_plus(value) for key, value in asked.items()})
        return back.removeprefix(self.server.url.rstrip("/"))


@contextmanager
def running_board(address, project, *options, env=None):
    """The board of a project on a team's database."""
    words = (str(BIN / "clew"), "web", "--port", "0", "--project", str(project), *options)
    with http_server((*words, "--database", address), env) as server:
        yield server


def sign_in_by(records, issuer):
    """Let people of a team sign in by a provider."""
    resource = "http://127.0.0.1:1/mcp"
    records.set_sign_in(SignIn(issuer.url, resource, (resource,), "groups", "scope", ()))


@pytest.fixture(scope="package")
def team_board(postgres, tmp_path_factory):
    """The board that most tests share: its project is the repository `secret`."""
    place = tmp_path_factory.mktemp("board")
    address = filled_place(postgres)
    project = make_project(place / f"checkout-{MARK}")
    (project / "docs").mkdir()
    (project / "docs" / "vision.md").write_text(f"# Vision of {MARK}\n", encoding="utf-8")
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", "commit", "-q", "-m", f"Begin {MARK}"], cwd=project, check=True)
    with running_issuer() as issuer, closing(Records(address)) as records:
        for group in (*GRANTS, READERS):
            records.grant(group)
        sign_in_by(records, issuer)
        with closing(Orders(address)) as orders:
            order = orders.add("secret", f"{MARK}-spec", "default")
            orders.add("demo", "plain-spec", "default")
            leased = orders.lease(f"{MARK}-worker", ["default"])
            assert leased.order_id == order.order_id
            orders.log(leased, 1, f"{MARK} says hello\n")
            from clew.specs.query.commands import NamedCommand

            for name in ("secret", "demo"):
                told = NamedCommand(f"echo {MARK if name == 'secret' else 'plain'}", "merge.checks")
                TeamConsent(orders.database).ask(name, [told])
        with running_board(address, project, "--client", "board") as server:
            yield TeamBoard(server, issuer, records, address, project)
    postgres.drop_place(address)
