"""Every sentence of SECURITY.md has the tests that prove it, or says that it promises nothing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.security.vectors import VECTORS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = tomllib.loads((Path(__file__).parent / "promises.toml").read_text(encoding="utf-8"))
NO_PROMISE = {"advice", "limit"}


def sentences():
    """Each sentence with its section, or of a table with its row."""
    section, words = "", []
    for line in [*TEXT.splitlines(), ""]:
        is_item = line.startswith("- ")
        if line.startswith(("#", "|")) or is_item or not line.strip():
            yield from ((section, one) for one in _parts(" ".join(words)))
            words = []
        if line.startswith("#"):
            section = line.strip("# ")
        elif line.startswith("|"):
            row, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
            if row not in ("Who", "What") and not row.startswith("---"):
                yield from ((row, one) for cell in cells for one in _parts(cell))
        elif line.strip():
            words.append(line.removeprefix("- ").strip())


def _parts(text):
    return [one.strip(" .;") for one in re.split(r"(?<=[.;])\s+|(?<=TLS):\s+", text) if one.strip()]


def proofs():
    """Each test that is named."""
    for sayings in PROMISES.values():
        for proof in sayings.values():
            yield from () if isinstance(proof, str) else proof


def test_each_sentence_has_its_proof():
    named = [(section, one) for section, sayings in PROMISES.items() for one in sayings]
    assert named == list(sentences())
    for section, one in named:
        proof = PROMISES[section][one]
        assert proof in NO_PROMISE if isinstance(proof, str) else proof, one


@pytest.mark.parametrize("proof", sorted(set(proofs())))
def test_each_test_that_is_named_exists(proof):
    file, _, test = proof.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {test or 'test_'}", text, re.MULTILINE)


def test_the_number_of_vectors_is_the_real_one():
    assert f"{len(VECTORS)} vectors" in TEXT


@pytest.mark.parametrize("name", ["security", "chaos", "fuzz", "load"])
def test_the_commands_run_the_proofs_in_full(name):
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"{name}: export PROOF := full" in made
    assert not re.search(r"^test: export PROOF", made, re.MULTILINE)
