"""One agent, ready to start: its command line, its input, and what its environment adds."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from clew.kit.git import git_line
from clew.kit.paths import ProjectPaths
from clew.work.agents.programs import Agent, agent_named
from clew.work.agents.tool_server import Server, server_of, tell, toml_list
from clew.work.model import AgentChoice, Run
from clew.work.paths import git_common_directory
from clew.work.processes.identity import RUN_VARIABLE

PROMPT_FILE = "prompt.md"
_SESSIONS = uuid.UUID("5b0c7f2e-8f53-4b8e-9d0a-3f2f6f1f7c51")


@dataclass(frozen=True)
class Launch:
    """What starting an agent takes; `session` is known before where the agent lets us choose it."""

    words: list[str]
    variables: dict[str, str]
    stdin: Path | None
    session: str | None


def launch_of(
    choice: AgentChoice,
    program: str,
    directory: Path,
    *,
    cwd: Path,
    server: Server,
    names: Mapping[str, str],
    budget: float | None = None,
) -> Launch:
    """An agent that works in a directory; its prompt is in another, and so is what it is told."""
    agent = agent_named(choice.name)
    told = tell(agent.configuration, server, directory, cwd, choice.permission)
    prompt = directory / PROMPT_FILE
    new_session = str(uuid.uuid5(_SESSIONS, directory.name))
    known = {
        **names,
        **told.names,
        "prompt": prompt.read_text(encoding="utf-8"),
        "prompt_file": str(prompt),
        "worktree": str(cwd),
        "model": choice.model or "",
        "session": choice.session or "",
        "new_session": new_session,
        "budget": "" if budget is None else f"{budget:g}",
    }
    variables = {name: _filled(text, known) for name, text in agent.variables.items()}
    is_ours = any("{new_session}" in word for word in agent.start)
    return Launch(
        _words(agent, choice, program, known, told.words),
        {**variables, **told.variables, "CLEW_MCP_CONFIG": known["mcp_config"]},
        prompt if agent.prompt == "stdin" else None,
        choice.session or (new_session if is_ours else None),
    )


def launch_of_run(paths: ProjectPaths, run: Run, worktree: Path, *, is_fenced: bool) -> Launch:
    """The agent of a run in its worktree; behind a fence of Clew, without one of its own."""
    choice, directory = run.plan.agent, paths.run_directory(run.run_id)
    choice = without_own_fence(choice) if is_fenced else choice
    roots = git_directories(worktree, run.branch or "") if choice.name == "codex" else ()
    return launch_of(
        choice,
        run.plan.program,
        directory,
        cwd=worktree,
        server=server_of(paths.root),
        names={"git_directories": toml_list(roots)},
        budget=run.plan.limits.cost_usd,
    )


def without_own_fence(choice: AgentChoice) -> AgentChoice:
    """An agent that edits behind a fence of Clew; none can be put up inside another."""
    has_own = choice.permission in agent_named(choice.name).fenced_itself
    return replace(choice, permission="full") if has_own and choice.permission == "edit" else choice


def run_variables(paths: ProjectPaths, run: Run, worktree: Path) -> dict[str, str]:
    """What everything that a run starts is told by its environment."""
    variables = {
        RUN_VARIABLE: run.run_id,
        "CLEW_PROJECT": str(paths.root),
        "CLEW_PROMPT_FILE": str(paths.run_directory(run.run_id) / PROMPT_FILE),
        "CHANT_SPEC_ID": run.spec_id,
        "CHANT_WORKTREE": "1",
        "CHANT_WORKTREE_PATH": str(worktree),
        "CHANT_BRANCH": run.branch or "",
    }
    spec_file = {"CHANT_SPEC_FILE": run.plan.spec_file} if run.plan.spec_file else {}
    return {**variables, **spec_file}


def _words(
    agent: Agent,
    choice: AgentChoice,
    program: str,
    known: Mapping[str, str],
    more: tuple[str, ...],
) -> list[str]:
    """The whole command line; the words of a command of one's own stay as they are."""
    fixed = (
        *agent.words,
        *(agent.model if choice.model else ()),
        *agent.permissions.get(choice.permission, ()),
        *agent.told,
        *(agent.budget if known["budget"] else ()),
    )
    ending = agent.start if not choice.session else (agent.resume or ())
    return [
        program,
        *choice.command[1:],
        *(_filled(word, known) for word in fixed),
        *more,
        *choice.extra,
        *(_filled(word, known) for word in ending),
    ]


def _filled(word: str, known: Mapping[str, str]) -> str:
    """The word with its stand-in replaced; what is put in is not looked at again."""
    before, brace, rest = word.partition("{")
    name, closing, after = rest.partition("}")
    return f"{before}{known[name]}{after}" if brace and closing else word


def git_directories(worktree: Path, branch: str) -> list[str]:
    """What a commit on that branch writes to, and nothing more: no hooks, no settings, no main."""
    common = git_common_directory(worktree)
    own = Path(git_line(worktree, "rev-parse", "--absolute-git-dir"))
    of_branch = Path("refs", "heads", branch).parent
    found = [own, common / "objects", common / "reftable"]
    for directory in (common / of_branch, common / "logs" / of_branch):
        directory.mkdir(parents=True, exist_ok=True)
        found.append(directory)
    return [str(directory) for directory in found if directory.is_dir()]
