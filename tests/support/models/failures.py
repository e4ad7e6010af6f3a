"""Refusals of a service over HTTP, in each API's own words."""

from __future__ import annotations

from dataclasses import dataclass, field

RETRY_SECONDS = 3600
_TOO_LONG = {
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
}
_TOO_LONG_OPENAI = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in "
    "140000 tokens. Please reduce the length of the messages."
)
_KEYS = {
    "anthropic": "invalid x-api-key",
    "gemini": "API key not valid. Please pass a valid API key.",
}
_KEY_OPENAI = "Incorrect API key provided: sk-dummy."
_RATE = "Rate limit reached for requests."
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
# status, Anthropic's type, OpenAI's type and code, Gemini's status
_KINDS = {
    "auth": (401, "authentication_error", "invalid_request_error", "invalid_api_key", "INVALID_ARGUMENT"),
    "rate": (429, "rate_limit_error", "requests", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
    "quota": (429, "rate_limit_error", "insufficient_quota", "insufficient_quota", "RESOURCE_EXHAUSTED"),
    "overload": (503, "overloaded_error", "server_error", "overloaded", "UNAVAILABLE"),
    "error500": (500, "api_error", "server_error", None, "INTERNAL"),
    "context": (400, "invalid_request_error", "invalid_request_error", "context_length_exceeded", "INVALID_ARGUMENT"),
}  # fmt: skip
MODES = tuple(_KINDS)


@dataclass(frozen=True)
class Refusal:
    """A status other than 200, with its body and headers."""

    status: int
    body: object
    headers: dict[str, str] = field(default_factory=dict)


def refusal(mode, api):
    """What this API answers in this mode."""
    status, kind, openai_kind, code, gemini_status = _KINDS[mode]
    text = _words(mode, api)
    headers = {"retry-after": str(RETRY_SECONDS)} if mode == "rate" else {}
    if api == "anthropic":
        status = 529 if mode == "overload" else status
        error = {"type": kind, "message": text}
        return Refusal(status, {"type": "error", "error": error, "request_id": "req_1"}, headers)
    if api == "gemini":
        status = 400 if mode == "auth" else status
        error = {"code": status, "message": text, "status": gemini_status}
        return Refusal(status, {"error": {**error, "details": _gemini_details(mode)}}, headers)
    error = {"message": text, "type": openai_kind, "param": None, "code": code}
    return Refusal(status, {"error": error}, headers)


def _words(mode, api):
    return {
        "auth": _KEYS.get(api, _KEY_OPENAI),
        "rate": _RATE,
        "quota": _QUOTA,
        "overload": "The model is overloaded. Please try again later.",
        "error500": "Internal server error",
        "context": _TOO_LONG.get(api, _TOO_LONG_OPENAI),
    }[mode]


def _gemini_details(mode):
    kind = "type.googleapis.com/google.rpc."
    if mode == "rate":
        return [{"@type": f"{kind}RetryInfo", "retryDelay": f"{RETRY_SECONDS}s"}]
    if mode == "quota":
        quota = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaValue": "50"}
        return [{"@type": f"{kind}QuotaFailure", "violations": [quota]}]
    if mode == "auth":
        return [
            {"@type": f"{kind}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
        ]
    return []
