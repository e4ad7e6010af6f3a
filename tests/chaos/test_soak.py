"""The soak's own judgement: it waits until nothing can change any more (`make soak` strains)."""

from __future__ import annotations

import os
import random
from unittest import mock

from tests import soak


def test_specs_that_a_merge_sets_free_are_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "KINDS", {"works": soak.KINDS["works"]})
    notes = tmp_path / "notes"
    notes.mkdir()
    with mock.patch.dict(os.environ):
        project = soak.Soak(tmp_path, notes, random.Random(1))
        project.write_specs(3)
        specs = (project.root / ".chant" / "specs").glob("*.md")
        assert any('depends_on: ["' in spec.read_text(encoding="utf-8") for spec in specs)
        assert project.settle(300)
        assert project.faults() == []
    assert set(project.heads().values()) == {"completed"}
