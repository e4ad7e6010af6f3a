"""Texts as vectors: the packaged model, or an endpoint that the user names."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from clew.kit import jsontext
from clew.kit.errors import Invalid, Unavailable
from clew.kit.text.display import clipped, shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from http.client import HTTPResponse
    from pathlib import Path
    from urllib.request import OpenerDirector, Request

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

URL, MODEL, KEY = "CLEW_EMBEDDINGS_URL", "CLEW_EMBEDDINGS_MODEL", "CLEW_EMBEDDINGS_KEY"
INSTALL = "Install them: pip install 'clew[semantic]'"
_LONGEST_TEXT = 8000
_BATCH = 64
_SECONDS = 60.0
_ATTEMPTS = 3
_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_LARGEST_REPLY = 64 * 1024 * 1024
_LARGEST_NUMBER = 1e15
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def load_embedder(environment: Mapping[str, str] | None = None) -> Embedder:
    """The endpoint that the environment names, or else the packaged model."""
    given = os.environ if environment is None else environment
    _stay_in_one_thread()
    if not given.get(URL):
        return packaged_embedder()
    if not given.get(MODEL):
        raise Invalid(f"{URL} is set, but no model", f"Name one in {MODEL}, or unset {URL}.")
    return EndpointEmbedder(given[URL], given[MODEL], given.get(KEY) or None)


@cache
def packaged_embedder() -> PackagedEmbedder:
    """The model that comes with the extra, loaded once."""
    _stay_in_one_thread()
    return PackagedEmbedder()


class PackagedEmbedder:
    """Static token vectors from a package that is installed; no network, no server."""

    name = "wordllama-l2-supercat-256"
    dimensions = 256

    def __init__(self) -> None:
        root = _package("wordllama")
        weights = root / "weights" / "l2_supercat_256.safetensors"
        vocabulary = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
        try:
            import numpy as np
            from tokenizers import Tokenizer

            self._weights = _mapped(weights, np)
            self._tokenizer = Tokenizer.from_file(str(vocabulary))
        except ImportError as error:
            raise _missing() from error
        except Exception as error:  # the tokenizer's errors have no class of their own
            raise Unavailable(
                f"The packaged model cannot be read: {error}",
                "Install it again: pip install --force-reinstall wordllama",
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The mean of each text's token vectors, of length 1; without any token all zeros."""
        import numpy as np

        clean = [shown_text(text[:_LONGEST_TEXT]) for text in texts]
        rows = np.zeros((len(clean), self.dimensions), np.float32)
        for row, encoded in zip(
            rows, self._tokenizer.encode_batch(clean, add_special_tokens=False), strict=True
        ):
            if encoded.ids:
                row[:] = self._weights[encoded.ids].astype(np.float32).mean(axis=0)
        return _unit(rows)


