"""A real identity provider and the official client: from the first 401 to a tool's answer."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import contextmanager
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
)

from clew.team.identity.records import Group
from tests.support.dex import dex_program
from tests.support.postgres import free_port
from tests.support.waiting import wait_until
from tests.team.identity.conftest import running_team
from tests.team.test_visibility import MARK

CALLBACK = "http://127.0.0.1:1/callback"  # nobody listens: the test reads where it is sent
ASKS = ("openid", "email", "groups", "audience:server:client_id:clew")
CONFIG = """
issuer: {url}
storage: {{type: memory}}
web: {{http: "127.0.0.1:{port}"}}
oauth2: {{skipApprovalScreen: true}}
connectors: [{{type: mockCallback, id: mock, name: Mock}}]
staticClients:
- {{id: agents, name: Agents, public: true, redirectURIs: ["{callback}"]}}
- {{id: clew, name: Clew, secret: unused, redirectURIs: ["{callback}"], trustedPeers: [agents]}}
"""


@pytest.fixture(scope="module")
def dex(tmp_path_factory):
    """Dex with one person, of the group `authors`."""
    program, why_none = dex_program()
    if program is None:
        pytest.skip(why_none)
    port, place = free_port(), tmp_path_factory.mktemp("dex")
    url = f"http://127.0.0.1:{port}/dex"
    config = place / "config.yaml"
    config.write_text(CONFIG.format(url=url, port=port, callback=CALLBACK), encoding="utf-8")
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "serve", str(config)], stdout=log, stderr=log, cwd=place
        )
        try:
            wait_until(lambda: process.poll() is not None or _answers(url))
            assert process.poll() is None, (place / "log").read_text()
            yield SimpleNamespace(url=url)
        finally:
            process.terminate()
            process.wait()


def _answers(url):
    try:
        return _get(f"{url}/.well-known/openid-configuration")[0] == 200
    except OSError:
        return False


def _get(url, cookies="", method="GET"):
    """Status, place to go on, and cookies of an answer."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname, parts.port, timeout=120)
    try:
        connection.request(method, url.split(parts.netloc, 1)[1], headers={"Cookie": cookies})
        response = connection.getresponse()
        response.read()
        kept = [word.partition(";")[0] for word in response.headers.get_all("Set-Cookie") or ()]
        return response.status, response.headers.get("Location", ""), "; ".join([cookies, *kept])
    finally:
        connection.close()


class Browser:
    """A person who signs in: follows every redirect until it leads back to the client."""

    def __init__(self):
        self.asked = ""
        self.led_to = ""

    async def open(self, url):
        self.asked, cookies = url, ""
        for _ in range(9):
            _, place, cookies = await asyncio.to_thread(_get, url, cookies)
            if "/approval?" in url and not place:  # the page that asks for consent
                agreed = f"{url}&approval=approve"
                _, place, cookies = await asyncio.to_thread(_get, agreed, cookies, "POST")
            assert place, url
            parts = urlsplit(url)
            url = place if "://" in place else f"{parts.scheme}://{parts.netloc}{place}"
            if url.startswith(CALLBACK):
                self.led_to = url
                return

    async def result(self):
        said = {name: values[0] for name, values in parse_qs(urlsplit(self.led_to).query).items()}
        return AuthorizationCodeResult(
            code=said["code"], state=said.get("state"), iss=said.get("iss")
        )


class Storage:
    """What a client keeps: who it is, and its token."""

    def __init__(self, issuer):
        self.tokens = None
        self.client = OAuthClientInformationFull(
            client_id="agents",
            redirect_uris=[CALLBACK],
            token_endpoint_auth_method="none",
            issuer=issuer,
        )

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


@contextmanager
def signing_in(dex, resource):
    browser, storage = Browser(), Storage(dex.url)
    metadata = OAuthClientMetadata(
        client_name="Agents", redirect_uris=[CALLBACK], token_endpoint_auth_method="none"
    )
    provider = OAuthClientProvider(resource, metadata, storage, browser.open, browser.result)
    yield provider, browser, storage


async def repositories(resource, provider):
    async with (
        create_mcp_http_client(auth=provider) as http,
        Client(streamable_http_client(resource, http_client=http)) as client,
    ):
        found = await client.call_tool("commitmux_list_repos", {})
        return found.content[0].text


def test_a_person_signs_in_and_asks(dex, postgres, tmp_path):
    with running_team(
        postgres, tmp_path, dex, audiences=("clew",), scopes_claim="", asks=ASKS
    ) as team:
        team.records.grant(Group("authors", ("de*",), "read"))
        with signing_in(dex, team.resource) as (provider, browser, storage):
            text = asyncio.run(repositories(team.resource, provider))
            asked = parse_qs(urlsplit(browser.asked).query)
            assert asked["code_challenge_method"] == ["S256"]
            assert asked["resource"] == [team.resource]
            assert set(ASKS) <= set(asked["scope"][0].split())
            assert '"demo"' in text
            assert MARK not in text
            token = storage.tokens.access_token
        assert team.call(token, "chant_add", description="x")[0] == 403
        team.records.grant(Group("authors", ("*",), "write"))
        wait_until(
            lambda: MARK in team.call(token, "commitmux_touches", path_glob="**")[2].decode()
        )
        assert team.call(token, "chant_add", description="Swim")[0] == 200
        assert team.records.audit(1)[0]["person"].startswith("kilgore@kilgore.trout (")
        team.records.set_sign_in(None)


def test_a_token_for_another_client_is_refused(dex, postgres, tmp_path):
    asks = ("openid", "email", "groups")
    with running_team(
        postgres, tmp_path, dex, audiences=("clew",), scopes_claim="", asks=asks
    ) as team:
        with signing_in(dex, team.resource) as (provider, _, storage):
            with pytest.raises(BaseExceptionGroup):
                asyncio.run(repositories(team.resource, provider))
            status, headers, _ = team.send("tools/list", token=storage.tokens.access_token)
        assert status == 401
        assert "aud" in headers["www-authenticate"]
