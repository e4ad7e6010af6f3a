"""A small agent for models that only answer: OpenAI-compatible services and Ollama.

`python -m clew.work.agents.builtin --api openai|ollama --model NAME` reads its prompt from standard
input, works in the current directory through a few tools that are confined to it, and prints the
same stream of JSON lines as larger agents do.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import ClewError, Invalid
from clew.kit.jsontext import JsonObject
from clew.kit.text.display import os_reason
from clew.work.agents.completions import Reply, Retry, Service, ServiceFailed, Usage
from clew.work.processes.child import run_command

_LARGEST_FILE = 256 * 1024
_LONGEST_OUTPUT = 32 * 1024
_MOST_FILES = 2000
_COMMAND_SECONDS = 600
_WRITING = ("write_file", "run_command")
_TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "read_file": ("Read a text file", {"path": "Path of the file"}),
    "write_file": (
        "Write a file, replacing what is there",
        {"path": "Path of the file", "content": "The whole new text"},
    ),
    "list_files": ("List the files below a directory", {"path": "Directory; . is the top"}),
    "run_command": ("Run a shell command and see its output", {"command": "The command line"}),
    "task_complete": ("End the work", {"summary": "What was done and how it was checked"}),
}
_OPENAI = "https://api.openai.com/v1"
_OLLAMA = "http://127.0.0.1:11434"
_MOST_NUDGES = 3
_SYSTEM = (
    "You work in a git worktree through the tools you are given. Use them until the task is done, "
    "then call task_complete with a summary. Paths are relative to the worktree."
)
_NUDGE = "Go on with the tools. Call task_complete when the task is done, or say there why not."
_CUT_OFF = "Your answer was cut off at its greatest length. Go on in smaller steps."


def tool_schemas(*, read_only: bool) -> list[JsonObject]:
    """The tools as a model sees them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        key: {"type": "string", "description": text} for key, text in fields.items()
                    },
                    "required": list(fields),
                },
            },
        }
        for name, (description, fields) in _TOOLS.items()
        if not (read_only and name in _WRITING)
    ]


class LoopTools:
    """The tools, confined to one directory."""

    def __init__(self, top: Path, *, read_only: bool) -> None:
        self._top = top.resolve()
        self.read_only = read_only
        self.summary: str | None = None

    def call(self, name: str, given: JsonObject) -> tuple[bool, str]:
        """Run one tool; whether it worked, and what it says."""
        if name not in _TOOLS or (self.read_only and name in _WRITING):
            return False, f"There is no tool {name}"
        missing = [key for key in _TOOLS[name][1] if not isinstance(given.get(key), str)]
        if missing:
            return False, f"Missing: {', '.join(missing)}"
        try:
            return True, getattr(self, f"_{name}")(given)
        except ClewError as error:
            return False, error.full_text()
        except OSError as error:
            return False, os_reason(error)

    def _read_file(self, given: JsonObject) -> str:
        data = self._place(given["path"]).read_bytes()
        text = data[:_LARGEST_FILE].decode("utf-8", "replace")
        return text if len(data) <= _LARGEST_FILE else f"{text}\n... ({len(data)} bytes in all)"

    def _write_file(self, given: JsonObject) -> str:
        place = self._place(given["path"])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(given["content"], encoding="utf-8")
        return f"Written: {given['path']}"

    def _list_files(self, given: JsonObject) -> str:
        names: list[str] = []
        for directory, children, files in os.walk(self._place(given["path"])):
            children[:] = sorted(child for child in children if child != ".git")
            names += [os.path.relpath(f"{directory}/{file}", self._top) for file in sorted(files)]
            if len(names) > _MOST_FILES:
                return "\n".join([*names[:_MOST_FILES], "..."])
        return "\n".join(names)

    def _run_command(self, given: JsonObject) -> str:
        code, text = run_command(given["command"], cwd=self._top, seconds=_COMMAND_SECONDS)
        shown = text if len(text) <= _LONGEST_OUTPUT else f"...{text[-_LONGEST_OUTPUT:]}"
        return f"exit {code}\n{shown}"

    def _task_complete(self, given: JsonObject) -> str:
        self.summary = given["summary"]
        return "Done"

    def _place(self, name: str) -> Path:
        """The path of that name; links and dots do not lead out of the directory."""
        if "\0" in name:
            raise Invalid("A path cannot contain a NUL character")
        place = (self._top / name).resolve()
        parts = place.relative_to(self._top).parts if place.is_relative_to(self._top) else None
        if parts is None or ".git" in parts:
            raise Invalid(f"{name} is outside of the worktree", "Use a path inside of it.")
        return place


class Refused(ClewError):
    """The model or its service declined to work on this."""


