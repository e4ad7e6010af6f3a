"""How the agent of one run is started: its command line, its input, its environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.work.agents.mcp_config import config_name, toml_string, write_config
from clew.work.agents.table import agent_environment, agent_named, agent_words
from clew.work.paths import git_common_directory
from clew.work.processes.identity import RUN_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path

    from clew.work.model import Run
    from clew.work.paths import Places

PROMPT_FILE = "prompt.md"


def agent_command(places: Places, run: Run) -> list[str]:
    """The command line of the run's agent; the configuration that it names is written."""
    form = agent_named(run.choice.name).mcp_form
    mcp_words = write_config(form, places.root, places.run_directory(run.run_id))
    stand_ins = _stand_ins(places, run)
    return agent_words(run.choice, str(run.plan["program"]), places=stand_ins, mcp_words=mcp_words)


def prompt_input(places: Places, run: Run) -> Path | None:
    """The file that is the agent's standard input, if it takes its prompt there."""
    if agent_named(run.choice.name).prompt != "stdin":
        return None
    return places.run_directory(run.run_id) / PROMPT_FILE


def run_environment(places: Places, run: Run, worktree: Path) -> dict[str, str]:
    """The environment of everything that the run starts."""
    known = _stand_ins(places, run)
    added = {
        RUN_VARIABLE: run.run_id,
        "CLEW_PROJECT": str(places.root),
        "CLEW_PROMPT_FILE": known["prompt_file"],
        "CLEW_MCP_CONFIG": known["mcp_config"],
        "CHANT_SPEC_ID": run.spec_id,
        "CHANT_WORKTREE": "1",
        "CHANT_WORKTREE_PATH": str(worktree),
        "CHANT_BRANCH": run.branch or "",
    }
    if run.plan.get("spec_file"):
        added["CHANT_SPEC_FILE"] = str(run.plan["spec_file"])
    return agent_environment(run.choice, known=known, added=added)


def _stand_ins(places: Places, run: Run) -> dict[str, str]:
    directory = places.run_directory(run.run_id)
    prompt = directory / PROMPT_FILE
    form = agent_named(run.choice.name).mcp_form
    return {
        "prompt": prompt.read_text(encoding="utf-8"),
        "prompt_file": str(prompt),
        "mcp_config": str(directory / config_name(form)),
        "git_dir_toml": toml_string(str(git_common_directory(places.root))),
    }
