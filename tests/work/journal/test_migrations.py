"""The journal's migrations are files: what they fix must stay what the model says."""

import re

from clew.work.journal.sqlite import MIGRATIONS
from clew.work.model import OPEN


def test_one_open_run_is_held_for_every_open_phase():
    script = (MIGRATIONS / "0001_runs.sql").read_text(encoding="utf-8")
    (phases,) = re.findall(r"WHERE phase IN \(([^)]*)\)", script)

    assert set(re.findall(r"'(\w+)'", phases)) == {str(phase) for phase in OPEN}
