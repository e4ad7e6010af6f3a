"""Every message that is sent has the published shape of its method and version.

The official types carry one model per message and schema version; the conformance run checks
the same over HTTP against the published JSON schema itself.
"""

from __future__ import annotations

import pytest
from mcp_types.methods import parse_server_notification, validate_server_result

from tests.support.client import CLARIAD, CLEW, EVERYTHING, StdioServer, modern

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CAPABLE = {"elicitation": {}, "sampling": {}, "roots": {}}
REF = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
COMMON = [
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "test://static-text"}),
    ("resources/read", {"uri": "test://static-binary"}),
    ("prompts/get", {"name": "test_prompt_with_image"}),
    ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "", "arg2": ""}}),
    ("completion/complete", {"ref": REF, "argument": {"name": "arg1", "value": "p"}}),
    *[
        ("tools/call", {"name": name, "arguments": {}})
        for name in (
            "test_simple_text",
            "test_image_content",
            "test_audio_content",
            "test_embedded_resource",
            "test_multiple_content_types",
            "test_error_handling",
            "test_tool_with_progress",
            "test_tool_with_logging",
        )
    ],
]


@pytest.mark.parametrize("version", LEGACY)
def test_legacy_messages(version):
    with StdioServer(EVERYTHING) as server:
        opening = {"protocolVersion": version, "capabilities": CAPABLE, "clientInfo": {}}
        validate_server_result("initialize", version, server.result("initialize", opening))
        for method, params in [
            *COMMON,
            ("ping", {}),
            ("logging/setLevel", {"level": "info"}),
            ("resources/subscribe", {"uri": "test://watched-resource"}),
        ]:
            with_token = {**params, "_meta": {"progressToken": "t"}}
            validate_server_result(method, version, server.result(method, with_token))
        server.result("tools/call", {"name": "test_trigger_tool_change", "arguments": {}})
        server.notification("notifications/tools/list_changed")
        assert check_notifications(server, version) >= 7


def test_modern_messages():
    version = "2026-07-28"
    meta = {"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}
    with StdioServer(EVERYTHING) as server:
        validate_server_result(
            "server/discover", version, server.result("server/discover", modern())
        )
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["test://x"]}
        stream = server.request("subscriptions/listen", modern(notifications=wanted), "stream")
        for method, params in [
            *COMMON,
            ("tools/call", {"name": "test_input_required_result_multiple_inputs", "arguments": {}}),
            ("prompts/get", {"name": "test_input_required_result_prompt"}),
            ("tools/call", {"name": "test_trigger_tool_change", "arguments": {}}),
        ]:
            result = server.result(method, modern(CAPABLE, **params, _meta=meta))
            validate_server_result(method, version, result)
        server.notification("notifications/tools/list_changed")
        assert check_notifications(server, version) >= 8
        server.process.stdin.close()
        validate_server_result("subscriptions/listen", version, server.answer_to(stream)["result"])


def check_notifications(server, version):
    """Validate every notification seen; how many there were."""
    notes = [m for m in server.seen if "method" in m and "id" not in m]
    for note in notes:
        parse_server_notification(note["method"], version, note.get("params"))
    return len(notes)


def test_the_products_own_answers():
    with StdioServer(CLEW) as server:
        for version, shape in (("2025-11-25", dict), ("2026-07-28", modern)):
            for method, params in [
                ("tools/list", {}),
                ("tools/call", {"name": "clew_guide", "arguments": {}}),
                ("tools/call", {"name": "clew_doctor", "arguments": {}}),
                ("resources/list", {}),
                ("resources/templates/list", {}),
                ("resources/read", {"uri": "clew://guide/overview"}),
            ]:
                validate_server_result(method, version, server.result(method, shape(**params)))
    with StdioServer(CLARIAD) as server:
        arguments = {"operation_name": "x", "duration_seconds": 0}
        call = {"name": "long_running_operation", "arguments": arguments}
        validate_server_result("tools/call", "2025-11-25", server.result("tools/call", call))
