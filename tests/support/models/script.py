"""What the scripted model says next: a worker that writes a file, commits it and ticks its box."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from tests.support.models.conversation import Tool

_SPEC_FILE = re.compile(r"(?:or )?edit (\S+?\.md)[.;,\s]")
_SHELLS = (
    "Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "run_command",
)  # fmt: skip
_FINDERS = ("ToolSearch", "tool_search")
_EMPTY = {
    "string": "scripted",
    "integer": 1,
    "number": 1,
    "boolean": False,
    "array": [],
    "object": {},
}


@dataclass(frozen=True)
class Answer:
    """One answer of a model: text, then calls of tools."""

    text: str
    calls: list[tuple[Tool, dict]] = field(default_factory=list)
    stop: str = "end"  # end, refusal, length
    usage: tuple[int, int] = (1000, 50)


def worker_answer(said):
    """The next step of a worker, or a short answer to what is not about a spec."""
    if said.spec is None:
        return Answer(_aside(said))
    return _worker_step(said) if said.tools else _without_tools(said)


def _worker_step(said):
    """Work, then the tick, then the end: each once, in this order."""
    shell, check = said.tool(*_SHELLS), said.tool("chant_check")
    finder, end = said.tool(*_FINDERS), said.tool("task_complete")
    if shell is None:
        return Answer("There is no shell to work with.")
    line = _work_line(said, ticks=check is None and finder is None)
    done = f"Done with {said.spec}: a greeting was added and committed. Nothing is open."
    steps = [("I write the file and commit it.", shell, _given(shell, line))]
    if check is not None:
        steps.append(("Now I tick the criterion.", check, {"id": said.spec, "number": 1}))
    elif finder is not None:
        steps.append(("I look for the tools.", finder, _search(finder)))
    if end is not None:
        steps.append(("That is all.", end, _filled(end.schema, {"summary": done})))
    todo = [step for step in steps if step[1].name not in said.called]
    return Answer(todo[0][0], [todo[0][1:]]) if todo else Answer(done)


def _work_line(said, *, ticks):
    number, spec = len(said.prompts), said.spec
    file = f"hello-{spec}-{number}.txt"
    line = (
        f"printf 'hello {number}\\n' > {file} && git add {file}"
        f" && {{ git diff --cached --quiet || git commit -q -m 'chant({spec}): add hello {number}'; }}"
    )
    found = _SPEC_FILE.search(said.prompts[-1])
    if ticks and found:
        line += f" && sed -i 's/- \\[ \\]/- [x]/' '{found.group(1)}'"
    return line


def _given(shell, line):
    kind = shell.schema.get("properties", {}).get("command", {}).get("type")
    words = ["bash", "-c", line] if kind == "array" else line
    return _filled(shell.schema, {"command": words, "cmd": line, "description": "Write and commit"})


def _search(finder):
    query = "select:mcp__chant__chant_check" if finder.name == "ToolSearch" else "chant_check"
    return _filled(finder.schema, {"query": query, "max_results": 5, "limit": 5})


def _filled(schema, known):
    """Arguments that fit a schema: what is known by name, and something for what is required."""
    fields = schema.get("properties") or {}
    needed = [name for name in schema.get("required") or [] if name not in known]
    given = {name: value for name, value in known.items() if name in fields}
    return given | {name: _example(fields.get(name, {})) for name in needed}


def _example(schema):
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type", "string")).lower()
    if kind == "object":
        return {name: _example(part) for name, part in (schema.get("properties") or {}).items()}
    return _EMPTY.get(kind, "scripted")


def _without_tools(said):
    """An agent that edits by what a model writes: a new file as a block, criteria in words."""
    number, spec = len(said.prompts), said.spec
    if said.is_told("commit message"):
        return Answer(f"chant({spec}): add hello {number}")
    if not said.edits_by_text:
        return Answer(_aside(said))
    block = f"<<<<<<< SEARCH\n=======\nhello {number}\n>>>>>>> REPLACE"
    text = f"hello-{spec}-{number}.txt\n```\n{block}\n```\n"
    return Answer(f"I add the file.\n\n{text}\nCriteria met: 1\n")


def _aside(said):
    """Titles, routers and summaries: JSON where a schema asks for it."""
    return json.dumps(_example(said.schema)) if said.schema else "Scripted title"
