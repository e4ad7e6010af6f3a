"""Change notifications: modern streams and legacy connections."""

from __future__ import annotations

from tests.support.client import CHANT, EVERYTHING, StdioServer, modern

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def test_a_stream_is_acknowledged_first_and_carries_its_id():
    wanted = {"toolsListChanged": True, "promptsListChanged": False, "nonsense": True}
    with StdioServer(EVERYTHING) as server:
        server.request("subscriptions/listen", modern(notifications=wanted), "s1")
        first = server.wait(lambda m: True)
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == {"toolsListChanged": True}
        assert first["params"]["_meta"] == {SUBSCRIPTION: "s1"}
        for name in ("test_trigger_prompt_change", "test_trigger_tool_change"):
            server.result("tools/call", modern(name=name, arguments={}))
        note = server.notification("notifications/tools/list_changed")
        assert note["params"]["_meta"] == {SUBSCRIPTION: "s1"}
        assert not [m for m in server.seen if "prompts" in m.get("method", "")]


def test_cancelling_ends_a_stream_silently():
    with StdioServer(EVERYTHING) as server:
        server.request(
            "subscriptions/listen", modern(notifications={"toolsListChanged": True}), "s1"
        )
        server.notification("notifications/subscriptions/acknowledged")
        server.notify("notifications/cancelled", {"requestId": "s1"})
        server.result("tools/call", modern(name="test_trigger_tool_change", arguments={}))
        server.silence()


def test_streams_end_gracefully_when_input_ends():
    with StdioServer(EVERYTHING) as server:
        server.request("subscriptions/listen", modern(notifications={}), "s1")
        server.notification("notifications/subscriptions/acknowledged")
        server.process.stdin.close()
        result = server.answer_to("s1")["result"]
        assert result["resultType"] == "complete"
        assert result["_meta"][SUBSCRIPTION] == "s1"
        assert server.process.wait(120) == 0


def test_a_service_without_changes_agrees_to_nothing():
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["x"]}
    with StdioServer(CHANT) as server:
        server.request("subscriptions/listen", modern(notifications=wanted), 1)
        opened = server.notification("notifications/subscriptions/acknowledged")
        assert opened["params"]["notifications"] == {}


def test_a_legacy_client_hears_of_changes_after_its_handshake():
    trigger = {"name": "test_trigger_tool_change", "arguments": {}}
    with StdioServer(EVERYTHING) as server:
        server.result("tools/call", trigger)
        server.silence(0.1)
        server.result("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        server.result("tools/call", trigger)
        assert server.notification("notifications/tools/list_changed") == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
        }


def test_legacy_resource_subscriptions():
    uri = {"uri": "test://watched-resource"}
    with StdioServer(EVERYTHING) as server:
        capabilities = server.result("initialize", {"protocolVersion": "2025-06-18"})[
            "capabilities"
        ]
        assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
        assert server.result("resources/subscribe", uri) == {}
        assert server.result("resources/unsubscribe", uri) == {}
        assert server.ask("resources/subscribe", {})["error"]["code"] == -32602
