"""`guide`: how agents use Clew, by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.core.app import command
from clew.cli.core.options import flag, project_option
from clew.guide.tools import guide as answer_guide
from clew.guide.topics import rooms, topic_names, topic_text
from clew.kit.call import Call
from clew.kit.outcome import Outcome, Table
from clew.program import all_tools

if TYPE_CHECKING:
    from typing import Any


def _complete_topic(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    return [name for name in topic_names() if name.startswith(start)]


@command()
@click.argument("topic", required=False, shell_complete=_complete_topic)
@flag("--list", "only_list", "List the topics.")
@project_option
def guide(topic: str | None, project: str | None, *, only_list: bool) -> Outcome:
    """Show how agents use Clew, by topic. Without TOPIC: the overview."""
    if only_list:
        return _list_topics()
    arguments: dict[str, Any] = {"topic": topic, "project": project}
    answer = answer_guide(arguments, Call(), all_tools())
    return Outcome(answer.data, (answer.text,))


def _list_topics() -> Outcome:
    titles = {
        name: topic_text(name, all_tools()).split("\n", 1)[0].lstrip("# ") for name in topic_names()
    }
    data = {
        "topics": [{"name": name, "title": title} for name, title in titles.items()],
        "rooms": list(rooms(all_tools())),
    }
    return Outcome(data, (Table(("topic", "title"), tuple(titles.items())),))
