"""Transcripts of the real programs kept as fixtures: `python -m tests.sessions.recording`.

Kept is what the scripted model made them write, and none of the programs' own instructions.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.agents.install import PINS
from tests.sessions.programs import PROGRAMS, Desk, place_of
from tests.support.models.editor import Step
from tests.support.models.service import model_service

FIXTURES = Path(__file__).parent / "transcripts"
HOME, ROOT = "/home/ada", "/home/ada/shop"
FIRST = "Add a module that adds numbers"
SECOND = "Now let add take three numbers, and commit it"
CALC = '"""Numbers."""\n\n\ndef add(a, b):\n    """Sum."""\n    return a + b\n'
OLD = 'def add(a, b):\n    """Sum."""\n    return a + b\n'
NEW = 'def add(a, b, c):\n    """Sum of three."""\n    return a + b + c\n'
COMMIT = 'git add calc.py && git commit -qm "Add three" && git rev-parse HEAD && false'
PLACES = {
    "claude": ".claude/projects/*/*.jsonl",
    "codex": ".codex/sessions/*/*/*/*.jsonl",
    "gemini": ".gemini/tmp/*/chats/*.jsonl",
    "copilot": ".copilot/session-state/*/events.jsonl",
    "qwen": ".qwen/projects/*/chats/*.jsonl",
}
_TABLES = ("project", "session", "message", "part")


def record(name, service):
    """Have one program work, and keep its transcript."""
    directory = Path(tempfile.mkdtemp(prefix="clew-record-"))
    desk = Desk(directory, service, (name,))
    desk.make()
    (desk.root / "README.md").write_text("hello\n", encoding="utf-8")
    desk.run("git", "add", ".")
    desk.run("git", "commit", "-qm", "begin")
    desk.ask(name, FIRST, [Step("write", "calc.py", new=CALC)])
    steps = [Step("edit", "calc.py", old=OLD, new=NEW), Step("shell", command=COMMIT)]
    desk.ask(name, SECOND, steps)
    for number, text in enumerate(_texts(name, desk), 1):
        clean = text
        for path, shown in ((desk.root, ROOT), (desk.home, HOME), (directory, "/home")):
            clean = clean.replace(str(path), shown).replace(_slug(path), _slug(shown))
        kind = "md" if name == "aider" else "jsonl"
        file = FIXTURES / f"{name}-{PINS[name]['version']}-{number}.{kind}"
        file.write_text(clean, encoding="utf-8")
        print(file.name, len(clean))
    shutil.rmtree(directory, ignore_errors=True)


def _slug(path):
    return str(path).replace("/", "-").replace(".", "-")


def _texts(name, desk):
    if name == "aider":
        text = (desk.root / ".aider.chat.history.md").read_text(encoding="utf-8")
        program = str(place_of(name) / name)
        return [text.replace(program, "aider")]
    if name == "opencode":
        return [_rows(desk.home / ".local/share/opencode/opencode.db")]
    files = sorted(desk.home.glob(PLACES[name]), key=lambda path: path.stat().st_mtime_ns)
    return ["".join(_kept(name, file)) for file in files]


def _rows(path):
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        lines = [
            json.dumps({"table": table, "row": dict(row)})
            for table in _TABLES
            for row in database.execute(f"SELECT * FROM {table}")
        ]
    return "\n".join(lines) + "\n"


def _kept(name, file):
    """The lines without the program's own instructions."""
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        kind = entry.get("type")
        payload = entry.get("payload") or {}
        if name == "claude" and kind not in ("user", "assistant", "cost-state", "last-prompt"):
            continue
        if name == "codex" and (kind == "world_state" or payload.get("role") == "developer"):
            continue
        if name == "copilot" and kind == "system.message":
            continue
        if "<session_context>" in line:
            continue
        if "base_instructions" in payload:
            payload["base_instructions"] = {}
        yield json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n"


def main(names):
    """Record the programs that are installed."""
    with model_service() as service:
        for name in names or PROGRAMS:
            if place_of(name) is None:
                print(f"{name} is not installed: `make agents` installs it")
            else:
                record(name, service)


if __name__ == "__main__":
    main(sys.argv[1:])
