"""Tokens of an identity provider: signed by its keys, for this server, valid now."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Collection
from typing import IO, Any
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from clew.kit.errors import Invalid, Unavailable

# Signatures by a private key only: no `none`, and no secret that a public key could be taken for.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
LONGEST_TOKEN = 16 * 1024
_KEY_TYPES = ("RSA", "EC")
_LEEWAY = 30  # seconds that clocks may differ
_FRESH = 900.0  # seconds after which keys are asked for again
_OLDEST = 86_400.0  # and how long they are good while the issuer does not answer
_PAUSE = 3.0  # between two questions to the issuer, whoever sends unknown keys
_SECONDS = 15.0
_LARGEST = 1_000_000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_BROKEN = (JoseError, ValueError, TypeError, KeyError, RecursionError)


class BadToken(Invalid):
    """A token that proves nothing."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys come from where the issuer says they are, and from nowhere else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:  # fmt: skip
        """Follow nothing."""


_opener = urllib.request.build_opener(_NoRedirects)


def opened(asked: str | urllib.request.Request, seconds: float) -> Any:
    """The answer of an issuer, to be closed; where it would lead elsewhere, a failure."""
    return _opener.open(asked, timeout=seconds)


def check_url(url: str) -> str:
    """An address to which, and from which, nobody else can speak: https, or this very machine."""
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise Invalid(f"Not an address for sign-in: {url}", "It begins with https://.")
    return url


def document(url: str) -> dict[str, Any]:
    """The JSON object at an address."""
    try:
        with opened(check_url(url), _SECONDS) as answer:
            found = json.loads(answer.read(_LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise Unavailable(
            f"The identity provider does not answer: {error}", f"Ask {url}"
        ) from error
    if not isinstance(found, dict):
        raise Unavailable(f"Not what an identity provider says: {url}")
    return found


def metadata_of(issuer: str) -> dict[str, Any]:
    """What an issuer says of itself: as OpenID Connect has it, or as RFC 8414."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    places = (
        f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}",
    )
    failure: Unavailable | None = None
    for place in places:
        try:
            found = document(place)
        except Unavailable as error:
            failure = failure or error
            continue
        if found.get("issuer") != issuer:
            raise Unavailable(
                f"{place} is of another issuer: {found.get('issuer')}",
                "Give the issuer as it names itself: clew team sign-in.",
            )
        return found
    raise failure or Unavailable(f"{issuer} says nothing of itself")


class Keys:
    """The keys of an issuer: kept for a while, asked for again when one is not among them."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._lock = threading.Lock()
        self._keys = KeySet([])
        self._got = self._asked = float("-inf")

    def current(self) -> KeySet:
        """The keys as they were lately."""
        with self._lock:
            age = time.monotonic() - self._got
            if age > _FRESH and self._may_ask():
                try:
                    self._ask()
                except Unavailable:
                    if age > _OLDEST:
                        raise
            elif age > _OLDEST:
                raise Unavailable("The identity provider does not answer", "Try again soon.")
            return self._keys

    def asked_again(self) -> KeySet:
        """The keys as they are now, unless they were asked for a moment ago."""
        with self._lock:
            if self._may_ask():
                self._ask()
            return self._keys

    def _may_ask(self) -> bool:
        return time.monotonic() - self._asked > _PAUSE

    def _ask(self) -> None:
        self._asked = time.monotonic()
        place = str(metadata_of(self._issuer).get("jwks_uri"))
        found = document(place).get("keys")
        usable = [
            key
            for key in (found if isinstance(found, list) else [])
            if isinstance(key, dict)
            and key.get("kty") in _KEY_TYPES
            and key.get("use", "sig") == "sig"
        ]
        try:
            self._keys = KeySet.import_key_set({"keys": usable})
        except _BROKEN as error:
            raise Unavailable(f"No usable keys at {place}: {error}") from error
        self._got = time.monotonic()


class Issuer:
    """Judges tokens of one issuer for one server."""

    def __init__(self, issuer: str, audiences: Collection[str]) -> None:
        self.keys = Keys(issuer)
        self._registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        self._claims = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "values": list(audiences)},
            sub={"essential": True},
            exp={"essential": True},
        )

    def claims(self, token: str) -> dict[str, Any]:
        """What a token says, or BadToken; Unavailable while nobody knows the issuer's keys."""
        if len(token) > LONGEST_TOKEN:
            raise BadToken("The token is too long")
        try:
            try:
                read = jwt.decode(token, self.keys.current(), registry=self._registry)
            except InvalidKeyIdError:
                read = jwt.decode(token, self.keys.asked_again(), registry=self._registry)
            self._claims.validate(read.claims)
        except _BROKEN as error:
            raise BadToken(f"The token is not valid here: {_reason(error)}") from error
        return read.claims


def _reason(error: Exception) -> str:
    """What is wrong with a token, in printable words of one line."""
    said = str(getattr(error, "description", "") or error or type(error).__name__)
    return "".join(sign if " " <= sign <= "~" and sign not in '"\\' else "?" for sign in said)[:120]
