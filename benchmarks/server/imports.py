"""Imports: what each dependency costs when it is imported, against starting Python itself."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import Sample, compare, interleave
from benchmarks.results.report import Claim, Figure

NAME = "imports"
TITLE = "Imports: what each dependency costs"
FULL = {"rounds": 15}
QUICK = {"rounds": 2}
PYTHON = "python alone"
SERVER = "clew's server, up to its first answer"
# What Clew imports of each package, where it imports it.
MODULES = {
    "click": "click",
    "psutil": "psutil",
    "rich": "rich.table",
    "ruamel.yaml": "ruamel.yaml",
    "tomlkit": "tomlkit",
    "zstandard": "zstandard",
    "jinja2": "jinja2",
    "markdown-it-py": "markdown_it",
    "nh3": "nh3",
    "pygal": "pygal",
    "starlette": "starlette.applications",
    "uvicorn": "uvicorn",
    "numpy": "numpy",
    "wordllama": "wordllama",
    "pydantic-ai-slim": "pydantic_ai",
}
_SERVING = "clew.protocol.stdio.server, clew.protocol.kernel.kernel, clew.program"
NOTES = [
    "Each sample is a process of its own, files in the cache; the time of Python alone is in it.",
    f"For comparison, {SERVER}, is `import {_SERVING}`; none of the packages is imported for it.",
]


def run(bench: Bench) -> Claim:
    """Measure every package that is installed, in turns."""
    there = {name: module for name, module in MODULES.items() if find_spec(module.split(".")[0])}
    programs = {PYTHON: "", SERVER: f"import {_SERVING}"}
    programs |= {name: f"import {module}" for name, module in there.items()}
    variants = {name: partial(_started, program) for name, program in programs.items()}
    series = interleave(variants, bench["rounds"], say=bench.say)
    figures = [
        Figure("import", name, PYTHON, "ms", compare(series[name], series[PYTHON], "ms"))
        for name in programs
        if name != PYTHON
    ]
    missing = {name: "it is not installed" for name in MODULES if name not in there}
    return Claim(NAME, TITLE, {"packages": str(len(there))}, NOTES, missing, figures)


def _started(program: str) -> Sample:
    words = [sys.executable, "-c", program]
    begun = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    return {"ms": (time.perf_counter() - begun) * 1000}
