"""Endpoints of all manners, on this machine."""

from __future__ import annotations

import numpy as np
import pytest

from clew.kit.errors import Invalid, Unavailable
from clew.models import embedding
from clew.models.embedding import KEY, MODEL, URL, EndpointEmbedder, load_embedder
from tests.models.endpoint import running

SECRET = "sk-not-to-be-shown"


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setattr(embedding, "_PAUSE", 0.001)
    with running() as started:
        yield started


def embedder_of(endpoint, **settings):
    return EndpointEmbedder(endpoint.address, "some-model", SECRET, **settings)


def test_it_is_asked_as_configured_and_in_batches(endpoint):
    given = {URL: endpoint.address + "/embeddings/", MODEL: "some-model", KEY: SECRET}
    model = load_embedder(given)
    texts = [f"text {number}" for number in range(150)]
    vectors = model.embed(texts)

    assert (model.name, model.dimensions) == ("endpoint:some-model", 8)
    assert [len(asked["input"]) for _, asked in endpoint.asked] == [64, 64, 22]
    assert {path for path, _ in endpoint.asked} == {"/v1/embeddings"}
    assert {asked["model"] for _, asked in endpoint.asked} == {"some-model"}
    assert endpoint.headers[0]["Authorization"] == f"Bearer {SECRET}"
    wanted = np.array([endpoint.vector(text) for text in texts])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert np.allclose(vectors, wanted)


def test_nothing_is_nothing(endpoint):
    model = embedder_of(endpoint)
    assert model.embed([]).shape == (0, 0)
    assert not endpoint.asked
    vectors = model.embed(["", "word", " \n"])
    assert [bool(row.any()) for row in vectors] == [False, True, False]
    assert endpoint.asked[0][1]["input"] == ["-", "word", "-"]


def test_without_a_key_none_is_sent(endpoint):
    EndpointEmbedder(endpoint.address, "m").embed(["x"])
    assert "Authorization" not in endpoint.headers[0]


@pytest.mark.parametrize("manner", ["busy", "cut", "slow"])
def test_trouble_that_passes_is_waited_out(endpoint, manner):
    endpoint.manners = [manner, "good"]
    seconds = 3.0 if manner == "slow" else 60.0
    assert embedder_of(endpoint, seconds=seconds).embed(["x"]).shape == (1, 8)
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("manner", "times", "said"),
    [
        ("busy", 3, "HTTP 503 try later"),
        ("slow", 3, "no answer within 0.1 seconds"),
        ("cut", 3, "a broken answer"),
        ("refused", 1, "HTTP 401 Incorrect API key provided"),
        ("unknown model", 1, "HTTP 404 model not found"),
        ("elsewhere", 1, "HTTP 302"),
        ("no json", 1, "no list of vectors"),
        ("no data", 1, "no list of vectors"),
        ("words", 1, "no list of vectors"),
        ("ragged", 1, "no list of vectors"),
        ("fewer", 1, "1 vectors for 2 texts"),
        ("huge numbers", 1, "too large"),
    ],
)
def test_trouble_that_stays_is_told(endpoint, manner, times, said):
    endpoint.manners = [manner]
    seconds = 0.1 if manner == "slow" else 60.0
    with pytest.raises(Unavailable) as caught:
        embedder_of(endpoint, seconds=seconds).embed(["x", "y"])
    assert said in caught.value.message
    assert endpoint.address in caught.value.message
    assert caught.value.hint
    assert SECRET not in caught.value.full_text()
    assert len(endpoint.asked) == times


def test_vectors_may_not_change_their_length(endpoint):
    model = embedder_of(endpoint)
    model.embed(["x"])
    endpoint.manners = ["wider"]
    with pytest.raises(Unavailable, match="vectors of 9 numbers after 8"):
        model.embed(["x"])


def test_an_endpoint_that_is_not_there(endpoint):
    with running() as gone:
        address = gone.address
    with pytest.raises(Unavailable, match="refused") as caught:
        EndpointEmbedder(address, "m").embed(["x"])
    assert "running" in caught.value.hint


@pytest.mark.parametrize(
    "url",
    ["localhost:1/v1", "ftp://x/v1", "file:///etc/passwd", "http://", "http://u:p@x/v1",
     "https://x/v1?key=1", "http://[::1/v1", "http://x:99999/v1"],
)  # fmt: skip
def test_addresses_that_are_none(url):
    with pytest.raises(Invalid, match="not a usable address") as caught:
        EndpointEmbedder(url, "m")
    assert "u:p" not in caught.value.full_text()


def test_a_key_travels_by_plain_http_on_this_machine_only():
    with pytest.raises(Invalid, match="plain HTTP"):
        EndpointEmbedder("http://example.com/v1", "m", SECRET)
    EndpointEmbedder("https://example.com/v1", "m", SECRET)
    EndpointEmbedder("http://[::1]:9/v1", "m", SECRET)
    with pytest.raises(Invalid, match="characters"):
        EndpointEmbedder("https://example.com/v1", "m", "key\r\nX-Other: 1")
