"""Nothing of the extra `team` is loaded where no database is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

STARTS = {
    "a server": "from clew.catalog.faces import FACES; from clew.serving import build_kernel;"
    " build_kernel(FACES['clew'], {'toolsets': 'all'}).service.tools()",
    "a server over HTTP": "import clew.protocol.http.server, clew.protocol.http.token",
    "the board": "import clew.web.app",
    "the commands of a team": "from clew.cli import access, team; import clew.cli.setup.doctor",
}
LOOK = (
    "; import sys; print([n for n in sys.modules if n.partition('.')[0] in"
    " ('psycopg', 'psycopg_pool', 'procrastinate', 'prometheus_client', 'joserfc')])"
)


@pytest.mark.parametrize("start", STARTS.values(), ids=list(STARTS))
def test_it_starts_without_the_extra(start):
    command = [sys.executable, "-c", start + LOOK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
