"""A small identity provider on loopback: its own keys, and whatever tokens a test asks for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey


class Provider:
    """Says who it is and which keys it has; signs what it is told to."""

    def __init__(self, url):
        self.url = url
        self.key = None
        self.fetched = 0
        self.person = {}  # claims of whoever sits at a browser
        self.codes = {}
        self.refuses = False
        self.rotate()

    def rotate(self):
        """A new key in the place of the old one."""
        self.key = RSAKey.generate_key(2048, {"use": "sig"}, private=True, auto_kid=True)

    def documents(self):
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "scopes_supported": ["openid", "email", "groups"],
            },
            "/keys": {"keys": [self.key.as_dict(private=False)]},
        }

    def authorize(self, asked):
        """Where a browser is sent back to: whoever sits there is signed in already."""
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        said = {"error": "access_denied"} if self.refuses else {"code": code}
        return f"{asked['redirect_uri']}?{urlencode({**said, 'state': asked['state']})}"

    def exchange(self, form):
        """The id token for a code, once, to whoever has its verifier; None for others."""
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if asked is None or base64_text(digest) != asked["code_challenge"]:
            return None
        if (form["client_id"], form["redirect_uri"]) != (asked["client_id"], asked["redirect_uri"]):
            return None
        claims = {"nonce": asked["nonce"], **self.person}
        return {"id_token": self.token(asked["client_id"], **claims), "token_type": "Bearer"}

    def claims(self, resource, **other):
        """Claims of a good token; None leaves one out."""
        now = int(time.time())
        usual = {
            "iss": self.url,
            "aud": resource,
            "sub": "u-1",
            "email": "eve@example.com",
            "azp": "tests",
            "iat": now,
            "exp": now + 600,
            "scope": "read",
            "groups": ["makers"],
        }
        return {name: value for name, value in (usual | other).items() if value is not None}

    def token(self, resource, *, key=None, header=None, **claims):
        """A signed token."""
        key = key or self.key
        head = {"alg": "RS256", "kid": key.kid} | (header or {})
        return jwt.encode(head, self.claims(resource, **claims), key, algorithms=[head["alg"]])

    def confused_token(self, resource):
        """A token whose secret is the public key that everybody has."""
        head = {"alg": "HS256", "kid": self.key.kid}
        said = ".".join(base64_text(json.dumps(part)) for part in (head, self.claims(resource)))
        secret = self.key.as_pem(private=False)  # the library refuses to take it for a secret
        return f"{said}.{base64_text(hmac.digest(secret, said.encode(), 'sha256'))}"


def base64_text(value):
    """As the parts of a token are written."""
    data = value.encode() if isinstance(value, str) else value
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def running_issuer():
    """A provider that answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            provider = self.server.provider
            path, _, query = self.path.partition("?")
            if path == "/authorize":
                self.send_response(303)
                self.send_header("Location", provider.authorize(dict(parse_qsl(query))))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            found = provider.documents().get(self.path)
            provider.fetched += self.path == "/keys"
            self.answer(found, 404)

        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.answer(self.server.provider.exchange(dict(parse_qsl(sent))), 400)

        def answer(self, found, otherwise):
            body = json.dumps(found).encode()
            self.send_response(200 if found else otherwise)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.provider = Provider(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.provider
        finally:
            server.shutdown()
            thread.join()
