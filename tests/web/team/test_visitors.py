"""What a person may not see is on no page of the board, and what they may not do is refused."""

from __future__ import annotations

import re
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import quote, urlencode

import pytest

from clew.team.identity.records import Group
from clew.team.working.consent import TeamConsent
from clew.team.working.orders import Orders
from clew.web.access import MACHINE
from clew.web.app import ROUTES
from tests.support.http import connection_closing
from tests.support.waiting import wait_until
from tests.team.test_visibility import MARK, SECRET
from tests.web.team.conftest import HTML
from tests.web.test_security import ask

SHA = SECRET[0].meta.sha
SPEC = "2026-11-18-001-abc"
# What stands for a part of an address: what leads to the secret if anything does.
PARTS = {
    "name": "none", "spec_id": SPEC, "path:path": "docs/vision.md", "sha": SHA, "repo:path": "secret",
    "c1": "git", "c2": "merge-up", "c3": "base-branch", "action": "start", "order_id:int": "1",
}  # fmt: skip
QUERIES = (
    {},
    {"q": MARK, "all": "yes"},
    {"q": "alpha", "repo": "secret"},
    {"repo": "secret", "path": f"{MARK}/core.py"},
    {"repo": "demo", "path": f"{MARK}/core.py"},
    {"author": MARK, "path": f"{MARK}/*", "all": "yes"},
    {"why": SHA, "repo": "secret"},
    {"file": f"{MARK}/core.py", "line": "1", "repo": "secret"},
    {"item": MARK, "spec": SPEC},
    {"q": "needle", "all": "yes", "sort": "newest"},
)


def addresses():
    """Every page, with every query."""
    for _, route in ROUTES:
        path = re.sub(r"{([^}]+)}", lambda found: PARTS[found[1]], route.path)
        asks = route.path in ("/history", "/file", "/thread", "/pulse")
        for query in QUERIES if asks else QUERIES[:1]:
            yield route, path + (f"?{urlencode(query)}" if query else "")


GETS = [
    (path, route.path)
    for route, path in addresses()
    if "GET" in route.methods and "live" not in path
]
POSTS = sorted({path for route, path in addresses() if "POST" in route.methods and "?" not in path})


def test_what_is_of_the_machine_is_for_administrators():
    of_machine = {"/commands", "/commands/{c1}/{c2}/{c3}", "/sessions/{name}"}
    assert {route.path for reach, route in ROUTES if reach == MACHINE} == of_machine


@pytest.mark.parametrize("groups", [["makers"], ["guests", "unknown"]], ids=str)
def test_the_rest_is_on_no_page(team_board, groups):
    cookie, _ = team_board.enter(*groups)
    for path, _ in GETS:
        status, headers, body = ask(team_board.server, path, Cookie=cookie, **HTML)
        assert status in (200, 303, 307, 400, 403, 404), (path, status, body)
        said = f"{headers.get('location', '')} {body}"
        for word in (MARK, SHA, "secret"):  # what the visitor said itself may be repeated
            echoes = without_echoes(said, path)
            assert word not in echoes, (path, status, echoes[:3000])
        other = path.replace("secret", "no-such")
        if other != path:
            told = ask(team_board.server, other, Cookie=cookie, **HTML)
            assert (told[0], told[2].replace("no-such", "secret")) == (status, body), path


def without_echoes(text, path):
    """What a page says, without what its own address said."""
    _, _, query = path.partition("?")
    given = [path, path.partition("?")[0], query, *path.partition("?")[0].split("/")[-3:]]
    given += [value for pair in query.split("&") for value in (pair, pair.partition("=")[2])]
    from html import escape
    from urllib.parse import unquote_plus

    words = {
        form
        for one in given
        for form in (one, unquote_plus(one), quote(unquote_plus(one), safe=""))
    }
    for word in sorted((one for one in words if len(one) > 3), key=len, reverse=True):
        text = text.replace(escape(word), "").replace(word, "")
    return text


def test_whoever_may_see_it_does(team_board):
    cookie, _ = team_board.enter("owners")
    shown = {}
    for path, route in GETS:
        status, _, body = ask(team_board.server, path, Cookie=cookie, **HTML)
        shown[route] = shown.get(route, False) or (
            status == 200 and MARK in without_echoes(body, path)
        )
    telling = {"/", "/history", "/commits/{sha}/in/{repo:path}", "/fleet", "/specs/{spec_id}",
               "/documents", "/pulse", "/fleet/orders/{order_id:int}"}  # fmt: skip
    assert {route for route, is_told in shown.items() if is_told} >= telling


def test_readers_of_the_project_see_it_and_change_nothing(team_board):
    cookie, csrf = team_board.enter("readers")
    status, _, body = ask(team_board.server, "/", Cookie=cookie, **HTML)
    assert status == 200
    assert MARK in body
    assert 'action="/specs"' not in body
    for path in POSTS:
        form = {"csrf": csrf, "description": "x", "project": "secret", "hashes": "0"}
        status, _, body = ask(team_board.server, path, "POST", form, Cookie=cookie, **HTML)
        assert status == 403, (path, body)
        assert "may not" in body
    for path in ("/commands", "/commands/git/merge-up/base-branch", "/sessions/claude:1"):
        assert ask(team_board.server, path, Cookie=cookie, **HTML)[0] == 403


def test_nothing_is_changed_by_whoever_may_not(team_board):
    cookie, csrf = team_board.enter("makers")
    for path in POSTS:
        form = {"csrf": csrf, "description": "x", "project": "secret", "hashes": "0"}
        status, _, body = ask(team_board.server, path, "POST", form, Cookie=cookie, **HTML)
        assert status == 403, (path, body)
        other = ask(
            team_board.server, path, "POST", form | {"project": "none"}, Cookie=cookie, **HTML
        )
        assert (status, body) == (other[0], other[2])
    for path in ("/live", f"/specs/{SPEC}/live"):
        assert ask(team_board.server, path, Cookie=cookie)[0] == 403
    assert team_board.records.audit(10) == []


