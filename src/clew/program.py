"""The program put together: every room's tools, and what the rooms need of each other.

Rooms do not name rooms above them; whatever reaches across is handed over here. Only the rooms'
`tools` modules are imported, and these import nothing of their room before a call.
"""

from __future__ import annotations

from clew.advisors.tools import ADVISORS_TOOLS
from clew.catalog.selection import select_tools
from clew.catalog.service import CatalogService
from clew.commands.tools import COMMANDS_TOOLS, CommandSource
from clew.doctor.tools import DOCTOR_TOOLS
from clew.guide.tools import GuideSource, guide_tools
from clew.history.tools import HISTORY_TOOLS
from clew.specs.tools import specs_tools
from clew.thread.tools import THREAD_TOOLS
from clew.work.tools import cancel, reset, work_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.catalog.faces import Face
    from clew.catalog.model import Tool
    from clew.catalog.service import Source
    from clew.kit.call import Call
    from clew.work.workspace import Wiring


def all_tools() -> tuple[Tool, ...]:
    """Every tool, in the order that clients see."""
    return TOOLS


def work_wiring() -> Wiring:
    """What starts of agents need of the rooms above theirs."""
    from clew.daemons import WIRING

    return WIRING


TOOLS: tuple[Tool, ...] = (
    *guide_tools(all_tools),
    *DOCTOR_TOOLS,
    *HISTORY_TOOLS,
    *specs_tools(reset, cancel),
    *work_tools(work_wiring),
    *COMMANDS_TOOLS,
    *ADVISORS_TOOLS,
    *THREAD_TOOLS,
)


def offered_tools(face: Face, options: Mapping[str, str]) -> dict[str, Tool]:
    """What a server of this face offers with these options, by name."""
    return select_tools(face, options, TOOLS)


def build_service(face: Face, options: Mapping[str, str]) -> CatalogService:
    """The service behind a server: the offered tools with their rooms' prompts and resources."""
    offered = offered_tools(face, options)
    toolsets = {tool.toolset for tool in offered.values()}
    sources: list[Source] = []
    if "guide" in toolsets:
        sources.append(GuideSource(all_tools))
    if "commands" in toolsets:
        sources.append(CommandSource(options))
    return CatalogService(
        face, offered, options, sources=tuple(sources), before_call=repair_orphans
    )


def repair_orphans(tool: Tool, call: Call) -> None:
    """Before a call about specs, repair runs whose process died, so that no spec stays stuck."""
    if tool.toolset == "specs":
        from clew.work.runs.repair_on_call import repair_on_call

        repair_on_call(call.settings)
