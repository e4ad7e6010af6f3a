"""A small agent for models that only answer: OpenAI-compatible services and Ollama.

`python -m clew.work.agents.builtin --api openai|ollama --model NAME` reads its prompt from standard
input, works in the current directory through a few tools that are confined to it, and prints the
same stream of JSON lines as larger agents do.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.kit import jsontext
from clew.kit.errors import ClewError, Invalid, Unavailable
from clew.kit.jsontext import JsonObject
from clew.kit.text.display import os_reason
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
_AGAIN = (429, 500, 502, 503, 504, 529)
_TRIES = 4
_LONGEST_WAIT = 60.0
_ANSWER_SECONDS = 600
_LARGEST_ANSWER = 32 * 1024 * 1024
_SYSTEM = (
    "You work in a git worktree through the tools you are given. Use them until the task is done, "
    "then call task_complete with a summary. Paths are relative to the worktree."
)
_NUDGE = "Go on with the tools. Call task_complete when the task is done, or say there why not."


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


@dataclass(frozen=True)
class Service:
    """Where the model is."""

    url: str
    model: str
    key: str | None

    def ask(self, messages: list[JsonObject], tools: list[JsonObject]) -> JsonObject:
        """The model's next message; a service that is busy is asked again."""
        body = {"model": self.model, "messages": messages, "tools": tools}
        for attempt in range(1, _TRIES + 1):
            try:
                return self._post(body)
            except urllib.error.HTTPError as error:
                said = error.read(2000).decode("utf-8", "replace")
                wait = _seconds(error.headers.get("Retry-After"), 2.0**attempt)
                if error.code not in _AGAIN or attempt == _TRIES or wait > _LONGEST_WAIT:
                    raise Unavailable(
                        f"The model's service answered {error.code} (retry-after: {wait:.0f}): {said}"
                    ) from None
                time.sleep(wait)
            except (OSError, TimeoutError) as error:
                if attempt == _TRIES:
                    raise Unavailable(f"Connection error at {self.url}: {error}") from None
                time.sleep(2.0**attempt / 2)
        raise AssertionError

    def _post(self, body: JsonObject) -> JsonObject:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(  # noqa: S310 (the scheme was checked)
            self.url, data=jsontext.dumps_bytes(body), headers=headers
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310
            value = jsontext.loads_bytes(answer.read(_LARGEST_ANSWER))
        try:
            message: JsonObject = value["choices"][0]["message"]
        except (KeyError, IndexError, TypeError):
            raise Invalid("The model's service sent no message", "Is the endpoint right?") from None
        return message


def run_loop(service: Service, prompt: str, tools: LoopTools, max_turns: int) -> str:
    """Let the model work until it says that it is done; its summary."""
    messages: list[JsonObject] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": prompt},
    ]
    schemas = tool_schemas(read_only=tools.read_only)
    for _ in range(max_turns):
        message = service.ask(messages, schemas)
        messages.append(message)
        text = message.get("content") or ""
        calls = message.get("tool_calls") or []
        _say_assistant(text, calls)
        if not calls:
            messages.append({"role": "user", "content": _NUDGE})
        for call in calls:
            name, given = _called(call)
            ok, output = tools.call(name, given)
            if tools.summary is not None:
                return tools.summary
            block = {"type": "tool_result", "content": output, "is_error": not ok}
            _say("user", message={"content": [block]})
            messages.append({"role": "tool", "tool_call_id": call.get("id"), "content": output})
    raise Invalid(f"Maximum turns reached: {max_turns}", "Split the spec, or allow more turns.")


def main(arguments: list[str]) -> int:
    """Run the loop as a program; 0 when the model said that the task is complete."""
    options = _options(arguments)
    try:
        service = _service(options)
        _say("system", subtype="init", model=service.model)
        tools = LoopTools(Path.cwd(), read_only=options.read_only)
        summary = run_loop(service, sys.stdin.read(), tools, options.max_turns)
    except (ClewError, jsontext.JsonError) as error:
        _say("result", is_error=True, result=str(error))
        return 1
    _say("result", is_error=False, result=summary)
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clew.work.agents.builtin")
    parser.add_argument("--api", choices=("openai", "ollama"), default="openai")
    parser.add_argument("--model", required=True)
    parser.add_argument("--endpoint")
    parser.add_argument("--max-turns", type=int, default=100)
    parser.add_argument("--read-only", action="store_true")
    return parser.parse_args(arguments)


def _service(options: argparse.Namespace) -> Service:
    if options.api == "ollama":
        host = options.endpoint or os.environ.get("OLLAMA_HOST") or _OLLAMA
        host = host if "://" in host else f"http://{host}"
        base, key = f"{host.rstrip('/').removesuffix('/v1')}/v1", None
    else:
        base = options.endpoint or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        key = os.environ.get("OPENAI_API_KEY")
    if not base.startswith(("http://", "https://")):
        raise Invalid(f"Not an address of a model's service: {base}", "It begins with https://.")
    return Service(f"{base.rstrip('/')}/chat/completions", options.model, key)


def _called(call: Any) -> tuple[str, JsonObject]:
    function = call.get("function") or {}
    given = function.get("arguments") or {}
    if isinstance(given, str):
        try:
            given = jsontext.loads(given)
        except jsontext.JsonError:
            given = {}
    return str(function.get("name")), given if isinstance(given, dict) else {}


def _say_assistant(text: str, calls: list[Any]) -> None:
    blocks: list[JsonObject] = [{"type": "text", "text": text}] if text else []
    for call in calls:
        name, given = _called(call)
        blocks.append({"type": "tool_use", "name": name, "input": given})
    if blocks:
        _say("assistant", message={"content": blocks})


def _say(kind: str, **data: object) -> None:
    print(jsontext.dumps({"type": kind, **data}), flush=True)


def _seconds(text: str | None, default: float) -> float:
    try:
        return max(0.0, float(text)) if text else default
    except ValueError:
        return default


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
