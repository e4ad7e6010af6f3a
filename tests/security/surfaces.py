"""Every command of every face, with all of its ways to ask, called in this process."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import click

from clew.catalog.command_table import COMMANDS
from clew.cli.core.app import run
from clew.cli.faces import build_group
from clew.web.app import ROUTES
from tests.specs.tools.project import boxes, write_spec
from tests.support.client import BIN
from tests.support.http import http_server

# Servers; their tools and pages are asked one by one.
ENDLESS = {"serve", "mcp", "web", "webhooks"}
# Starting these is consent to what the project names: SECURITY.md.
WORKING = {"work", "resume", "release", "takeover", "merge", "cleanup"}
# What a team's database is for.
TEAM = {"team", "worker"}
# Called after all others, which need what these take away.
LAST = {"remove-repo", "uninit", "cancel", "archive", "delete", "off", "forget"}
# Ways to ask that go on until they are stopped, or start work.
STAYING = {"--watch", "-f", "--background", "--http", "--open", "--detach", "--queue", "--json"}
# What commands are asked for where their arguments alone do not say it.
GIVEN = {
    "clew show": "{sha}", "clew blame": "{path}", "clew owners": "{path}",
    "clew co-change": "{path}", "clew culprit": "{path}:1", "clew hunks": "{sha}", "clew init": "--host cursor", "clew worker": "--once",
    "clew history add-repo": "{root} --name again", "clew history watch": "--once",
    "clew history attach": "{file} --name given", "clew history file-history": "{path}",
    "clew history line-history": "{path} 1", "clew history similar": "{sha}",
    "clew history links": "{sha}",
    "clew history fixed-by": "{sha}",
    "clew history contains": "{sha}", "clew command new": "git create more --from git/create/issue",
    "clew command run": "git create issue --uv-name=x", "clew sessions forget": "{session}", "clew sessions off": "--keep",
    "clew sessions export": "--commit {sha}",
    "clew spec update": "{id} --label x", "clew spec finalize": "{done} --allow-no-commits",
    "clew spec reset": "{failed}", "clew spec archive": "{done}", "clew spec template": "kept",
    "clew team add-repos": "{addresses}", "clew team ask": "1 cancel", "clew team logs": "1",
    "clew team import": "{database}", "clew team export": "{repo} {file}.team", "clew watch": "--dry-run --once",
    "clew advise vision": "{description} --conversation {conversation_id}",
}  # fmt: skip
# More ways to ask, each with another path through the code.
VARIANTS = (
    ("chant", "merge", "--list"),
    ("chant", "merge", "--dry-run", "--all"),
    ("chant", "cleanup", "--dry-run"),
    ("chant", "list", "{text}"),
    ("clariad", "review", "{id}", "--range", "HEAD~2..HEAD"),
    ("clew", "why", "{sha}"),
    ("clew", "why", "{path}"),
    ("clew", "why", "{symbol}"),
    ("clew", "why", "docs"),
    ("clew", "recall", "{text}", "--kind", "session"),
    ("clew", "trace", "--recent", "10"),
    ("clew", "sessions", "show", "{session}", "--turn", "1"),
    ("commitmux", "sync", "--full"),
    ("commitmux", "gc", "--dry-run"),
    ("commitmux", "culprit", "{repo}", "{sha}"),
    ("clew", "trust", "--all"),
    ("clew", "doctor", "--fix"),
)
SESSION = "0f0f0f0f-1111-2222-3333-444444444444"


class Line(NamedTuple):
    """A command line, and the name of its command."""

    name: str
    words: tuple[str, ...]

    @property
    def works(self):
        """Whether it is work that a person starts, and not only a question about it."""
        asks = {"--list", "--dry-run"} & set(self.words)
        return self.words[1] in WORKING and not asks


def leaves(group, words):
    """Each command below a group with its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        elif command is not None:
            yield (*words, name), command


def command_lines(usual, left_out=ENDLESS, *, with_options=False):
    """Each command once, whatever the number of its faces, with a value for each argument.

    With options: also with each flag and each choice that it has, one at a time.
    """
    lines = list(_command_lines(usual, left_out, with_options))
    return sorted(lines, key=lambda line: bool(LAST & set(line.words[:4])))


def _command_lines(usual, left_out, with_options):
    seen = set()
    for face in COMMANDS:
        for words, command in leaves(build_group(face), (face,)):
            if command.callback in seen or left_out & set(words):
                continue
            seen.add(command.callback)
            name = " ".join(words)
            given = tuple(_given(name, command, usual))
            if words[1] in TEAM:
                given = (*given, "--database", usual["team"])
            yield Line(name, (*words, *given))
            for option in _options(command) if with_options else ():
                yield Line(f"{name} {option[0]}", (*words, *given, *option))
    for words in VARIANTS:
        if not left_out & set(words):
            yield Line(" ".join(words), tuple(word.format(**usual) for word in words))


