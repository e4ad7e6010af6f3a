"""One question to an agent: asked in an empty directory, without tools, answered with text."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import Unavailable
from clew.kit.text.display import clipped
from clew.work.agents.classify import failure_of
from clew.work.agents.mcp_config import config_name, toml_string
from clew.work.agents.output import StreamReader
from clew.work.agents.table import agent_environment, agent_named, agent_words, check_agent
from clew.work.journal.run_log import EventKind
from clew.work.model import new_run_id
from clew.work.processes.identity import RUN_VARIABLE, stop_processes_of_run

if TYPE_CHECKING:
    from clew.kit.call import Call
    from clew.work.model import AgentChoice

ASK_SECONDS = 600.0
_LOOK_SECONDS = 0.1
_TELL_SECONDS = 2.0
_LARGEST_ANSWER = 16 * 1024 * 1024
_NO_TOOLS = {"mcpServers": '{"mcpServers": {}}', "opencode": "{}"}


@dataclass(frozen=True)
class Answered:
    """What an agent said: its last word first, then all of its text."""

    texts: list[str]
    cost_usd: float | None


def ask_agent(
    choice: AgentChoice, prompt: str, call: Call, seconds: float = ASK_SECONDS
) -> Answered:
    """Ask, tell the caller how long it takes, and stop when the caller wants to."""
    choice = _quiet(choice)
    program = check_agent(choice, prompt)
    question = f"ask-{new_run_id()}"
    with tempfile.TemporaryDirectory(prefix="clew-ask-") as name:
        directory = Path(name)
        known = _known(choice, prompt, directory)
        words = agent_words(choice, program, places=known, mcp_words=())
        added = {RUN_VARIABLE: question, "CLEW_PROMPT_FILE": known["prompt_file"]}
        environment = agent_environment(choice, known=known, added=added)
        (directory / "empty").mkdir()
        by_stdin = agent_named(choice.name).prompt == "stdin"
        source = Path(known["prompt_file"]) if by_stdin else Path(os.devnull)
        try:
            code = _run(words, directory, environment, source, call, seconds, choice.name)
        finally:
            stop_processes_of_run(question, _TELL_SECONDS)
        return _read(choice, directory, code)


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


def _run(
    words: list[str],
    directory: Path,
    environment: dict[str, str],
    source: Path,
    call: Call,
    seconds: float,
    name: str,
) -> int:
    with (
        open(source, "rb") as prompt,
        open(directory / "out", "wb") as out,
        open(directory / "err", "wb") as err,
    ):
        child = subprocess.Popen(
            words,
            cwd=directory / "empty",
            env=environment,
            stdin=prompt,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    try:
        return _waited(child, call, seconds, name)
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _waited(child: subprocess.Popen[bytes], call: Call, seconds: float, name: str) -> int:
    began = told = time.monotonic()
    while (code := child.poll()) is None:
        now = time.monotonic()
        call.check()
        if now - began > seconds:
            raise Unavailable(f"{name} did not answer within {seconds:.0f} s", "Try again.")
        if now - told >= _TELL_SECONDS:
            told = now
            call.progress(now - began, seconds, f"{name} is thinking ({now - began:.0f} s)")
        time.sleep(_LOOK_SECONDS)
    return code


def _read(choice: AgentChoice, directory: Path, code: int) -> Answered:
    reader, texts = StreamReader(agent_named(choice.name).stream), []
    with open(directory / "out", "rb") as out:
        for line in out.read(_LARGEST_ANSWER).decode("utf-8", "replace").splitlines():
            events = reader.read(line)
            texts += [event.text for event in events if event.kind is EventKind.TEXT]
    texts += [event.text for event in reader.rest()]
    said = (directory / "err").read_bytes()[-4000:].decode("utf-8", "replace")
    failure = failure_of(code, reader, said)
    if failure is not None:
        raise Unavailable(
            f"{choice.name} gave no answer: {clipped(failure.message, 500)}",
            "Try again, or divide it without a model.",
        )
    last = [reader.final_text] if reader.final_text else []
    return Answered([*last, "\n".join(texts)], reader.cost_usd)
