"""The program put together: every room's tools, and what the rooms need of each other.

Rooms do not name rooms above them; whatever reaches across is handed over here. Only the `tools`
modules of the rooms that a server may offer are imported, and these import nothing of their room
before a call.
"""

from __future__ import annotations

from clew.catalog.selection import select_tools, toolsets_in_question
from clew.catalog.service import CatalogService

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from clew.advisors.conversation.store import ConversationStore
    from clew.catalog.faces import Face
    from clew.catalog.helpers import Helpers
    from clew.catalog.model import Tool
    from clew.catalog.service import Around, Source
    from clew.history.sync.sync import Progress
    from clew.history.upkeep import Meter
    from clew.kit.call import Call
    from clew.work.workspace import Wiring


def offer_engines() -> None:
    """Let indexes be in PostgreSQL too."""
    from clew.history.store.engines import offer
    from clew.team.history.engine import PostgresEngine

    offer(PostgresEngine(), "clew.team.history.pickaxe")


def keep_conversations(address: str) -> None:
    """Keep conversations of the advisors in a team's database, for all its servers."""
    from clew.advisors.conversation.store import keep_elsewhere

    def opened() -> AbstractContextManager[ConversationStore]:
        from clew.team.servers.conversations import opened_conversations

        return opened_conversations(address)

    keep_elsewhere(opened)


def work_wiring() -> Wiring:
    """What starts of agents need of the rooms above theirs."""
    from clew.daemons import WIRING

    return WIRING


def _guide() -> tuple[Tool, ...]:
    from clew.doctor.tools import DOCTOR_TOOLS
    from clew.guide.tools import guide_tools

    return (*guide_tools(all_tools), *DOCTOR_TOOLS)


def _history() -> tuple[Tool, ...]:
    from clew.history.tools import HISTORY_TOOLS

    return HISTORY_TOOLS


def _specs() -> tuple[Tool, ...]:
    from clew.specs.tools import specs_tools
    from clew.work.tools import archive, cancel, reset, with_reasons

    return with_reasons(specs_tools(reset, cancel, archive))


def _work() -> tuple[Tool, ...]:
    from clew.work.tools import work_tools

    return work_tools(work_wiring)


def _commands() -> tuple[Tool, ...]:
    from clew.commands.tools import COMMANDS_TOOLS

    return COMMANDS_TOOLS


def _advisors() -> tuple[Tool, ...]:
    from clew.advisors.tools import ADVISORS_TOOLS

    return ADVISORS_TOOLS


def _thread() -> tuple[Tool, ...]:
    from clew.thread.tools import THREAD_TOOLS

    return THREAD_TOOLS


def _sessions() -> tuple[Tool, ...]:
    from clew.sessions.tools import SESSIONS_TOOLS

    return SESSIONS_TOOLS


# By toolset, in the order that clients see.
_LOADERS = {
    "guide": _guide,
    "history": _history,
    "specs": _specs,
    "work": _work,
    "commands": _commands,
    "advisors": _advisors,
    "thread": _thread,
    "sessions": _sessions,
}
_loaded: dict[str, tuple[Tool, ...]] = {}


def _tools_of(toolset: str) -> tuple[Tool, ...]:
    if toolset not in _loaded:
        _loaded[toolset] = _LOADERS[toolset]()
    return _loaded[toolset]


def all_tools() -> tuple[Tool, ...]:
    """Every tool, in the order that clients see."""
    return tuple(tool for toolset in _LOADERS for tool in _tools_of(toolset))


def offered_tools(face: Face, options: Mapping[str, str]) -> dict[str, Tool]:
    """What a server of this face offers with these options, by name."""
    asked = toolsets_in_question(face, options)
    tools = (tool for toolset in _LOADERS if toolset in asked for tool in _tools_of(toolset))
    return select_tools(face, options, tuple(tools))


def build_service(
    face: Face,
    options: Mapping[str, str],
    helpers: Helpers | None = None,
    around_call: Around | None = None,
    *,
    tools_only: bool = False,
) -> CatalogService:
    """The service behind a server: the offered tools with their rooms' prompts and resources."""
    if options.get("database"):
        offer_engines()
    offered = offered_tools(face, options)
    toolsets = set() if tools_only else {tool.toolset for tool in offered.values()}
    if "advisors" in toolsets and options.get("database"):
        keep_conversations(options["database"])
    offers = {
        "guide": (frozenset({"resources", "completions"}), _guide_source),
        "advisors": (frozenset({"prompts"}), _advisor_source),
        "commands": (
            frozenset({"prompts", "resources", "completions", "listChanged", "logging"}),
            lambda: _command_source(options),
        ),
    }
    return CatalogService(
        face,
        offered,
        options,
        sources=tuple(offer for toolset, offer in offers.items() if toolset in toolsets),
        before_call=_keep_and_repair if face.name == "clew" else repair_orphans,
        helpers=helpers,
        around_call=around_call,
    )


def _guide_source() -> Source:
    from clew.guide.topics import GuideSource

    return GuideSource(all_tools)


def _advisor_source() -> Source:
    from clew.advisors.prompts import AdvisorSource

    return AdvisorSource()


def _command_source(options: Mapping[str, str]) -> Source:
    from clew.commands.mcp_prompts import CommandSource

    return CommandSource(options)


def _keep_and_repair(tool: Tool, call: Call) -> None:
    """Before a call about history, bring the index up to date with the project's repository."""
    if tool.toolset in ("history", "thread") and "read_only" not in call.settings:
        from clew.history.upkeep import keep_current

        for problem in keep_current(call.settings, meter=_progress_of(call)):
            call.log("warning", f"The index was not brought up to date: {problem}")
    repair_orphans(tool, call)


def _progress_of(call: Call) -> Meter:
    from contextlib import contextmanager

    @contextmanager
    def meter(name: str, total: int, _first: bool) -> Iterator[Progress]:  # noqa: FBT001 - a Meter
        yield lambda done: call.progress(done, total, f"Reading commits of {name}")

    return meter


def repair_orphans(tool: Tool, call: Call) -> None:
    """Before a call about specs, repair runs whose process died, so that no spec stays stuck."""
    if tool.toolset == "specs":
        from clew.work.runs.repair_on_call import repair_on_call

        repair_on_call(call.settings)
