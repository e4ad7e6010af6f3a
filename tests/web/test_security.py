"""Who gets in, and who may change something."""

from __future__ import annotations

import http.client
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

SPEC = "2026-03-02-001-abc"


@pytest.fixture
def small(shop):
    shop.spec(SPEC, "One spec")
    return shop


def ask(server, path="/", method="GET", body=None, **headers):
    connection = http.client.HTTPConnection(
        server.address.hostname, server.address.port, timeout=120
    )
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
        body = urlencode(body)
    connection.request(method, path, body, sent)
    response = connection.getresponse()
    data = response.read().decode()
    connection.close()
    return response.status, dict(response.headers), data


def token_of(server):
    return parse_qs(urlsplit(server.url).query)["token"][0]


def enter(server):
    """The cookie of a visit, and the secret that its changes carry."""
    status, headers, _ = ask(server, f"/?token={token_of(server)}")
    assert status == 303
    cookie = headers["set-cookie"].partition(";")[0]
    _, _, page = ask(server, "/", Cookie=cookie)
    return cookie, re.search(r'name="csrf" content="([0-9a-f]+)"', page)[1]


def test_the_token_becomes_a_strict_cookie_and_leaves_the_address(small):
    with small.serve() as server:
        status, headers, _ = ask(server, f"/?token={token_of(server)}&q=x")
        assert (status, headers["location"]) == (303, "/?q=x")
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=strict" in headers["set-cookie"]
        assert token_of(server) not in headers["set-cookie"]
        assert ask(server, "/", Cookie=headers["set-cookie"].partition(";")[0])[0] == 200


def test_a_path_in_the_first_address_cannot_lead_elsewhere(small):
    with small.serve() as server:
        for path in ("//example.invalid/", "/%5Cexample.invalid/", "/%2Fexample.invalid"):
            _, headers, _ = ask(server, f"{path}?token={token_of(server)}")
            assert re.match(r"/[^/\\]", headers["location"]), headers["location"]


def test_without_the_cookie_or_with_a_wrong_token_nothing_is_shown(small):
    with small.serve() as server:
        name = enter(server)[0].partition("=")[0]
        for path in ("/", "/specs/x", "/live", "/static/clew.css", "/nothing"):
            status, headers, text = ask(server, path)
            assert (status, "clew web" in text) == (401, True)
            assert "default-src 'none'" in headers["content-security-policy"]
            assert ask(server, f"{path}?token=wrong")[0] == 401
            assert ask(server, path, Cookie=f"{name}=wrong")[0] == 401


def test_a_host_that_is_not_ours_is_refused(small):
    names = ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1:1", "", "a b")
    with small.serve() as server:
        cookie, _ = enter(server)
        for host in names:
            assert ask(server, "/", Host=host, Cookie=cookie)[0] in (400, 403)
            assert ask(server, f"/?token={token_of(server)}", Host=host)[0] in (400, 403)


def test_an_origin_that_is_not_ours_is_refused(small):
    with small.serve() as server:
        cookie, csrf = enter(server)
        given = {"csrf": csrf, "description": "Bad"}
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
            status, _, _ = ask(server, "/specs", "POST", given, Cookie=cookie, Origin=origin)
            assert status == 403
            assert ask(server, "/", Cookie=cookie, Origin=origin)[0] == 403
        assert len(small.store.heads()) == 1


def test_another_site_may_link_to_a_page_and_do_nothing_else(small):
    with small.serve() as server:
        cookie, _ = enter(server)
        cross = {"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}
        assert ask(server, "/", **cross, Sec_Fetch_Mode="navigate")[0] == 200
        assert ask(server, "/", **cross, Sec_Fetch_Mode="no-cors")[0] == 403


def test_a_change_without_the_secret_of_the_page_is_refused(small):
    with small.serve() as server:
        cookie, csrf = enter(server)
        for given in ({}, {"csrf": "0" * 64}, {"csrf": ""}):
            sent = {"description": "Bad", **given}
            assert ask(server, "/specs", "POST", sent, Cookie=cookie)[0] == 403
        assert len(small.store.heads()) == 1
        sent = {"description": "Good", "csrf": csrf}
        assert ask(server, "/specs", "POST", sent, Cookie=cookie)[0] == 303
        assert len(small.store.heads()) == 2


def test_get_never_changes_anything_and_other_methods_are_refused(small):
    before = small.file(SPEC).read_bytes()
    with small.serve() as server:
        cookie, csrf = enter(server)
        for action in ("cancel", "start", "reset"):
            status, _, _ = ask(server, f"/specs/{SPEC}/do/{action}?csrf={csrf}", Cookie=cookie)
            assert status == 405
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            assert ask(server, f"/specs/{SPEC}", method, Cookie=cookie)[0] == 405
    assert small.file(SPEC).read_bytes() == before


def test_read_only_means_it(small):
    before = small.file(SPEC).read_bytes()
    with small.serve("--read-only") as server:
        cookie, csrf = enter(server)
        for path in ("/specs", f"/specs/{SPEC}/do/cancel", f"/specs/{SPEC}/edit"):
            status, _, text = ask(server, path, "POST", {"csrf": csrf}, Cookie=cookie)
            assert (status, "read-only" in text) == (403, True)
        _, _, page = ask(server, f"/specs/{SPEC}", Cookie=cookie)
        assert "<form" not in page
    assert small.file(SPEC).read_bytes() == before


def test_every_answer_has_the_strict_headers(small):
    with small.serve() as server:
        cookie, _ = enter(server)
        for path in ("/", f"/specs/{SPEC}", "/nothing", "/static/clew.js", "/pulse"):
            _, headers, page = ask(server, path, Cookie=cookie)
            policy = headers["content-security-policy"]
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=", page)


def test_files_outside_of_the_static_ones_are_not_served(small):
    with small.serve() as server:
        cookie, _ = enter(server)
        for path in ("/static/../app.py", "/static/%2e%2e%2fapp.py", "/static/app.py", "/static/"):
            assert ask(server, path, Cookie=cookie)[0] == 404


def test_a_body_that_is_too_large_or_no_form_is_refused(small):
    with small.serve() as server:
        cookie, csrf = enter(server)
        big = {"csrf": csrf, "description": "x" * (6 * 1024 * 1024)}
        assert ask(server, "/specs", "POST", big, Cookie=cookie)[0] == 413
        connection = http.client.HTTPConnection(server.address.hostname, server.address.port)
        sent = {"Cookie": cookie, "Content-Type": "application/json", "X-Clew-CSRF": csrf}
        connection.request("POST", "/specs", '{"description": "x"}', sent)
        assert connection.getresponse().status == 415
        connection.close()
