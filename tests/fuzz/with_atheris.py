"""The same readers under atheris, which looks for new paths by coverage.

    python -m tests.fuzz.with_atheris                     every reader, 25 seconds each
    python -m tests.fuzz.with_atheris --seconds 600 read_spec
    python -m tests.fuzz.with_atheris --replay FILE read_spec

Each reader runs in a process of its own and within its share of time, so that none can take that
of the others. An input that breaks a reader is kept in `build/fuzz`. atheris is not a dependency:
where it is missing, this says so and ends well.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

SECONDS = 25
FOUND = Path("build/fuzz")
LONGEST_INPUT = 4096
_START_SECONDS = 120  # instrumenting, the last input, and a busy machine
_SLOWEST_SECONDS = 20  # of one input
_MOST_MEGABYTES = 2048
_ONE = "CLEW_FUZZ_ONE"
_RUNS = re.compile(r"number_of_executed_units: (\d+)")
_SAVED = re.compile(r"Test unit written to (\S+)")
_EXCEPTION = "=== Uncaught Python exception: ==="


def main(arguments):
    """Fuzz the readers that were named, or all; the number of those that failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.with_atheris")
    parser.add_argument("readers", nargs="*", metavar="READER")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for each reader")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="give a reader this input")
    asked = parser.parse_args(arguments)
    if os.environ.get(_ONE):
        return fuzz(asked.readers[0], asked.seconds, Path(os.environ[_ONE]))
    from tests.fuzz.targets import TARGETS

    known = {target.__name__: target for target in TARGETS}
    unknown = [name for name in asked.readers if name not in known]
    if unknown:
        parser.error(f"no such reader: {unknown[0]}; there are {', '.join(known)}")
    if asked.replay:
        for name in asked.readers:
            known[name](asked.replay.read_bytes())
        return 0
    if find_spec("atheris") is None:
        print("atheris is not installed, so the readers were only fuzzed by hypothesis.")
        print("Install it (pip install atheris) and run this again.")
        return 0
    failed = [name for name in asked.readers or known if not is_well(name, asked.seconds)]
    print(f"{len(failed)} of {len(asked.readers or known)} readers failed.", *failed)
    return len(failed)


def is_well(name, seconds):
    """Fuzz a reader in a process of its own, and say how that went."""
    FOUND.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "tests.fuzz.with_atheris", name, "--seconds", str(seconds)]
    with tempfile.TemporaryDirectory(prefix="clew-fuzz-") as place:
        env = {**os.environ, _ONE: place, "TMPDIR": place, "HOME": place}
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, errors="replace"
        )
        try:
            said, _ = process.communicate(timeout=seconds + _START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0] + "\nIt did not end in time.\n"
    runs, saved = _RUNS.findall(said), _SAVED.findall(said)
    is_done = process.returncode == 0 and bool(runs) and not saved
    verdict = f"{runs[-1]:>9} inputs" if is_done else "FAILED"
    print(f"{name:24} {verdict}", flush=True)
    if not is_done:
        print(said[said.rfind(_EXCEPTION) :][:6000] if _EXCEPTION in said else said[-3000:])
    for path in saved:
        print(f"  See it again:  python -m tests.fuzz.with_atheris --replay {path} {name}")
        print("  Once mended, keep the input in tests/fuzz/corpus, so that it is always tried.")
    return is_done


def fuzz(name, seconds, place):
    """Be the process of one reader; `place` is for what is known and what is found."""
    import atheris

    with atheris.instrument_imports(include=["clew"]):
        from tests.fuzz import targets
    from tests.fuzz.corpus import seeds

    target = next(one for one in targets.TARGETS if one.__name__ == name)
    known = place / "known"
    known.mkdir()
    for number, seed in enumerate(seeds(targets.TARGETS[target])):
        (known / str(number)).write_bytes(seed)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        f"-timeout={_SLOWEST_SECONDS}",
        f"-rss_limit_mb={_MOST_MEGABYTES}",
        f"-artifact_prefix={FOUND}/{name}-",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(known)], target)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
