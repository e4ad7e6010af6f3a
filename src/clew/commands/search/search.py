"""Searching the registries of one agent or of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.commands.files.declarations import is_name, nearest
from clew.commands.files.errors import RegistryFailure
from clew.commands.files.layers import DEFAULT_AGENT, PROJECT
from clew.commands.registry.registry import known_agents, shelf
from clew.commands.search.ranking import ALGORITHMS, DEFAULT_LIMIT, CommandIndex, Hit
from clew.kit.errors import Invalid

ALL_AGENTS = "*"
MOST_RESULTS = 100
LONGEST_QUERY = 4000


def search(  # noqa: PLR0913 - each is a setting of its own
    query: str,
    agent: str = DEFAULT_AGENT,
    settings: Mapping[str, str] | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    algorithm: str = "ranked",
    c1: str | None = None,
    action: str | None = None,
    target: str | None = None,
    explain: bool = False,
) -> list[dict[str, Any]]:
    """The commands that answer a query best, with scores from 0 to 1; empty when none does."""
    if algorithm not in ALGORITHMS:
        near = nearest(algorithm, ALGORITHMS, 1)
        raise Invalid(
            f"No such algorithm: {algorithm[:40]}",
            f"Did you mean {near[0]}?" if near else f"One of: {', '.join(ALGORITHMS)}.",
        )
    if c1 is not None and not is_name(c1):
        return []
    asked = [(text or "")[:LONGEST_QUERY].strip() for text in (query, action, target)]
    count = max(1, min(limit, MOST_RESULTS))
    agents = known_agents(settings) if agent == ALL_AGENTS else (agent,)
    hits: list[Hit] = []
    failures: list[RegistryFailure] = []
    for name in agents:
        try:
            index = shelf(name, settings).prepared(CommandIndex)
        except RegistryFailure as failure:
            failures.append(failure)
            continue
        if any(asked):
            hits += index.search(
                asked[0],
                limit=count,
                algorithm=algorithm,
                c1=c1,
                action=asked[1],
                target=asked[2],
                explain=explain,
            )
    if len(failures) == len(agents):
        raise failures[0]
    hits.sort(key=lambda hit: -hit.score)
    return [_record(hit, explain=explain, all_agents=len(agents) > 1) for hit in hits[:count]]


def _record(hit: Hit, *, explain: bool, all_agents: bool) -> dict[str, Any]:
    command = hit.command
    found: dict[str, Any] = {
        **command.parts,
        "description": command.description,
        "score": round(hit.score, 6),
    }
    if all_agents:
        found["agent"] = command.agent
    if explain or command.origin != PROJECT:
        found["origin"] = command.origin
    if explain:
        found["why"] = list(hit.why)
    return found
