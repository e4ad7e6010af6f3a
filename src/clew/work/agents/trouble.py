"""What went wrong at a model's service, as an agent tells it: fields first, words second."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from clew.kit import jsontext
from clew.work.model import TRANSIENT, FailureClass

_BY_STATUS = {
    401: FailureClass.AUTH,
    402: FailureClass.RATE_LIMIT,
    403: FailureClass.AUTH,
    408: FailureClass.NETWORK,
    413: FailureClass.CONTEXT,
    429: FailureClass.RATE_LIMIT,
    503: FailureClass.OVERLOAD,
    529: FailureClass.OVERLOAD,
}
_SERVER_ERRORS = range(500, 600)
# Names of errors in fields: what a name contains, the first that fits.
_BY_NAME = (
    (FailureClass.REFUSAL, r"refus|content.?filter|safety|prohibited"),
    (FailureClass.CONTEXT, r"context.?(?:length|window|overflow)|too.?long|request_too_large"),
    (FailureClass.COST, r"max_budget"),
    (FailureClass.AUTH, r"auth|invalid_api_key|permission"),
    (FailureClass.RATE_LIMIT, r"rate.?limit|quota|resource_exhausted|usage_limit|billing"),
    (FailureClass.OVERLOAD, r"overload|unavailable"),
    (FailureClass.NETWORK, r"server_error|internal|connection|transport|time.?out|network"),
)
# A number alone says nothing: it counts behind a word for it, or before the service's own words.
_STATUS = r"(?:status|http|code|error|rejected)\W{0,4}(?:code\W{0,3})?"
_BY_WORDS = (
    (
        FailureClass.CONTEXT,
        (
            r"context (?:window|length)|prompt is too long|maximum context|max(?:imum)? turns|"
            r"exceeds? the (?:maximum|context)"
        ),
    ),
    (
        FailureClass.RATE_LIMIT,
        rf"rate.?limit|{_STATUS}429\b|\b429 too many|too many requests|quota|usage limit",
    ),
    (
        FailureClass.AUTH,
        (
            rf"{_STATUS}40[13]\b|\b40[13] (?:unauth|forbid)|unauthori[sz]ed|not logged in|log ?in again|"
            r"(?:invalid|incorrect) (?:x-)?api.?key|authentication|credit balance|"
            r"api key (?:is )?(?:missing|not set|not valid|not found)|/login\b"
        ),
    ),
    (FailureClass.OVERLOAD, rf"overloaded|{_STATUS}(?:503|529)\b|at capacity|service unavailable"),
    (
        FailureClass.REFUSAL,
        r"content.?filter|safeguards flagged|blocked (?:by|due to) (?:the )?(?:provider|safety)",
    ),
    (
        FailureClass.NETWORK,
        (
            rf"econnre|enotfound|etimedout|connection (?:refused|reset|error|closed)|network|fetch failed|"
            rf"timed out|{_STATUS}50[0-9]\b|could not resolve|getaddrinfo|internal server error|"
            r"temporary errors|stream (?:disconnected|closed|ended)|socket hang up|terminated|"
            r"malformed response|non-sse response|(?:invalid|incomplete) (?:json|content|stream)|(?:empty|no) (?:response|stream)"
        ),
    ),
)
_NAMES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _BY_NAME)
_WORDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _BY_WORDS)
_RETRY_AFTER = re.compile(
    r"retry[-_ ]?after[\"']?\s*[:=]?\s*(\d{1,6})|(?:try again|retry) in (\d{1,6})\s*(s|m|h)",
    re.IGNORECASE,
)
_UNITS = {"s": 1, "m": 60, "h": 3600}
_LONGEST_RETRY = 24 * 3600
_MAYBE_JSON = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True)
class Trouble:
    """One error: the words, and what its fields say: HTTP status, name, seconds to wait."""

    message: str
    status: int | None = None
    name: str | None = None
    wait_seconds: float | None = None

    @property
    def kind(self) -> FailureClass | None:
        """What kind of error it is; None where nothing tells."""
        by_name = _matching(_NAMES, self.name or "")
        if by_name is not None:
            return by_name
        if self.status in _BY_STATUS:
            return _BY_STATUS[self.status]
        by_words = _matching(_WORDS, self.message)
        if by_words is None and self.status in _SERVER_ERRORS:
            return FailureClass.NETWORK
        return by_words

    @property
    def retry_after(self) -> float | None:
        """The seconds that the service asked to wait."""
        if self.kind not in TRANSIENT:
            return None
        told = self.wait_seconds
        return retry_after(self.message) if told is None else float(min(told, _LONGEST_RETRY))


def trouble_of(
    message: str, status: Any = None, name: Any = None, wait_seconds: float | None = None
) -> Trouble:
    """An error from an agent's fields; an error of the service inside its words is read too."""
    trouble = Trouble(
        message.strip(),
        status if isinstance(status, int) and not isinstance(status, bool) else None,
        name if isinstance(name, str) else None,
        wait_seconds,
    )
    return _with_body(trouble, message)


def _with_body(trouble: Trouble, text: str) -> Trouble:
    found = _MAYBE_JSON.search(text)
    try:
        body = jsontext.loads(found.group()) if found else None
    except jsontext.JsonError:
        return trouble
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return trouble
    said = error["message"].strip()
    names = [error.get(key) for key in ("code", "type", "status")]
    name = " ".join(name for name in names if isinstance(name, str))
    code = error.get("code")
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    inner = replace(
        trouble,
        message=said or trouble.message,
        status=trouble.status or status,
        name=f"{trouble.name or ''} {name}".strip() or None,
    )
    return _with_body(inner, said) if "{" in said else inner


def retry_after(text: str) -> float | None:
    """The seconds that a service asked to wait, from its words."""
    found = _RETRY_AFTER.search(text)
    if found is None:
        return None
    plain, amount, unit = found.groups()
    seconds = int(plain) if plain else int(amount) * _UNITS[unit.lower()]
    return float(min(seconds, _LONGEST_RETRY))


def _matching(
    patterns: tuple[tuple[FailureClass, re.Pattern[str]], ...], text: str
) -> FailureClass | None:
    return next((kind for kind, pattern in patterns if pattern.search(text)), None)
