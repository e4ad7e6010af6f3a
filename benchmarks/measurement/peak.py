"""What a piece of work needs when a process of its own does it: time and memory."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measurement.sampling import Sample

_PROGRAM = """
import sys, time
from pathlib import Path
{imports}
begun = time.perf_counter()
{work}
taken = time.perf_counter() - begun
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
print(taken * 1000, next((line.split()[1] for line in lines if line.startswith("VmHWM:")), 0))
"""


def peak_of(imports: str, work: str, *arguments: str) -> Sample:
    """Milliseconds without imports, and the peak in MiB; 0 where the system does not tell it."""
    words = [sys.executable, "-c", _PROGRAM.format(imports=imports, work=work), *arguments]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    taken, peak = done.stdout.split()[-2:]
    return {"ms": float(taken), "MiB": int(peak) / 1024}
