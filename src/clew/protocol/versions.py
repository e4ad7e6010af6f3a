"""Protocol versions, error codes and the names of metadata keys."""

from __future__ import annotations

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
OLDEST = LEGACY_VERSIONS[0]
NEWEST_LEGACY = LEGACY_VERSIONS[-1]
MODERN = MODERN_VERSIONS[-1]
BATCHING_VERSION = "2025-03-26"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002  # legacy only; modern says INVALID_PARAMS
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_PREFIX = "io.modelcontextprotocol/"
META_VERSION = _PREFIX + "protocolVersion"
META_CAPABILITIES = _PREFIX + "clientCapabilities"
META_LOG_LEVEL = _PREFIX + "logLevel"
META_SERVER = _PREFIX + "serverInfo"
META_SUBSCRIPTION = _PREFIX + "subscriptionId"
META_SEES = "dev.clew/sees"  # a server to its helpers: what this caller may see; it only narrows
TASKS_EXTENSION = _PREFIX + "tasks"

LOG_LEVELS = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
