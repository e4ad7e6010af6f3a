"""Legacy and modern requests in one process, each answered in its own shape."""

from __future__ import annotations

import pytest

from clew import __version__
from tests.support.client import (
    CHANT,
    CLARIAD,
    CLEW,
    COMMITMUX,
    EVERYTHING,
    MODERN_META,
    StdioServer,
    modern,
    pipe,
)

SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@pytest.mark.parametrize(
    ("command", "name"),
    [(CHANT, "chant"), (COMMITMUX, "commitmux")],
)
@pytest.mark.parametrize("params", [None, {}])
def test_the_faces_introduce_themselves_as_documented(command, name, params):
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    (answer,) = pipe(command, request if params is None else {**request, "params": params})
    assert answer["result"] == {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": name, "version": __version__},
    }


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (7, "2025-11-25"),
    ],
)
def test_initialize_echoes_the_versions_it_knows(asked, answered):
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x"}}
    (answer,) = pipe(CLEW, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    assert answer["result"]["protocolVersion"] == answered
    assert answer["result"]["serverInfo"] == {"name": "clew", "version": __version__}
    assert "clew_guide" in answer["result"]["instructions"]


def test_discover_tells_versions_capabilities_and_identity():
    for params in (modern(), None, {}):
        request = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
        (answer,) = pipe(CLARIAD, request if params is None else {**request, "params": params})
        result = answer["result"]
        assert result["resultType"] == "complete"
        assert result["supportedVersions"] == ["2026-07-28"]
        assert result["capabilities"] == {
            "tools": {},
            "prompts": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        }
        assert result["_meta"][SERVER_INFO] == {"name": "clariad", "version": __version__}
        assert result["ttlMs"] > 0
        assert result["cacheScope"] == "public"


@pytest.mark.parametrize(
    ("method", "params", "scope"),
    [
        ("tools/list", {}, "public"),
        ("prompts/list", {}, "public"),
        ("resources/list", {}, "public"),
        ("resources/templates/list", {}, "public"),
        ("resources/read", {"uri": "test://static-text"}, "private"),
    ],
)
def test_modern_results_are_stamped_and_legacy_ones_are_not(method, params, scope):
    with StdioServer(EVERYTHING) as server:
        old = server.result(method, params)
        new = server.result(method, modern(**params))
    assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & old.keys()
    assert new["resultType"] == "complete"
    assert new["cacheScope"] == scope
    assert new["ttlMs"] >= 0
    assert new["_meta"][SERVER_INFO]["name"] == "clew-conformance"
    kept = {key: new[key] for key in old}
    assert kept == old


def test_both_eras_are_served_in_any_order():
    with StdioServer(EVERYTHING) as server:
        assert "resultType" in server.result("tools/list", modern())
        server.result("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        assert "resultType" in server.result("tools/list", modern())
        assert "resultType" not in server.result("tools/list")
        assert server.result("ping") == {}


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "list_tools"])
def test_methods_that_the_modern_era_removed_are_not_found_there(method):
    (answer,) = pipe(EVERYTHING, {"jsonrpc": "2.0", "id": 1, "method": method, "params": modern()})
    assert answer["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["subscriptions/listen", "tasks/get"])
def test_methods_of_the_modern_era_are_not_found_in_the_legacy_one(method):
    (answer,) = pipe(EVERYTHING, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})
    assert answer["error"]["code"] == -32601


def test_an_unknown_modern_version_is_refused_with_what_is_supported():
    meta = {**MODERN_META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    (answer,) = pipe(CHANT, request)
    assert answer["error"]["code"] == -32022
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


def test_modern_metadata_must_be_whole():
    meta = dict(MODERN_META)
    del meta["io.modelcontextprotocol/clientCapabilities"]
    bad_level = {**MODERN_META, "io.modelcontextprotocol/logLevel": "loud"}
    for wrong in (meta, bad_level):
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": wrong}}
        (answer,) = pipe(CHANT, request)
        assert answer["error"]["code"] == -32602


def test_features_that_a_service_lacks_are_not_found():
    for method in ("prompts/list", "resources/list", "completion/complete", "logging/setLevel"):
        (answer,) = pipe(CHANT, {"jsonrpc": "2.0", "id": 1, "method": method})
        assert answer["error"]["code"] == -32601


def test_a_missing_resource_has_the_code_of_its_era():
    params = {"uri": "test://nowhere"}
    with StdioServer(EVERYTHING) as server:
        old = server.ask("resources/read", params)["error"]
        new = server.ask("resources/read", modern(**params))["error"]
    assert (old["code"], old["data"]) == (-32002, params)
    assert (new["code"], new["data"]) == (-32602, params)


def test_log_lines_come_only_to_those_who_asked():
    name = {"name": "test_tool_with_logging", "arguments": {}}
    with StdioServer(EVERYTHING) as server:
        server.result("tools/call", modern(**name))
        assert not [m for m in server.seen if m.get("method") == "notifications/message"]
        loud = modern(**name, _meta={"io.modelcontextprotocol/logLevel": "info"})
        server.result("tools/call", loud)
        assert len([m for m in server.seen if m.get("method") == "notifications/message"]) == 3
        server.result("logging/setLevel", {"level": "error"})
        server.result("tools/call", name)
        assert len([m for m in server.seen if m.get("method") == "notifications/message"]) == 3
        assert server.ask("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602


def test_completion_suggests_and_checks():
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    with StdioServer(EVERYTHING) as server:
        argument = {"name": "arg1", "value": "par"}
        done = server.result("completion/complete", {"ref": ref, "argument": argument})
        assert done == {
            "completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}
        }
        assert server.ask("completion/complete", {"ref": ref})["error"]["code"] == -32602


def test_the_guide_is_served_as_resources_with_completion():
    with StdioServer(CLEW) as server:
        uris = [r["uri"] for r in server.result("resources/list")["resources"]]
        assert "clew://guide/overview" in uris
        (content,) = server.result("resources/read", {"uri": uris[0]})["contents"]
        assert content["text"].startswith("# ")
        ref = {"type": "ref/resource", "uri": "clew://guide/{topic}"}
        argument = {"name": "topic", "value": "over"}
        done = server.result("completion/complete", {"ref": ref, "argument": argument})
        assert done["completion"]["values"] == ["overview"]
        error = server.ask("resources/read", {"uri": "clew://guide/../../etc/passwd"})["error"]
        assert error["code"] == -32002