def run_loop(service: Service, prompt: str, tools: LoopTools, max_turns: int) -> str:
    """Let the model work until it says that it is done; its summary.

    A model that only talks is asked to go on, a few times; its last words then count as its
    summary. What it has done is judged by its commits, as with every agent.
    """
    messages: list[JsonObject] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": prompt},
    ]
    schemas, nudges = tool_schemas(read_only=tools.read_only), 0
    for _ in range(max_turns):
        reply = service.ask(messages, schemas)
        if reply.is_refused:
            raise Refused(f"The model refused: {reply.refusal or reply.text}")
        messages.append(reply.message())
        if reply.calls:
            nudges = 0
            messages += _called_tools(reply, tools)
        elif nudges == _MOST_NUDGES:
            return reply.text
        else:
            nudges += 1
            said = _CUT_OFF if reply.finish == "length" else _NUDGE
            messages.append({"role": "user", "content": said})
        if tools.summary is not None:
            return tools.summary
    raise Invalid(f"Maximum turns reached: {max_turns}", "Split the spec, or allow more turns.")


def _called_tools(reply: Reply, tools: LoopTools) -> list[JsonObject]:
    """Run the tools of one answer; what they say, as the next request carries it."""
    answers: list[JsonObject] = []
    for call in reply.calls:
        name, given = _called(call)
        _say("assistant", message={"content": [{"type": "tool_use", "name": name, "input": given}]})
        if given is None:
            is_cut = reply.finish == "length"
            ok, output = False, _CUT_OFF if is_cut else "The arguments are not a JSON object"
        else:
            ok, output = tools.call(name, given)
        if tools.summary is not None:
            break
        block = {"type": "tool_result", "content": output, "is_error": not ok}
        _say("user", message={"content": [block]})
        answers.append({"role": "tool", "tool_call_id": call["id"], "content": output})
    return answers


def main(arguments: list[str]) -> int:
    """Run the loop as a program; 0 when the model came to an end by itself."""
    options = _options(arguments)
    pieces, failure, summary = _Pieces(), None, ""
    service = None
    try:
        service = _service(options, pieces)
        _say("system", subtype="init", model=service.model)
        tools = LoopTools(Path.cwd(), read_only=options.read_only)
        summary = run_loop(service, sys.stdin.read(), tools, options.max_turns)
    except ClewError as error:
        failure, summary = error, str(error)
    usage = service.usage if service else Usage()
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    told: JsonObject = {} if usage.cost_usd is None else {"total_cost_usd": usage.cost_usd}
    if isinstance(failure, Refused):
        told["stop_reason"] = "refusal"
    if isinstance(failure, ServiceFailed):
        told["api_error_status"] = failure.status
    _say("result", is_error=failure is not None, result=summary, usage=tokens, **told)
    return 0 if failure is None else 1


class _Pieces:
    """What the model says, printed as soon as a line of it is whole."""

    def __init__(self) -> None:
        self._open = ""

    def add(self, text: str) -> None:
        whole, _, self._open = f"{self._open}{text}".rpartition("\n")
        if whole.strip():
            _say("assistant", message={"content": [{"type": "text", "text": whole}]})


def _say_retry(retry: Retry) -> None:
    delay = round(retry.seconds * 1000)
    _say(
        "system", subtype="api_retry", attempt=retry.attempt, retry_delay_ms=delay,
        error_status=retry.status, error=retry.reason,
    )  # fmt: skip


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clew.work.agents.builtin")
    parser.add_argument("--api", choices=("openai", "ollama"), default="openai")
    parser.add_argument("--model", required=True)
    parser.add_argument("--endpoint")
    parser.add_argument("--max-turns", type=int, default=100)
    parser.add_argument("--read-only", action="store_true")
    return parser.parse_args(arguments)


def _service(options: argparse.Namespace, pieces: _Pieces) -> Service:
    if options.api == "ollama":
        host = options.endpoint or os.environ.get("OLLAMA_HOST") or _OLLAMA
        host = host if "://" in host else f"http://{host}"
        base, key = f"{host.rstrip('/').removesuffix('/v1')}/v1", None
    else:
        base = options.endpoint or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        key = os.environ.get("OPENAI_API_KEY")
    if not base.startswith(("http://", "https://")):
        raise Invalid(f"Not an address of a model's service: {base}", "It begins with https://.")
    url = f"{base.rstrip('/')}/chat/completions"
    return Service(url, options.model, key, on_text=pieces.add, on_retry=_say_retry)


def _called(call: JsonObject) -> tuple[str, JsonObject | None]:
    """The name of the tool, and its arguments if they are what they must be."""
    function = call["function"]
    try:
        given = jsontext.loads(function["arguments"] or "{}")
    except jsontext.JsonError:
        given = None
    return function["name"], given if isinstance(given, dict) else None


def _say(kind: str, **data: object) -> None:
    print(jsontext.dumps({"type": kind, **data}), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
