"""An agent for tests that answers what a file says, once it is there: `asked.py DIRECTORY`, one file a question."""

import sys
import time
from pathlib import Path

if __name__ == "__main__":
    home = Path(sys.argv[1])
    number = len(list(home.glob("prompt-*.md"))) + 1
    (home / f"prompt-{number}.md").write_text(sys.stdin.read())
    (home / f"cwd-{number}").write_text(str(Path.cwd()))
    answer = home / f"answer-{number}.txt"
    deadline = time.monotonic() + 600
    while not answer.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    print(answer.read_text())
