"""The same readers under atheris, which looks for new paths by coverage.

`python -m tests.fuzz.with_atheris READER SECONDS`; without arguments every reader in turn, each in
a process of its own. atheris is not a dependency: where it is missing, this says so and ends well.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 20


def main(arguments):
    """Fuzz one reader, or start a process for each."""
    try:
        import atheris
    except ImportError:
        print("atheris is not installed, so the readers were only fuzzed by hypothesis.")
        return 0
    if not arguments:
        return every_reader()
    with atheris.instrument_imports(include=["clew"]):
        from tests.fuzz import targets
    name, seconds = arguments
    target = getattr(targets, name)
    seeds = Path(__file__).with_name("corpus") / targets.TARGETS[target]
    with tempfile.TemporaryDirectory(prefix="clew-fuzz-") as found:
        options = [
            f"-max_total_time={seconds}",
            "-max_len=4096",
            "-verbosity=0",
            "-print_final_stats=1",
        ]
        options.append(f"-artifact_prefix={found}/")
        atheris.Setup([sys.argv[0], *options, found, str(seeds)], target)
        atheris.Fuzz()
    return 0


def every_reader():
    """Each reader for some seconds; the number of those that failed."""
    from tests.fuzz.targets import TARGETS

    failed = 0
    for target in TARGETS:
        words = [sys.executable, "-m", "tests.fuzz.with_atheris", target.__name__, str(SECONDS)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, errors="replace")
        runs = [
            line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed" in line
        ]
        verdict = f"{runs[-1] if runs else 0:>9} inputs" if not done.returncode else "FAILED"
        print(f"{target.__name__:24} {verdict}", flush=True)
        if done.returncode:
            failed += 1
            print(done.stderr[-3000:])
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
