"""What a run is started with: the options of the caller over the spec over the configuration."""

from __future__ import annotations

import os
import random
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.kit.errors import NotFound
from clew.specs.model import Spec
from clew.specs.store.config import Config
from clew.work.agents.fence.fence import sandbox_of
from clew.work.agents.programs import AGENTS, agent_named
from clew.work.agents.usage import Price, Prices
from clew.work.model import AgentChoice, Limits, RunPlan, WorktreeSettings

MODEL_VARIABLE = "CHANT_MODEL"
_USUAL = "claude"


@dataclass(frozen=True)
class WorkOptions:
    """What the caller wants; None leaves it to the spec and the configuration."""

    prompt: str | None = None
    agent: str | None = None
    model: str | None = None
    base: str | None = None
    permission: str | None = None
    sandbox: str | None = None
    skip_criteria: bool = False
    allow_no_criteria: bool = False
    skip_deps: bool = False
    skip_approval: bool = False
    allow_no_commits: bool = False


@dataclass(frozen=True)
class Worker:
    """One agent of the configuration's list, and how many runs it may have at once."""

    name: str
    choice: AgentChoice
    most: int | None
    weight: int


def limits_of(config: Config) -> Limits:
    """How long, how silently and how expensively an agent may work here."""
    cost = config.number("work", "cost_usd")
    return Limits(
        wall_seconds=_seconds(config.number("work", "wall_minutes")),
        idle_seconds=_seconds(config.number("work", "idle_minutes")),
        cost_usd=None if cost is None else float(cost),
    )


def price_table(config: Config) -> tuple[tuple[str, float, float, float | None], ...]:
    """What a million tokens of each model cost, as the settings say."""
    table = config.value("work", "prices")
    rows = []
    for name in table if isinstance(table, dict) else ():
        price, back = (config.number("work", "prices", name, way) for way in ("input", "output"))
        if price is not None and back is not None:
            cached = config.number("work", "prices", name, "cached")
            rows.append(
                (name, float(price), float(back), None if cached is None else float(cached))
            )
    return tuple(rows)


def prices_of(plan: RunPlan) -> Prices:
    """The prices that a run's use is counted with; the agent's name stands for its usual model."""
    table = {name: Price(price, back, cached) for name, price, back, cached in plan.prices}
    return Prices(table, tuple(name for name in (plan.agent.model, plan.agent.name) if name))


def budget_note(plan: RunPlan) -> str | None:
    """What a limit of cost cannot do for this agent; None where it holds."""
    limit, agent = plan.limits.cost_usd, agent_named(plan.agent.name)
    if limit is None or agent.budget or agent.tells == "cost":
        return None
    words = f"the limit of ${limit:.2f} cannot stop {agent.name}: it tells "
    if agent.tells == "end":
        return f"{words}what it used only at its end"
    return f"{words}nothing about what it uses"


def worktree_settings(config: Config, options: WorkOptions, base: str = "HEAD") -> WorktreeSettings:
    """How the worktrees of this project are made; `base` is where they usually start from."""
    prefix = config.text("defaults", "branch_prefix") or "chant/"
    return WorktreeSettings(
        branch_prefix=prefix,
        base_ref=options.base or config.text("work", "base") or base,
        sparse=config.words("worktree", "sparse"),
        setup=config.words("worktree", "setup"),
        teardown=config.words("worktree", "teardown"),
        command_seconds=float(config.number("worktree", "command_seconds") or 600),
    )


def workers_of(config: Config, options: WorkOptions, spec: Spec) -> list[Worker]:
    """The agents that may work on a spec: the one that was asked for, or those configured."""
    listed = config.maps("parallel", "agents")
    if options.agent is None and spec.text("provider") is None and listed:
        return [_listed(entry, config, options, spec) for entry in listed]
    name = options.agent or spec.text("provider") or _provider(config)
    choice = _choice(name, config, options, spec)
    return [Worker(choice.name, choice, None, 1)]


def pick_worker(
    workers: list[Worker], strategy: str, running: dict[str, int], runs_before: int
) -> Worker | None:
    """The worker for the next run; None while every one has as many runs as it may have."""
    free = [w for w in workers if w.most is None or running.get(w.name, 0) < w.most]
    if not free:
        return None
    if strategy == "random":
        return random.choices(free, [worker.weight for worker in free])[0]  # noqa: S311
    if strategy in ("round_robin", "round-robin"):
        turns = [worker for worker in free for _ in range(worker.weight)]
        return turns[runs_before % len(turns)]
    return min(free, key=lambda worker: running.get(worker.name, 0))


def _listed(entry: dict[str, Any], config: Config, options: WorkOptions, spec: Spec) -> Worker:
    """An entry names a program; one that we know by name is started in its own way."""
    words = shlex.split(str(entry["command"])) or ["claude"]
    known = Path(words[0]).name
    provider = _provider(config)
    if provider == "command" and known not in AGENTS:
        choice = _made("command", config, options, spec, command=tuple(words))
    else:
        adapter = next((name for name in AGENTS if _is_called(known, name)), provider)
        choice = _made(adapter, config, options, spec, program=words[0], extra=tuple(words[1:]))
    most, weight = _whole(entry["max_concurrent"], 2), _whole(entry["weight"], 1)
    return Worker(str(entry["name"]), choice, most, weight)


def _is_called(program: str, agent: str) -> bool:
    """Whether a program is an agent's, or a wrapper named after it."""
    return program == agent or program.startswith((f"{agent}-", f"{agent}_", f"{agent}."))


def _provider(config: Config) -> str:
    """The agent of the configuration; one that is unknown is never replaced by another."""
    said = config.value("defaults", "provider")
    if said is None:
        return _USUAL
    try:
        return agent_named(str(said)).name
    except NotFound as error:
        place = config.origin("defaults", "provider")
        raise NotFound(f"{error.message} (`defaults.provider` in {place})", error.hint) from None


def _choice(name: str, config: Config, options: WorkOptions, spec: Spec) -> AgentChoice:
    said = config.value("defaults", "command")
    words = shlex.split(said) if isinstance(said, str) else config.words("defaults", "command")
    command = tuple(words) if name == "command" else ()
    return _made(name, config, options, spec, command=command)


def _made(
    name: str, config: Config, options: WorkOptions, spec: Spec, **settings: Any
) -> AgentChoice:
    model = options.model or os.environ.get(MODEL_VARIABLE) or spec.text("model")
    permission = options.permission or config.text("work", "permission") or "edit"
    return AgentChoice(
        name,
        model=model or config.text("defaults", "model"),
        permission=permission,
        sandbox=sandbox_of(name, permission, options.sandbox),
        **settings,
    )


def _seconds(minutes: float | None) -> float | None:
    return minutes * 60 if minutes else None


def _whole(value: object, usual: int) -> int:
    try:
        return max(1, int(str(value)))
    except ValueError:
        return usual
