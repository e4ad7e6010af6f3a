"""Who is admitted: tokens of the issuer for this server that are valid now, and nothing else."""

from __future__ import annotations

import json
import time

import pytest
from joserfc.jwk import RSAKey

from clew.kit.errors import ClewError
from clew.team.identity import access_tokens as issuer_module
from clew.team.identity.access_tokens import BadToken, Issuer, check_url
from tests.support.issuer import base64_text, running_issuer
from tests.support.waiting import wait_until

STRANGER = RSAKey.generate_key(2048, private=True, auto_kid=True)
HOUR = 3600


def unsigned(team, alg="none"):
    head = {"alg": alg, "typ": "JWT", "kid": team.issuer.key.kid}
    parts = (json.dumps(head), json.dumps(team.issuer.claims(team.resource)))
    return ".".join([*map(base64_text, parts), ""])


BAD = {
    "another audience": lambda t: t.issuer.token("https://other.example/mcp"),
    "no audience": lambda t: t.token(aud=None),
    "a longer audience": lambda t: t.token(aud=t.resource + "/x"),
    "another issuer": lambda t: t.token(iss="https://other.example"),
    "no issuer": lambda t: t.token(iss=None),
    "expired": lambda t: t.token(exp=int(time.time()) - HOUR),
    "without an end": lambda t: t.token(exp=None),
    "an end that is text": lambda t: t.token(exp="tomorrow"),
    "not yet valid": lambda t: t.token(nbf=int(time.time()) + HOUR),
    "from the future": lambda t: t.token(iat=int(time.time()) + HOUR),
    "without a subject": lambda t: t.token(sub=None),
    "unsigned": unsigned,
    "unsigned in capitals": lambda t: unsigned(t, "NONE"),
    "signed by the public key": lambda t: t.issuer.confused_token(t.resource),
    "an unknown key": lambda t: t.token(key=STRANGER),
    "an unknown key of a known name": lambda t: t.token(
        key=STRANGER, header={"kid": t.issuer.key.kid}
    ),
    "another signature": lambda t: t.token()[:-8] + "AAAAAAAA",
    "unsigned, and says that it is": lambda t: unsigned(t, "RS256"),
    "garbage": lambda _: "a.b.c",
    "no token at all": lambda _: "x",
    "dots": lambda _: "....",
    "a token of a program that is none": lambda _: "clew_" + "A" * 43,
    "huge": lambda t: t.token(note="x" * 20_000),
    "deep": lambda _: base64_text('{"a":' * 3000) + ".e30.AA",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_token_that_proves_nothing_is_refused(team, name):
    status, headers, body = team.send("tools/list", token=BAD[name](team))

    assert status == 401, body
    said = headers["www-authenticate"]
    assert 'error="invalid_token"' in said
    place = team.resource.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
    assert f'resource_metadata="{place}"' in said


@pytest.mark.parametrize("path", ["", "/mcp", "/mcp/"])
def test_everybody_may_know_where_to_sign_in(team, path):
    status, _, body = team.server.send("GET", path=f"/.well-known/oauth-protected-resource{path}")

    assert status == 200
    assert json.loads(body) == {
        "resource": team.resource,
        "authorization_servers": [team.issuer.url],
        "scopes_supported": ["read", "write", "work", "admin"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Clew",
    }


def test_a_new_key_is_found_and_asked_for_seldom(team):
    assert team.send("tools/list", token=team.token())[0] == 200
    team.issuer.rotate()
    before = team.issuer.fetched
    wait_until(lambda: team.send("tools/list", token=team.token())[0] == 200)
    for _ in range(20):
        assert team.send("tools/list", token=team.token(key=STRANGER))[0] in (401, 429)

    assert 1 <= team.issuer.fetched - before <= 3


def test_unknown_keys_are_asked_for_once_in_a_while(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(issuer_module.time, "monotonic", lambda: now[0])
    with running_issuer() as provider:
        judge = Issuer(provider.url, ["here"])
        judge.claims(provider.token("here"))
        for _ in range(5):
            with pytest.raises(BadToken):
                judge.claims(provider.token("here", key=STRANGER))
        assert provider.fetched == 1
        now[0] += 5
        for _ in range(5):
            with pytest.raises(BadToken):
                judge.claims(provider.token("here", key=STRANGER))
        assert provider.fetched == 2


def test_keys_that_were_withdrawn_are_forgotten(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(issuer_module.time, "monotonic", lambda: now[0])
    with running_issuer() as provider:
        judge = Issuer(provider.url, ["here"])
        old = provider.token("here")
        judge.claims(old)
        provider.rotate()
        judge.claims(old)
        now[0] += 1000
        with pytest.raises(BadToken):
            judge.claims(old)


def test_an_issuer_that_does_not_answer_keeps_its_keys_for_a_day(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(issuer_module.time, "monotonic", lambda: now[0])
    with running_issuer() as provider:
        judge = Issuer(provider.url, ["here"])
        token = provider.token("here")
        judge.claims(token)
    now[0] += 1000
    judge.claims(token)
    now[0] += 90_000
    with pytest.raises(ClewError, match="does not answer"):
        judge.claims(token)


@pytest.mark.parametrize("url", ["http://idp.example", "file:///etc/passwd", "https://", "x"])
def test_an_address_that_others_could_answer_is_refused(url):
    with pytest.raises(ClewError):
        check_url(url)
