"""The story that `make try` tells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

STORY = Path(__file__).parents[2] / "scripts" / "try_it.py"


def test_the_story_reaches_the_vision(tmp_path):
    done = subprocess.run(
        [sys.executable, STORY], env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "parallel(2): 2 completed" in done.stdout
    (traced,) = (line for line in done.stdout.splitlines() if line.startswith("BO-1       FE-2"))
    assert "ADR-0001" in traced
