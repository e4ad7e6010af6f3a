"""One question to an agent: asked in an empty directory, without tools, answered with text."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

from clew.kit.call import Call
from clew.kit.errors import Unavailable
from clew.kit.text.display import clipped
from clew.work.agents.failures import failure_of
from clew.work.agents.output import StreamReader
from clew.work.agents.programs import (
    agent_environment,
    agent_named,
    agent_words,
    check_agent,
    config_name,
    toml_string,
)
from clew.work.journal.run_log import EventKind
from clew.work.model import AgentChoice, new_run_id
from clew.work.processes.child import drain, end_child, start_child
from clew.work.processes.identity import RUN_VARIABLE, stop_processes_of_run

ASK_SECONDS = 600.0
_REPORT_SECONDS = 2.0
_STDERR_LINES = 50
_NO_TOOLS = {"mcpServers": '{"mcpServers": {}}', "opencode": "{}"}


@dataclass(frozen=True)
class Answered:
    """What an agent said: its last word first, then all of its text."""

    texts: list[str]
    cost_usd: float | None


def ask_agent(
    choice: AgentChoice, prompt: str, call: Call, seconds: float = ASK_SECONDS
) -> Answered:
    """Ask, report how long it takes, and stop when the caller wants to."""
    choice = _quiet(choice)
    agent, program = agent_named(choice.name), check_agent(choice, prompt)
    question = f"ask-{new_run_id()}"
    with tempfile.TemporaryDirectory(prefix="clew-ask-") as name:
        directory = Path(name)
        known = _known(choice, prompt, directory)
        words = agent_words(choice, program, paths=known, mcp_words=())
        added = {RUN_VARIABLE: question, "CLEW_PROMPT_FILE": known["prompt_file"]}
        environment = agent_environment(choice, known=known, added=added)
        (directory / "empty").mkdir()
        source = directory / "prompt.md" if agent.prompt == "stdin" else None
        child = start_child(words, cwd=directory / "empty", environment=environment, stdin=source)
        try:
            return _answer(child, StreamReader(agent.stream), call, seconds, choice.name)
        finally:
            if child.returncode is None:
                end_child(child)
            stop_processes_of_run(question, _REPORT_SECONDS)


def _quiet(choice: AgentChoice) -> AgentChoice:
    """The same agent, reading only; the directory is empty, and no repository."""
    extra = ("--skip-git-repo-check",) if choice.name == "codex" else ()
    return replace(choice, permission="read", session=None, extra=(*choice.extra, *extra))


def _known(choice: AgentChoice, prompt: str, directory: Path) -> dict[str, str]:
    form = agent_named(choice.name).mcp_form
    prompt_file, config = directory / "prompt.md", directory / config_name(form)
    prompt_file.write_text(prompt, encoding="utf-8")
    config.write_text(_NO_TOOLS.get(form or "", _NO_TOOLS["mcpServers"]), encoding="utf-8")
    return {
        "prompt": prompt,
        "prompt_file": str(prompt_file),
        "mcp_config": str(config),
        "git_dir_toml": toml_string(str(directory)),
    }


def _answer(
    child: subprocess.Popen[bytes], reader: StreamReader, call: Call, seconds: float, name: str
) -> Answered:
    texts, errors = list[str](), deque[str](maxlen=_STDERR_LINES)
    began = reported = time.monotonic()

    def on_line(stream: str, line: str) -> None:
        if stream == "stderr":
            errors.append(line)
        else:
            texts.extend(e.text for e in reader.read(line) if e.kind is EventKind.TEXT)

    def check() -> str | None:
        nonlocal reported
        call.check()
        now = time.monotonic()
        if now - reported >= _REPORT_SECONDS:
            reported = now
            call.progress(now - began, seconds, f"{name} is thinking ({now - began:.0f} s)")
        return "late" if now - began > seconds else None

    ending = drain(child, on_line=on_line, check=check, grace_seconds=0)
    if ending.reason is not None:
        raise Unavailable(f"{name} did not answer within {seconds:.0f} s", "Try again.")
    texts += [event.text for event in reader.rest()]
    failure = failure_of(ending.exit_code, reader, "\n".join(errors))
    if failure is not None:
        raise Unavailable(
            f"{name} gave no answer: {clipped(failure.message, 500)}",
            "Try again, or divide it without a model.",
        )
    last = [reader.final_text] if reader.final_text else []
    return Answered([*last, "\n".join(texts)], reader.cost_usd)