def first_questions(usual):
    """The command lines that read a repository in if it is not in the index yet."""
    lines = command_lines(usual, ENDLESS | TEAM, with_options=True)
    return [
        line._replace(words=line.words[:-1]) for line in lines if line.words[-1] == "--no-index"
    ]


def _given(name, command, usual):
    """Values for what a command takes."""
    if name in GIVEN:
        return [word.format(**usual) for word in GIVEN[name].split()]
    given = []
    for one in command.params:
        if isinstance(one, click.Argument) and (one.required or one.name in usual):
            value = usual.get(one.name, usual["text"])
            given += [str(each) for each in (value if isinstance(value, list) else [value])]
        elif isinstance(one, click.Option) and one.required:
            given += [one.opts[0], usual.get(one.name, "x")]
    return given


def _options(command):
    """Each flag and each choice of a command."""
    for one in command.params:
        if not isinstance(one, click.Option) or STAYING & {*one.opts}:
            continue
        if one.is_flag:
            yield (one.opts[0],)
        elif isinstance(one.type, click.Choice):
            yield from ((one.opts[0], choice) for choice in one.type.choices)


def call(words):
    """Run a command line here; its exit code."""
    return run(build_group(words[0]), words[0], list(words[1:]))


def page_paths(usual):
    """The address of every page of the board."""
    parts = {**usual, "path": "README.md", "name": "x"}
    return [
        re.sub(r"{(\w+)(?::path)?}", lambda part: parts[part[1]], route.path)
        for _, route in ROUTES
        if "GET" in route.methods and not {"static", "live"} & set(route.path.split("/"))
    ]


def visited(root, database, pages):
    """Each page with its status and text, of a board that may only be read."""
    command = (BIN / "clew", "web", "--read-only", "--port", "0", "--project", root)
    with http_server([str(word) for word in (*command, "--db", database)]) as server:
        _, got, _ = server.send("GET", path=server.url.partition(server.address.netloc)[2])
        cookie = {"Cookie": got["set-cookie"].partition(";")[0]}
        for path in pages:
            status, _, body = server.send("GET", path=path, headers=cookie)
            yield path, status, body.decode()


def furnish(root, home, text):
    """Put what commands look for into a project and a home, all of it with this text.

    Returns the words by which commands find it.
    """
    outside = root.parent
    for number, status, state in ((3, "failed", False), (4, "completed", True)):
        body = f"Body {text}\n\n{boxes(state, state)}"
        write_spec(root, f"2026-01-01-00{number}-xyz", f"Other {text}", status=status, body=body)
    made = {
        ".chant/logs/2026-01-01-001-abc.log": f"agent says {text}\n",
        ".chant/templates/kept.md": f"---\nname: kept\n---\n# {{{{name}}}} {text}\n",
        ".agent/climpt/prompts/git/create/issue/f_default.md":
            f"---\ntitle: {json.dumps(text)}\n---\nDo {{uv-name}} {text}\n",
        "docs/adr/0001-keep-it.md":
            f"# 1. Keep it {text}\n\nDate: 2026-01-01\n\n## Status\n\nProposed\n\n## Decision\n\nx\n",
        "../given/.claude/commands/told.md": f"---\ndescription: {json.dumps(text)}\n---\nDo {text}\n",
    }  # fmt: skip
    for name, content in made.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
    (outside / "addresses").write_text("told http://127.0.0.1:9/told\n")
    spec = root / ".chant" / "specs" / "2026-01-01-003-xyz.md"
    for name in ("base", "ours", "theirs"):
        (outside / name).write_bytes(spec.read_bytes())
    _transcript(root, home, text)
    return {
        "failed": spec.stem, "done": "2026-01-01-004-xyz", "session": SESSION,
        "addresses": str(outside / "addresses"), "root": str(root), "file": str(outside / "file"),
        **{name: str(outside / name) for name in ("base", "ours", "theirs")},
        "source": str(outside / "given"), "secret_file": str(outside / "addresses"),
    }  # fmt: skip


def _transcript(root, home, text):
    """What Claude Code keeps of a session in which it wrote a file of the project."""
    base = {"sessionId": SESSION, "cwd": str(root), "version": "2", "gitBranch": f"b {text}"}
    edit = {
        "type": "tool_use",
        "id": "t1",
        "name": "Write",
        "input": {"file_path": str(root / "told.py"), "content": "def told():\n    return 1\n"},
    }
    ran = {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": f"echo {text}"}}
    said = {"type": "text", "text": f"I said words {text}"}
    result = [
        {"type": "tool_result", "tool_use_id": name, "content": text} for name in ("t1", "t2")
    ]
    talk = (
        ("user", f"Please write words {text}"), ("assistant", [said, edit, ran]), ("user", result),
    )  # fmt: skip
    lines = [
        json.dumps(base | {"type": who, "uuid": f"u{number}", "timestamp": f"2026-01-01T00:00:0{number}Z",
                           "message": {"role": who, "model": f"m {text}", "content": content}})
        for number, (who, content) in enumerate(talk)
    ]  # fmt: skip
    path = home / ".claude" / "projects" / "-project" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")
