"""A home with recorded transcripts in it, as the programs would have left them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.sessions.recording import FIXTURES, ROOT

PROGRAMS = ("claude", "codex", "opencode", "gemini", "copilot", "qwen", "aider")
_PLACES = {
    "claude": ".claude/projects/-home-ada-shop/{0}.jsonl",
    "codex": ".codex/sessions/2026/11/18/rollout-{0}.jsonl",
    "gemini": ".gemini/tmp/shop/chats/session-{0}.jsonl",
    "copilot": ".copilot/session-state/{0}/events.jsonl",
    "qwen": ".qwen/projects/-home-ada-shop/chats/{0}.jsonl",
}
_COLUMNS = {
    "project": "id, worktree",
    "session": "id, project_id, parent_id, directory, title, version, time_created, time_updated",
    "message": "id, session_id, time_created, time_updated, data",
    "part": "id, message_id, session_id, time_created, time_updated, data",
}


def recordings(program):
    """The transcripts of one program, the oldest first."""
    return sorted(FIXTURES.glob(f"{program}-*"))


def text_of(file, root):
    """A transcript as if it were about a project."""
    return file.read_text(encoding="utf-8").replace(ROOT, str(root))


def put(program, home, root):
    """Put a program's transcripts where it keeps them; the files."""
    made = []
    for number, file in enumerate(recordings(program), 1):
        text = text_of(file, root)
        if program == "opencode":
            path = home / ".local/share/opencode/opencode.db"
            path.parent.mkdir(parents=True)
            _database(path, text)
        else:
            place = root / ".aider.chat.history.md" if program == "aider" else None
            path = place or home / _PLACES[program].format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if program == "gemini":
            (path.parent.parent / ".project_root").write_text(str(root), encoding="utf-8")
        made.append(path)
    return made


def _database(path: Path, text):
    with closing(sqlite3.connect(path)) as database:
        for table, columns in _COLUMNS.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
        for line in text.splitlines():
            entry = json.loads(line)
            names = _COLUMNS[entry["table"]].split(", ")
            marks = ", ".join("?" * len(names))
            values = [entry["row"].get(name) for name in names]
            database.execute(f"INSERT INTO {entry['table']} VALUES ({marks})", values)
        database.commit()
