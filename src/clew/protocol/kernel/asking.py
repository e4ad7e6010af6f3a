"""Asking the client in the middle of a call: one handler style, two eras.

A handler asks through `Call.ask` and is run again when the answers are there. A modern client
gets an `input_required` result with sealed state and retries; a legacy client is asked live,
over the same connection, while its request waits.
"""

from __future__ import annotations

from clew.kit.call import InputRequired
from clew.kit.errors import Unavailable
from clew.protocol.errors import invalid_params, missing_capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.jsontext import JsonObject
    from clew.protocol.kernel.exchange import Exchange
    from clew.protocol.kernel.seal import Seal

ASK_TIMEOUT_SECONDS = 600.0
_ELICITATION_MODES_SINCE = "2025-11-25"
_NEEDS = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


def take_answers(exchange: Exchange, seal: Callable[[], Seal]) -> None:
    """Put what a retried request brings along into its call."""
    request = exchange.request
    given = request.params.get("inputResponses")
    state = request.params.get("requestState")
    if given is not None and not isinstance(given, dict):
        raise invalid_params("Invalid params: inputResponses must be an object")
    if state is not None:
        principal = exchange.connection.principal
        exchange.call.answers |= seal().open(state, request.method, request.params, principal)
    # A response that is no object answers nothing: the handler asks for it again.
    exchange.call.answers |= {k: v for k, v in (given or {}).items() if isinstance(v, dict)}


def run_with_answers(
    exchange: Exchange, seal: Callable[[], Seal], handler: Callable[[], JsonObject | None]
) -> JsonObject | None:
    """The handler's result; None when the client was sent something else already."""
    if exchange.request.modern:
        take_answers(exchange, seal)
    while True:
        try:
            return handler()
        except InputRequired as pause:
            if exchange.request.modern:
                check_capabilities(exchange.request.capabilities, pause.requests)
                _send_questions(exchange, seal, pause.requests)
                return None
            _ask_live(exchange, pause.requests)


def check_capabilities(declared: JsonObject, requests: JsonObject) -> None:
    """Raise when the client did not say that it can answer one of these requests."""
    missing = _missing(declared, requests)
    if missing:
        raise missing_capability({name: {} for name in missing})


def _missing(declared: JsonObject, requests: JsonObject) -> list[str]:
    needed = {_NEEDS[request["method"]] for request in requests.values()}
    return sorted(name for name in needed if name not in declared)


def _send_questions(exchange: Exchange, seal: Callable[[], Seal], requests: JsonObject) -> None:
    request = exchange.request
    state = seal().close(
        exchange.call.answers, request.method, request.params, exchange.connection.principal
    )
    result = {"inputRequests": requests, "requestState": state}
    exchange.reply(result, result_type="input_required")


def _ask_live(exchange: Exchange, requests: JsonObject) -> None:
    missing = _missing(exchange.request.capabilities, requests)
    if missing:
        raise Unavailable(f"This needs a client that supports {', '.join(missing)}")
    for key, request in requests.items():
        exchange.call.check()
        params = dict(request.get("params") or {})
        if exchange.request.version < _ELICITATION_MODES_SINCE:
            params.pop("mode", None)
        reply = exchange.connection.ask(
            exchange.send, request["method"], params, exchange.call, ASK_TIMEOUT_SECONDS
        )
        if exchange.connection.closed:
            raise Unavailable("The client hung up before it answered")
        exchange.call.answers[key] = reply
