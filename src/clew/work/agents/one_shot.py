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
from clew.work.agents.launch import PROMPT_FILE, launch_of
from clew.work.agents.output import StreamReader
from clew.work.agents.programs import agent_named, check_agent
from clew.work.agents.tool_server import Server
from clew.work.journal.run_log import EventKind
from clew.work.model import AgentChoice, new_run_id
from clew.work.processes.child import drain, end_child, start_child
from clew.work.processes.identity import RUN_VARIABLE, stop_processes_of_run

ASK_SECONDS = 600.0
_REPORT_SECONDS = 2.0
_STDERR_LINES = 50


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
        (directory / PROMPT_FILE).write_text(prompt, encoding="utf-8")
        empty = directory / "empty"
        empty.mkdir()
        launch = launch_of(choice, program, directory, cwd=empty, server=Server(), names={})
        variables = {RUN_VARIABLE: question, "CLEW_PROMPT_FILE": str(directory / PROMPT_FILE)}
        child = start_child(
            launch.words,
            cwd=empty,
            variables={**variables, **launch.variables},
            stdin=launch.stdin,
        )
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
