"""`make try`: from a vision to a line of code and back, on a throw-away project.

No network, no key, no model: a scripted agent works on two specs in worktrees of their own. The
project stays where it was made, to look around in.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
# Variables that would lead a host's or our own files out of the throw-away home.
_ELSEWHERE = ("CLAUDE_", "CODEX_", "COPILOT_", "CLEW_", "COMMITMUX_", "CHANT_", "XDG_", "GIT_")

DESCRIPTION = (
    "Shop owners must be able to add products with a price in cents. Customers can put products into"
    " a cart and see the total. Goal: 50 shops sell online within 6 months. Not in scope: payments."
)
REQUIREMENTS = (
    "The cart is kept in memory and not in a database, because nothing has to be installed; a cart"
    " is lost when the program ends."
)
# What an agent that read those would hand in.
DRAFTS = ROOT / "scripts" / "drafts"
CONFIG = """\
---
project:
  name: Corner shop
defaults:
  prompt: standard
  provider: command
  command: [{python}, {agent}]
---
"""


class Story:
    """A project of its own, in a home of its own."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.project = place / "shop"
        for directory in (self.home, self.project):
            directory.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_ELSEWHERE)}
        self.environment = {
            **kept,
            "HOME": str(self.home),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }

    def run(self, *words: str, quiet: bool = False) -> str:
        """Show a command, run it as a user would, and end the story if it fails."""
        shown = " ".join(word if word and " " not in word else f"'{word}'" for word in words)
        print(f"$ {shown}", flush=True)
        done = subprocess.run(
            words, cwd=self.project, env=self.environment, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
        if not quiet or done.returncode:
            print(done.stdout.rstrip("\n"), flush=True)
        if done.returncode:
            print(done.stderr, file=sys.stderr, flush=True)
            raise SystemExit(f"That command failed with exit code {done.returncode}.")
        return done.stdout

    def advise(self, advisor: str, *words: str) -> None:
        """Show an advisor what was said, and the draft for it."""
        draft = DRAFTS / f"{advisor}.json"
        self.run("clew", "advise", advisor, *words, "--conversation", "shop", "--draft", str(draft))


def say(title: str) -> None:
    """Announce a step."""
    print(f"\n== {title}", flush=True)


def begin(story: Story) -> None:
    """A repository with one commit."""
    settings = {"user.name": "Ada", "user.email": "ada@example.com", "init.defaultBranch": "main"}
    for key, value in settings.items():
        story.run("git", "config", "--global", key, value, quiet=True)
    story.run("git", "init", "--quiet", ".")
    (story.project / "README.md").write_text("# Corner shop\n", encoding="utf-8")
    (story.project / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    story.run("git", "add", "README.md", ".gitignore")
    story.run("git", "commit", "--quiet", "-m", "Begin")


def intend(story: Story) -> None:
    """Vision, architecture, specs."""
    say("What is it for? The agent drafts a vision, each statement with its quote")
    story.advise("vision", DESCRIPTION)
    say("How is it built? An architecture, and a decision that somebody takes")
    story.advise("architecture", "Corner shop", REQUIREMENTS)
    story.run("clew", "advise", "decide", "1", "accepted")
    say("What is to be done? Specs, each with where it comes from")
    story.run("clew", "spec", "init", "--minimal")
    config = CONFIG.format(python=sys.executable, agent=ROOT / "scripts" / "scripted_agent.py")
    (story.project / ".chant" / "config.md").write_text(config, encoding="utf-8")
    story.run("clew", "advise", "refine")
    story.run("git", "add", "-A")
    story.run("git", "commit", "--quiet", "-m", "Write down what the shop is to be")


def work(story: Story) -> None:
    """Two agents in two worktrees, and the merge queue."""
    say("Two agents, each in a worktree of its own, then the merge queue")
    story.run("clew", "work", "--parallel", "2", "--no-watch")
    story.run("clew", "list")
    story.run("git", "log", "--oneline", "--graph")


def ask(story: Story) -> str:
    """The thread from a line to the vision; the first question reads the history in."""
    say("Why is this line here?")
    lines = (story.project / "cart.py").read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "return sum" in line)
    told = story.run("clew", "why", f"cart.py:{number}", "--full")
    say("The whole thread, with its gaps")
    story.run("clew", "trace")
    return told


def main() -> int:
    """The story from its beginning; fails if the thread does not reach the vision."""
    started = time.monotonic()
    story = Story(Path(tempfile.mkdtemp(prefix="clew-try-")))
    begin(story)
    intend(story)
    work(story)
    told = ask(story)
    for part in ("chant(", "ADR-0001", "FE-2", "docs/vision.md"):
        if part not in told:
            raise SystemExit(f"The thread is broken: `why` does not tell of {part}")
    say(f"Done in {time.monotonic() - started:.0f} s. Look around:")
    print(f"  cd {story.project}")
    print(f"  export HOME={story.home} PATH={BIN}:$PATH")
    print("  clew brief 'change the cart'    clew recall 'price in cents'    clew web")
    return 0


if __name__ == "__main__":
    sys.exit(main())
