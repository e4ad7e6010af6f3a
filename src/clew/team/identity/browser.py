"""Sign-in of a person with a browser: OpenID Connect's authorization code, with PKCE (RFC 7636)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from clew.kit.errors import Unavailable
from clew.team.identity.access_tokens import BadToken, Issuer, check_url, metadata_of, opened

_WISHES = ("profile", "email", "groups")
_SECONDS = 10.0
_LARGEST = 1_000_000


class CodeFlow:
    """Leads people to their identity provider, and takes what they come back with."""

    def __init__(self, issuer: str, client: str, secret: str, redirect: str) -> None:
        self._issuer = Issuer(issuer, [client])
        self._name, self._client, self._secret = issuer, client, secret
        self._redirect = redirect

    def begin(self) -> tuple[str, dict[str, str]]:
        """Where the person is to go, and what must be known when they are back."""
        metadata = metadata_of(self._name)
        kept = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        digest = hashlib.sha256(kept["verifier"].encode()).digest()
        supported = metadata.get("scopes_supported") or ()
        asked = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": self._redirect,
            "scope": " ".join(["openid", *(one for one in _WISHES if one in supported)]),
            "state": kept["state"],
            "nonce": kept["nonce"],
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        place = check_url(str(metadata.get("authorization_endpoint")))
        return f"{place}?{urlencode(asked)}", kept

    def finish(self, kept: Mapping[str, str], given: Mapping[str, str]) -> dict[str, Any]:
        """What the issuer says of the person, or BadToken."""
        if not hmac.compare_digest(given.get("state", "").encode(), kept["state"].encode()):
            raise BadToken("This sign-in was begun elsewhere")
        if given.get("iss", self._name) != self._name:  # RFC 9207
            raise BadToken("Another identity provider answered")
        if not given.get("code"):
            raise BadToken(f"The identity provider refused: {given.get('error', 'no reason')[:80]}")
        claims = self._issuer.claims(self._token(given["code"], kept["verifier"]))
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), kept["nonce"].encode()):
            raise BadToken("The token is of another sign-in")
        return claims

    def _token(self, code: str, verifier: str) -> str:
        """The id token for a code; it can be had once."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "client_id": self._client,
            "code_verifier": verifier,
        }
        headers = {"Accept": "application/json"}
        if self._secret:
            pair = f"{quote(self._client, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        place = check_url(str(metadata_of(self._name).get("token_endpoint")))
        request = urllib.request.Request(place, urlencode(form).encode(), headers)  # noqa: S310 - checked
        try:
            with opened(request, _SECONDS) as answer:
                found = json.loads(answer.read(_LARGEST))
        except urllib.error.HTTPError as error:
            with error:
                raise BadToken(f"The identity provider refused the code: {error.code}") from None
        except (OSError, ValueError, RecursionError) as error:
            raise Unavailable(f"The identity provider does not answer: {error}") from error
        token = found.get("id_token") if isinstance(found, dict) else None
        if not isinstance(token, str):
            raise BadToken("The identity provider sent no id token")
        return token
