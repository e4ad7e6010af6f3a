"""What a program asked a model, read from four APIs into one form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

WORKER = re.compile(r"You are the worker for spec (\S+) of")
_RESULTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")


@dataclass(frozen=True)
class Tool:
    """A tool that the program offers; some of Codex's have a namespace."""

    name: str
    schema: dict
    namespace: str | None = None


@dataclass
class Turn:
    """One message: who said it, its text, the tools it calls."""

    role: str
    text: str = ""
    calls: list[str] = field(default_factory=list)


@dataclass
class Conversation:
    """A request to a model, without the peculiarities of its API."""

    api: str
    body: dict
    turns: list[Turn] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)

    @property
    def prompts(self):
        """The prompts of a worker in it; two where a session goes on."""
        return [turn.text for turn in self.turns if _is_prompt(turn)]

    @property
    def spec(self):
        """The id of the spec that is worked on; None where something else is asked."""
        return WORKER.search(self.prompts[-1]).group(1) if self.prompts else None

    @property
    def called(self):
        """The tools that were called since the newest prompt."""
        names = []
        for turn in self.turns:
            names = [] if _is_prompt(turn) else [*names, *turn.calls]
        return names

    @property
    def schema(self):
        """The schema that the answer must fit; routers and classifiers have one."""
        body = self.body
        config = body.get("generationConfig") or {}
        return (
            config.get("responseJsonSchema")
            or config.get("responseSchema")
            or ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
            or ((body.get("text") or {}).get("format") or {}).get("schema")
            or ((body.get("output_config") or {}).get("format") or {}).get("schema")
        )

    @property
    def is_work(self):
        """Whether a worker asks for its next step, and not something on the side."""
        asks_for_a_message = self.is_told("commit message") and not self.body.get("tools")
        return self.spec is not None and not self.schema and not asks_for_a_message

    def is_told(self, words):
        """Whether the instructions for the model have these words."""
        return any(turn.role == "system" and words in turn.text for turn in self.turns)

    @property
    def edits_by_text(self):
        """Whether what the model writes is applied to files, without tools."""
        return not self.tools and self.is_told("SEARCH/REPLACE")

    def tool(self, *names):
        """The first offered tool of one of these names, whatever prefix its server has."""
        for name in names:
            for tool in self.tools:
                if tool.name == name or tool.name.endswith((f"_{name}", f"-{name}")):
                    return tool
        return None


def read(api, body):
    """The conversation in a request's body."""
    said = Conversation(api, body)
    _READERS[api](said, body)
    return said


def _is_prompt(turn):
    return turn.role == "user" and WORKER.search(turn.text) is not None


def _text(content):
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, dict)]
    return "".join(str(part.get("text") or "") for part in parts)


def _anthropic(said, body):
    for message in body.get("messages", []):
        content = message.get("content")
        blocks = [] if isinstance(content, str) else content or []
        calls = [block["name"] for block in blocks if block.get("type") == "tool_use"]
        is_result = any(block.get("type") == "tool_result" for block in blocks)
        role = "tool" if is_result else message["role"]
        said.turns.append(Turn(role, _text(content), calls))
    for tool in body.get("tools") or []:
        said.tools.append(Tool(tool.get("name", ""), tool.get("input_schema") or {}))


def _chat(said, body):
    for message in body.get("messages", []):
        calls = [call["function"]["name"] for call in message.get("tool_calls") or []]
        said.turns.append(Turn(message["role"], _text(message.get("content")), calls))
    for tool in body.get("tools") or []:
        function = tool.get("function", tool)
        said.tools.append(Tool(function.get("name", ""), function.get("parameters") or {}))


def _responses(said, body):
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            said.turns.append(Turn(item.get("role", "user"), _text(item.get("content"))))
        elif kind.endswith("_call"):
            name = item.get("name") or kind.removesuffix("_call")
            said.turns.append(Turn("assistant", calls=[name]))
        elif kind in _RESULTS:
            said.turns.append(Turn("tool", json.dumps(item.get("output"))))
            _add_tools(said, item.get("tools"))
    _add_tools(said, body.get("tools"))


def _add_tools(said, tools):
    for tool in tools or []:
        if tool.get("type") == "namespace":
            inner = tool.get("tools", [])
            named = [(part, tool["name"]) for part in inner]
        else:
            named = [(tool, None)]
        for part, namespace in named:
            name = part.get("name", part.get("type", ""))
            said.tools.append(Tool(name, part.get("parameters") or {}, namespace))


def _gemini(said, body):
    for content in body.get("contents", []):
        parts = content.get("parts", [])
        calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        is_result = any("functionResponse" in part for part in parts)
        role = "tool" if is_result else content.get("role", "user")
        said.turns.append(Turn(role, _text(parts), calls))
    for group in body.get("tools") or []:
        for tool in group.get("functionDeclarations") or []:
            schema = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
            said.tools.append(Tool(tool["name"], schema))


_READERS = {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "gemini": _gemini}
