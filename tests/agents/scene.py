"""One project with its own home, user and scripted model, and what Clew and git say about it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.agents.setups import MODELS, set_up

NOTES, EDIT = "My own notes.\n", "hello\nAn edit of mine.\n"
_SECONDS = 300
# Whatever a developer's own agents have set must not reach the programs under test.
# Nothing leaves this machine: whatever is not on loopback meets a closed door at once.
_NO_NETWORK = {
    **dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
    ),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


@dataclass
class Scene:
    """A scratch project for one cell of the matrix."""

    directory: Path
    agents: tuple[str, ...]
    programs: tuple[Path, ...]
    urls: dict[str, str]
    user: int | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def root(self):
        """The project: the user's own checkout."""
        return self.directory / "project"

    @property
    def home(self):
        """The home of its user."""
        return self.directory / "home"

    def make(self, idle_minutes, agent=None):
        """Make home and project; `agent` is the one in the project's settings."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.root.mkdir()
        (self.directory / "tmp").mkdir()
        path = os.pathsep.join([*map(str, self.programs), os.environ["PATH"]])
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self.environment = {
            **kept, **_NO_NETWORK, "HOME": str(self.home), "PATH": path, "PWD": str(self.root),
            "TMPDIR": str(self.directory / "tmp"), "USER": "tester", "LOGNAME": "tester", "CI": "1",
        }  # fmt: skip
        for name in self.agents:
            self.environment |= set_up(name, self.home, self.urls[name])
        gitconfig = (
            "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n"
        )
        (self.home / ".gitconfig").write_text(gitconfig, encoding="utf-8")
        settings = self.root / ".chant" / "config.md"
        settings.parent.mkdir()
        settings.write_text(_settings(agent or self.agents[0], idle_minutes), encoding="utf-8")
        (self.root / "README.md").write_text("hello\n", encoding="utf-8")
        self._give_to_user()
        self.git("init", "-q", "-b", "main")
        self.chant("init", "--name", "demo")

    def add_spec(self, number, agent=None):
        """A spec with one criterion and the command that checks it; its id."""
        said = self.chant("add", f"Say hello {number}", "--json")
        spec = json.loads(said.stdout)["data"]["id"]
        path = self.spec_file(spec)
        text = path.read_text(encoding="utf-8")
        if agent:
            text = text.replace("---\n", f"---\nprovider: {agent}\n", 1)
        criteria = (
            f"\nAdd a file hello-{spec}-1.txt with a greeting.\n\n## Acceptance Criteria\n\n"
            f"- [ ] There is a greeting\n  check: test -f hello-{spec}-1.txt\n"
        )
        path.write_text(text + criteria, encoding="utf-8")
        return spec

    def settle(self):
        """Commit what is there; then the user goes on with work of their own."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "begin")
        (self.root / "notes.txt").write_text(NOTES, encoding="utf-8")
        (self.root / "README.md").write_text(EDIT, encoding="utf-8")
        self._give_to_user()

    def spec_file(self, spec):
        """The file of a spec."""
        return self.root / ".chant" / "specs" / f"{spec}.md"

    def chant(self, *words, seconds=_SECONDS, check=True):
        """Run `chant`, as the scene's user."""
        return self.run("chant", *words, seconds=seconds, check=check)

    def git(self, *words):
        """What git prints in the user's checkout."""
        return self.run("git", *words, seconds=60).stdout

    def run(self, *words, seconds, check=True):
        """Run a command in the project; too long is the same as a failure."""
        program = shutil.which(words[0], path=self.environment["PATH"])
        with subprocess.Popen(
            [program, *words[1:]], cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            **self._as_user(),
        ) as child:  # fmt: skip
            try:
                out, errors = child.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
                out, errors = "", f"not done within {seconds} s"
        done = subprocess.CompletedProcess(words, child.returncode, out, errors)
        if check and done.returncode:
            raise Broken(f"{' '.join(words[:3])}: {errors.strip() or out.strip()}")
        return done

    def status(self, spec):
        """The status in the spec's file."""
        lines = self.spec_file(spec).read_text(encoding="utf-8").splitlines()
        return next(
            (line.partition(":")[2].strip() for line in lines if line.startswith("status:")), ""
        )

    def runs(self, spec):
        """Clew's record of the spec's runs, newest first."""
        return json.loads(self.chant("runs", spec, "--json").stdout)["data"]["runs"]

    def subjects(self, ref="main"):
        """The subjects of the commits on a branch."""
        return self.git("log", "--format=%s", ref).splitlines()

    def close(self, *, keep=False):
        """End what still runs, and remove the directory."""
        with suppress(Broken):
            self.chant("pause", "--all", seconds=60, check=False)
            self.chant("watch", "--stop", seconds=60, check=False)
        _end_processes(self.directory)
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _as_user(self):
        user = self.user
        return {} if user is None else {"user": user, "group": user, "extra_groups": []}

    def _give_to_user(self):
        if self.user is not None:
            for path in (self.directory, *self.directory.rglob("*")):
                os.chown(path, self.user, self.user, follow_symlinks=False)


class Broken(Exception):
    """A command of the proof itself failed."""


def _settings(agent, idle_minutes):
    model = f"  model: {MODELS[agent]}\n" if agent in MODELS else ""
    return (
        f"---\nproject:\n  name: demo\ndefaults:\n  provider: {agent}\n{model}"
        f"work:\n  idle_minutes: {idle_minutes:g}\n  wall_minutes: 8\n---\n"
    )


def _end_processes(directory):
    """End what was started for this scene and is still there: its environment names the directory."""
    mark = f"HOME={directory}/home".encode()
    for _ in range(20):
        found = [pid for pid in _pids() if mark in _environment(pid)]
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.1)


def _pids():
    return [
        int(path.name) for path in Path("/proc").glob("[0-9]*") if int(path.name) != os.getpid()
    ]


def _environment(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
