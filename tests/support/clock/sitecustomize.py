"""A clock that is off, for every Python that has this on its path.

SHIFTED_CLOCK says by how many seconds, or names a file that says so and may change.
"""

import datetime as dt
import os
import time
from pathlib import Path

_SHIFT = os.environ["SHIFTED_CLOCK"]
_time, _time_ns, _datetime = time.time, time.time_ns, dt.datetime


def _offset():
    return int(Path(_SHIFT).read_text(encoding="ascii") if "/" in _SHIFT else _SHIFT)


class _Shifted(_datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)


time.time = lambda: _time() + _offset()
time.time_ns = lambda: _time_ns() + _offset() * 10**9
dt.datetime = _Shifted
