"""The scheduler and the watch with everything that the rooms above theirs give them.

`python -m clew.daemons KIND DIRECTORY HANDSHAKE LOCK` starts one; `WIRING` makes work do so.
"""

from __future__ import annotations

import sys
from pathlib import Path

from clew.work.workspace import Wiring


def _brief(root: Path, spec_id: str) -> str:
    from clew.thread.brief.brief import for_prompt

    return for_prompt(root, spec_id)


WIRING = Wiring(_brief, "clew.daemons")

if __name__ == "__main__":
    from clew.work.scheduling.start import main

    sys.exit(main(sys.argv[1:], WIRING))
