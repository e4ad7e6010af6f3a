"""Sealed state: what a client carries for us between two requests and cannot change."""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode

from clew.kit import jsontext
from clew.protocol.errors import invalid_params

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

_LIFETIME_SECONDS = 3600
_UNBOUND = ("_meta", "inputResponses", "requestState")


class Seal:
    """Signs state and binds it to one request, one principal and a time."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def close(self, answers: JsonObject, method: str, params: JsonObject, principal: str) -> str:
        """The sealed text to hand to the client."""
        payload = {
            "answers": answers,
            "request": _digest(method, params),
            "principal": principal,
            "expires": int(time.time()) + _LIFETIME_SECONDS,
        }
        body = urlsafe_b64encode(jsontext.dumps_bytes(payload))
        return f"{body.decode('ascii')}.{self._signature(body)}"

    def open(self, sealed: object, method: str, params: JsonObject, principal: str) -> JsonObject:
        """The answers inside, or an error when anything about the text is not ours."""
        if not isinstance(sealed, str):
            raise invalid_params("Invalid params: requestState must be a string")
        body, _, signature = sealed.partition(".")
        expected = self._signature(body.encode("utf-8", "replace"))
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode()):
            raise invalid_params("Invalid params: requestState is not from this server")
        payload: JsonObject = jsontext.loads_bytes(urlsafe_b64decode(body))
        if payload["expires"] < time.time():
            raise invalid_params("Invalid params: requestState has expired; start again")
        if payload["request"] != _digest(method, params) or payload["principal"] != principal:
            raise invalid_params("Invalid params: requestState belongs to another request")
        answers: JsonObject = payload["answers"]
        return answers

    def _signature(self, body: bytes) -> str:
        return hmac.new(self._key, body, hashlib.sha256).hexdigest()


def _digest(method: str, params: JsonObject) -> str:
    salient = sorted((key, value) for key, value in params.items() if key not in _UNBOUND)
    return hashlib.sha256(jsontext.dumps_bytes([method, salient])).hexdigest()
