"""What the guide knows: rooms, and the question that each tool answers."""

from __future__ import annotations

from dataclasses import dataclass

# The question that leads to a tool. A tool without an entry is shown with its description.
QUESTIONS = {
    "clew_guide": "What is set up here? Which tool answers what?",
    "clew_doctor": "Something does not work. What is wrong, and what repairs it?",
    "long_running_operation": "Do progress and cancelling work in this host? (an example tool)",
}


@dataclass(frozen=True)
class RoomTool:
    """One tool, and the question it answers."""

    name: str
    question: str
    core: bool


@dataclass(frozen=True)
class Room:
    """One part of Clew, with its tools."""

    name: str
    tools: tuple[RoomTool, ...]
