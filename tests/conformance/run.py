"""Let the official judges judge: conformance suite over HTTP, Inspector over stdio.

Installs both from the npm registry into `.conformance/` at the versions pinned beside this
file, with a Node.js new enough to run them. Exits non-zero when anything required fails.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TOOLS = ROOT / ".conformance"
NODE_VERSION = "22.23.3"
REQUIREMENT_SETS = ("2025-11-25", "2026-07-28")
ERAS = ("legacy", "modern", "auto")


def install() -> str:
    """Install the judges; returns the Node.js to run them with."""
    if shutil.which("npm") is None:
        sys.exit("make conformance needs npm (Node.js); install it and try again.")
    TOOLS.mkdir(exist_ok=True)
    shutil.copy(HERE / "package.json", TOOLS / "package.json")
    node = shutil.which("node") or ""
    packages = []
    if _major(node) < 22:
        system, machine = platform.system().lower(), platform.machine()
        architecture = {"x86_64": "x64", "aarch64": "arm64"}.get(machine, machine)
        package = f"node-{system}-{architecture}"
        packages = [f"{package}@{NODE_VERSION}"]
        node = str(TOOLS / "node_modules" / package / "bin" / "node")
    _npm("install", *packages)
    return node


def _major(node: str) -> int:
    if not node:
        return 0
    words = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return int(words.strip().lstrip("v").split(".")[0] or 0)


def _npm(*words: str) -> None:
    quiet = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    subprocess.run(["npm", *words, *quiet], cwd=TOOLS, check=True, timeout=600)


@contextmanager
def everything_server():
    """The service with one of everything, on a free port; yields its URL."""
    command = [sys.executable, "-m", "tests.support.everything", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def run_suite(node: str, url: str, requirements: str) -> bool:
    """One requirement set; prints the summary."""
    suite = TOOLS / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = [node, str(suite), "server", "--url", url, "--requirements", requirements]
    done = subprocess.run(
        command, cwd=TOOLS, capture_output=True, text=True, timeout=600, check=False
    )
    summary = done.stdout.partition("=== SUMMARY ===")[2].strip()
    print(f"\n== conformance {requirements} (exit code {done.returncode})\n{summary}")
    return done.returncode == 0 and "Total:" in summary


def run_inspector(node: str, era: str) -> bool:
    """The Inspector lists and calls the product's own tools in one era."""
    inspector = TOOLS / "node_modules/.bin/mcp-inspector"
    script = str(Path(sys.executable).with_name("clew"))
    base = [node, str(inspector), "--cli", script, "serve", "--protocol-era", era]
    calls = {
        "tools/list": ["--method", "tools/list", "--strict"],
        "tools/call": ["--method", "tools/call", "--tool-name", "clew_guide"],
        "resources/list": ["--method", "resources/list"],
    }
    passed = True
    for name, words in calls.items():
        done = subprocess.run(
            [*base, *words, "--format", "json"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        good = done.returncode == 0 and "result" in json.loads(done.stdout or "{}")
        print(f"{'ok  ' if good else 'FAIL'} inspector {era}: {name}")
        if not good:
            print(done.stdout[-2000:], done.stderr[-2000:])
        passed = passed and good
    return passed


def main() -> int:
    """Run every judge; the exit code."""
    node = install()
    verdicts = [run_inspector(node, era) for era in ERAS]
    with everything_server() as url:
        verdicts += [run_suite(node, url, requirements) for requirements in REQUIREMENT_SETS]
    failed = verdicts.count(False)
    print(f"\njudges: {len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
