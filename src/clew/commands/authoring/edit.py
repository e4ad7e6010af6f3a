"""Making a template ready to be edited: its own file, in a place that may be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.commands.authoring.write import write_template
from clew.commands.files import paths
from clew.commands.files.layers import PACKAGED, find_layers
from clew.commands.files.names import check_name
from clew.commands.files.templates import choose, file_name
from clew.commands.render.describe import find_command_home
from clew.commands.render.execute import Request
from clew.commands.render.suggestions import explain_miss

if TYPE_CHECKING:
    from collections.abc import Mapping


def prepare(
    address: tuple[str, str, str],
    edition: str,
    adaptation: str,
    agent: str,
    settings: Mapping[str, str] | None,
) -> str:
    """The path of the variant's file; made as a copy where it does not exist or is packaged."""
    check_name("edition", edition)
    if adaptation:
        check_name("adaptation", adaptation)
    home = find_command_home(agent, address, settings)
    chosen = choose(home, edition, adaptation, strict=False) if home else None
    if home is None or chosen is None:
        raise explain_miss(Request(*address, agent=agent), settings)
    name = file_name(edition, adaptation)
    if home.layer.origin == PACKAGED:
        project = find_layers(settings)[0]
        target = paths.join(project.base, "prompts", *address, name)
        write_template(project, target, paths.read_text(chosen.path))
        return target
    target = paths.join(home.directory, name)
    if not paths.exists(target):
        write_template(home.layer, target, paths.read_text(chosen.path))
    return target
