"""The packaged model: real vectors, and no way to the network."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from clew.kit.errors import Invalid, Unavailable
from clew.models import embedding
from clew.models.embedding import PackagedEmbedder, load_embedder, packaged_embedder

NO_NETWORK = """
import socket, sys
def refuse(*_arguments, **_settings):
    raise AssertionError("the network was asked")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from clew.models.embedding import load_embedder
model = load_embedder()
print(model.name, model.embed(["a text"]).shape)
print(sorted({"wordllama", "huggingface_hub", "requests", "safetensors"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def model():
    return packaged_embedder()


def test_vectors_are_of_length_one_and_near_when_texts_are(model):
    texts = [
        "fix a crash when the file is missing",
        "do not fail if a document cannot be found",
        "update the colours of the logo",
    ]
    vectors = model.embed(texts)
    assert vectors.shape == (3, model.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    likeness = vectors @ vectors.T
    assert likeness[0, 1] > likeness[0, 2]
    assert likeness[0, 1] > likeness[1, 2]


def test_a_text_has_the_same_vector_in_any_company(model):
    texts = ["one", "", "zwei \ud800 drei", "x" * 20_000, "\x00", "four five"]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert (together == alone).all()
    assert not together[1].any()
    assert model.embed([]).shape == (0, 256)


def test_it_is_the_default_and_loaded_once():
    assert load_embedder({}) is load_embedder({embedding.URL: ""})
    assert load_embedder().name == "wordllama-l2-supercat-256"


def test_no_socket_is_touched_and_no_downloader_is_imported():
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["wordllama-l2-supercat-256 (1, 256)", "[]"], done.stderr


@pytest.mark.parametrize("missing", ["numpy", "wordllama", "tokenizers"])
def test_what_is_not_installed_is_said_with_the_way_to_it(missing):
    code = f"""
import sys
sys.modules[{missing!r}] = None
from clew.models.embedding import load_embedder
from clew.kit.errors import Unavailable
try:
    load_embedder()
except Unavailable as error:
    print(error.full_text())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'clew[semantic]'" in done.stdout


def test_a_damaged_package_is_said(tmp_path, monkeypatch):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"\x02" + b"\0" * 7 + b"{}")
    monkeypatch.setattr(embedding, "_package", lambda _: tmp_path)
    with pytest.raises(Unavailable, match="cannot be read"):
        PackagedEmbedder()


def test_an_address_without_a_model_is_refused():
    with pytest.raises(Invalid, match="no model") as caught:
        load_embedder({embedding.URL: "http://localhost:1/v1"})
    assert embedding.MODEL in caught.value.hint