# Sign-in itself.


def test_a_stranger_is_led_to_sign_in_and_sees_nothing(team_board):
    for path, _ in GETS:
        status, headers, body = ask(team_board.server, path, **HTML)
        assert (status, body) == (303, ""), path
        assert headers["location"] == f"/sign-in?back={quote(path, safe='')}"
        assert ask(team_board.server, path)[0] in (401, 429)
    for path in (*POSTS, "/live", "/fleet/live"):
        method = "POST" if path in POSTS else "GET"
        assert ask(team_board.server, path, method, {} if path in POSTS else None)[0] in (401, 429)


def test_a_forged_session_is_none(team_board):
    cookie, _ = team_board.enter("makers")
    owner, _ = team_board.enter("owners")
    name, _, value = cookie.partition("=")
    body, _, seal = value.strip('"').partition(".")
    wider = owner.partition("=")[2].strip('"').partition(".")[0]
    for forged in (f"{wider}.{seal}", body, f"{body}.", f"{body}.{'0' * 64}", "", "x.y"):
        status = ask(team_board.server, "/history", Cookie=f"{name}={forged}", **HTML)[0]
        assert status == 303, forged


def test_what_began_a_sign_in_is_no_session(team_board):
    headers = ask(team_board.server, "/sign-in")[1]
    begun = headers["set-cookie"].partition(";")[0].partition("=")
    name = begun[0].removesuffix("_sign-in")
    assert name != begun[0]
    assert ask(team_board.server, "/history", Cookie=f"{name}={begun[2]}", **HTML)[0] == 303


def test_a_sign_in_that_is_not_this_browsers_is_refused(team_board):
    team_board.issuer.person = {"groups": ["owners"]}
    first = ask(team_board.server, "/sign-in")[1]
    second = ask(team_board.server, "/sign-in")[1]
    kept = second["set-cookie"].partition(";")[0]
    back = team_board.came_back(first["location"])
    for cookie in (kept, "", "clew=x"):
        status, headers, _ = ask(team_board.server, back, Cookie=cookie)
        assert status == 403
        assert "set-cookie" not in headers
    assert ask(team_board.server, "/signed-in?code=x&state=y", Cookie=kept)[0] == 403


@pytest.mark.parametrize(
    "claims",
    [{"aud": "another"}, {"nonce": "another"}, {"exp": 1}, {"iss": "http://127.0.0.1:1"}, {"sub": None}],
    ids=str,
)  # fmt: skip
def test_an_id_token_that_is_not_for_this_sign_in_is_refused(team_board, claims):
    team_board.issuer.person = {"groups": ["owners"], **claims}
    headers = ask(team_board.server, "/sign-in")[1]
    kept = headers["set-cookie"].partition(";")[0]
    status, got, _ = ask(team_board.server, team_board.came_back(headers["location"]), Cookie=kept)
    assert status == 403
    assert "set-cookie" not in got


def test_sign_in_leads_back_to_the_board_only(team_board):
    team_board.issuer.person = {"groups": ["makers"]}
    for back in ("//example.invalid/", "https://example.invalid/", "/\\example.invalid"):
        headers = ask(team_board.server, f"/sign-in?back={quote(back, safe='')}")[1]
        kept = headers["set-cookie"].partition(";")[0]
        got = ask(team_board.server, team_board.came_back(headers["location"]), Cookie=kept)[1]
        assert got["location"].startswith("/")
        assert not got["location"].startswith(("//", "/\\"))


def test_a_withdrawn_grant_closes_pages_and_ends_open_streams(team_board):
    team_board.records.grant(Group("passing", ("*",), "admin"))
    cookie, _ = team_board.enter("passing")
    wait_until(lambda: ask(team_board.server, "/documents", Cookie=cookie, **HTML)[0] == 200)
    with ExitStack() as stack:
        streams = [
            stack.enter_context(opened(team_board, path, cookie))
            for path in ("/live", f"/specs/{SPEC}/live")
        ]
        assert all(b"hello" in stream.readline() for stream in streams)
        team_board.records.withdraw("passing")
        for stream in streams:
            assert MARK.encode() not in stream.read(), "it is read until it ends"
    wait_until(lambda: ask(team_board.server, "/", Cookie=cookie, **HTML)[0] == 303)
    assert MARK not in ask(team_board.server, "/history?all=yes", Cookie=cookie, **HTML)[2]


@contextmanager
def opened(team_board, path, cookie):
    """A stream of events."""
    connection, response = team_board.server.open("GET", None, {"Cookie": cookie}, path)
    with connection_closing(connection):
        assert response.status == 200
        yield response


def test_news_of_the_fleet_are_only_of_what_is_seen(team_board):
    cookie, _ = team_board.enter("makers")
    with (
        opened(team_board, "/fleet/live", cookie) as stream,
        closing(Orders(team_board.address)) as orders,
    ):
        consent = TeamConsent(orders.database)
        asked = consent.commands("secret")[0].hash
        for _ in range(3):
            consent.approve("secret", [asked], "x")
            consent.revoke("secret", [asked])
        assert b"changed" not in read_until(stream, b"still here")
        orders.add("demo", "news-spec", "default")
        assert b"changed" in read_until(stream, b"event: changed")


def read_until(stream, mark):
    """Lines of a stream up to one with this mark."""
    lines = []
    while mark not in (lines[-1] if lines else b""):
        lines.append(stream.readline())
        assert lines[-1], lines
    return b"".join(lines)