class EndpointEmbedder:
    """Any endpoint that speaks the OpenAI way of asking for embeddings."""

    def __init__(
        self, url: str, model: str, key: str | None = None, *, seconds: float = _SECONDS
    ) -> None:
        self.name = f"endpoint:{model}"
        self.dimensions: int | None = None
        self._model = model
        self._seconds = seconds
        self._address, self._place = _address(url, has_key=key is not None)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            if not key.isascii() or not key.isprintable():
                raise Invalid(
                    f"{KEY} contains characters that are not allowed in a key", "Set it again."
                )
            self._headers["Authorization"] = f"Bearer {key}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """What the endpoint answers, in batches."""
        _package("numpy")
        import numpy as np

        parts = [
            self._rows([shown_text(text[:_LONGEST_TEXT]) for text in texts[start : start + _BATCH]])
            for start in range(0, len(texts), _BATCH)
        ]
        if not parts:
            return np.zeros((0, self.dimensions or 0), np.float32)
        return _unit(np.concatenate(parts))

    def _rows(self, texts: list[str]) -> Vectors:
        asked = {"model": self._model, "input": [text.strip() or "-" for text in texts]}
        rows = self._vectors(self._reply(jsontext.dumps_bytes(asked)), len(texts))
        if self.dimensions is None:
            self.dimensions = rows.shape[1]
        if rows.shape[1] != self.dimensions:
            raise self._wrong(f"vectors of {rows.shape[1]} numbers after {self.dimensions}")
        rows[[not text.strip() for text in texts]] = 0
        return rows

    def _vectors(self, body: bytes, count: int) -> Vectors:
        import numpy as np

        try:
            entries = jsontext.loads_bytes(body)["data"]
            order = sorted(entries, key=lambda entry: entry.get("index", 0))
            rows = np.array([entry["embedding"] for entry in order], np.float64)
        except (jsontext.JsonError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise self._wrong("no list of vectors") from error
        if rows.ndim != 2 or len(rows) != count or not rows.shape[1]:
            raise self._wrong(f"{len(rows)} vectors for {count} texts")
        if not (np.abs(rows) < _LARGEST_NUMBER).all():
            raise self._wrong("numbers that are too large")
        return rows.astype(np.float32)

    def _reply(self, body: bytes) -> bytes:
        """The answer; a busy endpoint is asked again, a bit later each time."""
        from urllib.error import HTTPError
        from urllib.request import Request

        request = Request(self._address, body, self._headers)  # noqa: S310 - checked in _address
        opener = _opener(request.host)
        for attempt in range(1, _ATTEMPTS + 1):
            pause = _PAUSE * 2**attempt
            try:
                return self._read(opener, request)
            except HTTPError as error:
                with error:
                    problem = _refusal(error)
                    pause = max(pause, _asked_pause(error.headers.get("Retry-After")))
                if error.code not in _BUSY:
                    raise self._failed(problem, "Check the address, the model and the key.")  # noqa: B904
            except TimeoutError:
                problem = f"no answer within {self._seconds:g} seconds"
            except OSError as error:
                problem = str(getattr(error, "reason", error)) or error.__class__.__name__
            if attempt < _ATTEMPTS:
                time.sleep(min(pause, _LONGEST_PAUSE))
        raise self._failed(problem, "Is it running? Check the address, or try again later.")

    def _read(self, opener: OpenerDirector, request: Request) -> bytes:
        from http.client import HTTPException

        try:
            reply: HTTPResponse
            with opener.open(request, timeout=self._seconds) as reply:
                announced = reply.length or 0
                body = reply.read(_LARGEST_REPLY + 1)
        except HTTPException as error:
            raise OSError(f"a broken answer ({error.__class__.__name__})") from error
        if len(body) > _LARGEST_REPLY:
            raise self._wrong("more than fits")
        if len(body) < announced:
            raise OSError("a broken answer (cut short)")
        return body

    def _failed(self, problem: str, hint: str) -> Unavailable:
        return Unavailable(f"The embeddings endpoint at {self._place} failed: {problem}", hint)

    def _wrong(self, what: str) -> Unavailable:
        hint = f"See that {URL} is the base of an OpenAI-compatible interface, and check {MODEL}."
        return Unavailable(f"The embeddings endpoint at {self._place} answered {what}", hint)


Embedder = PackagedEmbedder | EndpointEmbedder  # equal names mean comparable vectors


def _stay_in_one_thread() -> None:
    """Keep the libraries from threads of their own, which wait busily and gain nothing here."""
    for variable, value in (("OPENBLAS_NUM_THREADS", "1"), ("TOKENIZERS_PARALLELISM", "false")):
        os.environ.setdefault(variable, value)


def _missing() -> Unavailable:
    what = "Semantic search needs numpy and wordllama, which are not installed"
    return Unavailable(what, INSTALL)


def _package(name: str) -> Path:
    """Where a package's files are, without running its code."""
    from importlib.util import find_spec
    from pathlib import Path

    found = find_spec(name)
    if found is None or not found.origin:
        raise _missing()
    return Path(found.origin).parent


def _mapped(path: Path, numpy: Any) -> Any:
    """The one tensor of a safetensors file, mapped into memory instead of read."""
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = jsontext.loads_bytes(stream.read(size))
    tensor = header["embedding.weight"]
    if tensor["dtype"] != "F16":
        raise ValueError(f"its numbers are {tensor['dtype']}")
    start = 8 + size + int(tensor["data_offsets"][0])
    return numpy.memmap(path, numpy.float16, "r", start, tuple(tensor["shape"]))


def _unit(rows: Vectors) -> Vectors:
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit


def _address(url: str, *, has_key: bool) -> tuple[str, str]:
    """Where to ask, and how the place is called in messages: without what may be secret."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.username:
        raise Invalid(f"{URL} is not a usable address", "Write it as http://localhost:11434/v1.")
    if has_key and parts.scheme == "http" and host not in _THIS_MACHINE:
        raise Invalid(
            f"A key is not sent to {host} by plain HTTP", f"Use https in {URL}, or unset {KEY}."
        )
    path = parts.path.rstrip("/").removesuffix("/embeddings")
    place = f"[{host}]" if ":" in host else host
    place += f":{port}" if port else ""
    return f"{parts.scheme}://{place}{path}/embeddings", f"{parts.scheme}://{place}{path}"


def _opener(place: str) -> OpenerDirector:
    from urllib.parse import urlsplit
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class NoRedirects(HTTPRedirectHandler):
        """A key must not follow an answer to another place."""

        def redirect_request(self, *_args: Any, **_settings: Any) -> None:
            return None

    is_here = urlsplit(f"//{place}").hostname in _THIS_MACHINE
    return build_opener(NoRedirects, *([ProxyHandler({})] if is_here else []))


def _refusal(error: Any) -> str:
    """The status and what the endpoint says of it."""
    said = error.read(2000).decode("utf-8", "replace").strip()
    try:
        told = jsontext.loads(said)["error"]
        said = str(told.get("message") or told) if isinstance(told, dict) else str(told)
    except (jsontext.JsonError, TypeError, KeyError):
        pass
    return f"HTTP {error.code} {clipped(' '.join(said.split()))}".strip()


def _asked_pause(value: str | None) -> float:
    return float(value) if value and value.isascii() and value.isdigit() else 0.0
