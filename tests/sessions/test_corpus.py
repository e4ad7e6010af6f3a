"""The figures of the corpus with known truth, where the programs are installed."""

from __future__ import annotations

import pytest

from tests.sessions.corpus import SIX, main, quoted
from tests.sessions.programs import missing
from tests.support.proof import FULL


def test_lines_lead_to_the_requests_that_asked_for_them(tmp_path, monkeypatch):
    absent = missing(SIX)
    if absent or not FULL:
        pytest.skip(f"needs PROOF=full and {', '.join(absent) or 'some minutes'}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home" / ".clew"))
    world, commits, by_text, by_time = main(tmp_path)
    assert world.edits >= 300
    assert commits >= 60
    assert by_text.precision >= 0.99, by_text.mistakes[:20]
    assert by_text.recall >= 0.95, by_text.mistakes[:20]
    assert by_text.bot_wrong == 0
    assert by_time.precision < by_text.precision
    given, right = quoted(world)
    assert given >= 50
    assert right >= 0.95 * given
