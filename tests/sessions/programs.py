"""The real programs, driven one request at a time against the scripted model."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.agents.install import PINS, cache
from tests.agents.setups import set_up
from tests.support.models.editor import Editor

PROGRAMS = ("claude", "codex", "opencode", "gemini", "copilot", "qwen", "aider")
SECONDS = 900
_CACHE = cache()  # before a test has another home
_PROXY = "http://127.0.0.1:9"  # nothing leaves this machine


def place_of(name):
    """The directory with a program's command; None where it is not installed."""
    base = _CACHE / f"{name}-{PINS[name]['version']}"
    if not (base / ".installed").exists():
        return None
    modules = base / "node_modules" / ".bin"
    return modules if modules.is_dir() else base / "bin"


def missing(names=PROGRAMS):
    """The programs that are not installed here."""
    return [name for name in names if place_of(name) is None]


def _words(name, request, session):
    on = [session] if session else []
    return {
        "claude": ["claude", "--print", "--output-format", "stream-json", "--verbose",
                   "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read",
                   *(["--resume", *on] if on else [])],
        "codex": ["codex", "exec", "--json", "--color", "never",
                  "--dangerously-bypass-approvals-and-sandbox",
                  *(["resume", *on] if on else []), request],
        "opencode": ["opencode", "run", "--format", "json",
                     *(["--session", *on] if on else []), request],
        "gemini": ["gemini", "--output-format", "stream-json", "--skip-trust", "--approval-mode",
                   "yolo", *(["--resume", *on] if on else []), "-p", request],
        "copilot": ["copilot", "--output-format", "json", "--no-color", "--no-auto-update",
                    "--no-ask-user", "--disable-builtin-mcps", "--allow-all",
                    *([f"--resume={session}"] if on else []), "-p", request],
        "qwen": ["qwen", "--output-format", "stream-json", "--approval-mode", "yolo",
                 *(["--resume", *on] if on else []), "-p", request],
        "aider": ["aider", "--model", "openai/gpt-4o", "--yes-always", "--no-stream", "--no-pretty",
                  "--no-check-update", "--no-gitignore", "--no-auto-commits", "--message", request],
    }[name]  # fmt: skip


@dataclass
class Desk:
    """A project, a home and the programs that work there."""

    directory: Path
    service: object
    names: tuple[str, ...] = PROGRAMS
    editors: dict[str, Editor] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def root(self):
        """The project."""
        return self.directory / "shop"

    @property
    def home(self):
        """The user's home."""
        return self.directory / "home"

    def make(self):
        """Make the project and settings of every program."""
        for path in (self.root, self.home, self.directory / "tmp"):
            path.mkdir(parents=True)
        places = [str(place_of(name)) for name in (*self.names, "node") if place_of(name)]
        self.environment = {
            "PATH": os.pathsep.join([*places, os.environ["PATH"]]), "HOME": str(self.home),
            "PWD": str(self.root), "TMPDIR": str(self.directory / "tmp"), "USER": "ada", "CI": "1",
            "LANG": "C.UTF-8", "TZ": "UTC", "HTTP_PROXY": _PROXY, "HTTPS_PROXY": _PROXY,
            "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
        }  # fmt: skip
        self._own = {}
        for name in self.names:
            case = self.service.case(name)
            case.script = self.editors[name] = Editor(str(self.root))
            self._own[name] = set_up(name, self.home, self.service.url(name))
        self.run("git", "init", "-q", "-b", "main")
        for key, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
            self.run("git", "config", key, value)

    def ask(self, name, request, steps, session=None):
        """Hand a program a request that the model answers with these steps."""
        self.editors[name].plans = {request: steps}
        given = request if name == "claude" else ""
        done = subprocess.run(
            _words(name, request, session), cwd=self.root, input=given, capture_output=True,
            text=True, timeout=SECONDS, check=False, env=self.environment | self._own[name],
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{name}: {(done.stderr or done.stdout)[-800:]}")
        return done.stdout

    def run(self, *words, variables=None):
        """Run a command in the project; what it prints."""
        environment = self.environment | (variables or {})
        done = subprocess.run(
            words, cwd=self.root, env=environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout
