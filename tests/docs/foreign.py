"""A repository of somebody else, as the first five minutes meet it: four years, three people, no specs."""

from __future__ import annotations

import os
import subprocess

STORE = "src/notes/store.py"
PAGER = "src/notes/pager.py"
TESTS = "tests/test_store.py"
_SAVE = 'def save(path, text):\n    """Write a note."""\n    with open(path, "w") as file:\n        file.write(text)\n'
_ATOMIC = (
    'import os\n\n\ndef save(path, text):\n    """Write a note; a crash leaves the old one."""\n'
    '    part = f"{path}.part"\n    with open(part, "w") as file:\n        file.write(text)\n'
    "    os.replace(part, path)\n"
)
_PAGE = 'def page(text, height):\n    """The first screen of a text."""\n    return text.split("\\n")[:height]\n'
_COMMITS = (
    ("Ada", 1640000000, {"README.md": "# Notes\n\nKeeps notes as files.\n"}, "Say what notes is"),
    ("Ada", 1641000000, {STORE: _SAVE, TESTS: "from notes.store import save\n"}, "Save notes as files (#3)"),
    ("Ben", 1655000000, {PAGER: _PAGE}, "Show long notes in pages\n\nPeople lost the beginning of long notes."),
    (
        "Ben", 1672000000,
        {STORE: _ATOMIC, TESTS: "from notes.store import save\n\n\ndef test_crash():\n    pass\n"},
("Write notes atomically (#17)\n\nA crash in the middle of a write left half a note. The text goes"
        " to a second\nfile first, which then takes the place of the old one.\n\nFixes #12\n"
        "Reviewed-by: Ada <ada@notes.example>"),
    ),
    ("Cem", 1700000000, {PAGER: _PAGE.replace("[:height]", "[: max(1, height)]")}, "Show at least one line"),
)  # fmt: skip


def make_foreign_repository(place):
    """Write the repository `notes` into a directory."""
    root = place / "notes"
    root.mkdir()
    _git(root, "init", "--quiet", "--initial-branch=main")
    for author, seconds, files, message in _COMMITS:
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        _git(root, "add", "--all")
        _git(root, "commit", "--quiet", "--message", message, author=author, seconds=seconds)


def _git(root, *words, author="Ada", seconds=0):
    who = {"NAME": author, "EMAIL": f"{author.lower()}@notes.example", "DATE": f"{seconds} +0000"}
    roles = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    subprocess.run(["git", *words], cwd=root, env=os.environ | roles, check=True, timeout=60)
