"""Clew as users have it: a wheel, installed with its bytecode into an environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measurement.process import clean_environment

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "benchmarks" / "servers"
HOW = (
    "Clew is measured as users have it: a wheel built from this tree and installed by pip, with "
    "its bytecode compiled, into a virtual environment of its own (without its dependencies, "
    "which no server start imports)."
)


@dataclass(frozen=True)
class Installation:
    """An environment in which Clew is installed."""

    directory: Path

    @property
    def python(self) -> str:
        """The environment's interpreter."""
        return str(self.directory / "bin" / "python")

    def script(self, name: str) -> str:
        """A console script of the wheel."""
        return str(self.directory / "bin" / name)

    def server(self, name: str) -> list[str]:
        """The command that runs a copy of one of the servers beside this file."""
        return [self.python, str(self.directory / SERVERS.name / f"{name}.py")]


def install(scratch: Path) -> Installation:
    """Build the wheel and install it; needs no network."""
    wheels = scratch / "wheels"
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)], scratch)
    environment = scratch / "installed"
    venv.create(environment, symlinks=True)
    made = Installation(environment)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheel = str(next(wheels.glob("*.whl")))
    _run(
        [*pip, "--python", made.python, "install", "--no-deps", "--no-index", "--compile", wheel],
        scratch,
    )
    servers = environment / SERVERS.name
    shutil.copytree(SERVERS, servers, ignore=shutil.ignore_patterns("__pycache__"))
    _run([made.python, "-m", "compileall", "-q", str(servers)], scratch)
    return made


def _run(command: list[str], home: Path) -> None:
    done = subprocess.run(
        command, cwd=ROOT, env=clean_environment(home), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
