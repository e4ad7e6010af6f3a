"""What lint can mend by itself: front matter that says something else than the templates do."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import join
from pathlib import Path
from typing import Any

from clew.commands.files.declarations import declared_variables, text_of
from clew.commands.files.disk import confined
from clew.commands.files.layers import PROJECT, USER, find_layers
from clew.commands.files.templates import variant_names, variants_of
from clew.commands.registry.registry_file import read_options
from clew.commands.registry.scan import Folder, find_folders, first_line
from clew.commands.render.render import DESTINATION, FILE, INPUT, VARIABLE, names_in
from clew.kit.errors import ClewError
from clew.kit.files import write_atomic
from clew.kit.text.frontmatter import read_document, read_leniently
from clew.kit.text.frontmatter_edit import edit_document


def repair(
    agent: str, settings: Mapping[str, str] | None, within: tuple[str, ...] = ()
) -> list[str]:
    """Mend the project's and the user's templates; the paths of those that changed."""
    changed = []
    for layer in find_layers(settings):
        if layer.origin in (PROJECT, USER):
            changed += [
                folder.main_file for folder in find_folders(layer, agent, within) if _mended(folder)
            ]
    return changed


def _mended(folder: Folder) -> bool:
    path = Path(confined(folder.fence, folder.main_file))
    try:
        texts = [folder.read(join(folder.directory, name)) for name, _, _ in folder.stamps]
        meta, body, problem = read_leniently(folder.read(str(path)))
        used = {name for text in texts for name in names_in(read_leniently(text)[1])}
    except ClewError:
        return False
    if problem or not body.strip():
        return False
    changes = _changes(meta or {}, folder, body, used)
    if changes:
        write_atomic(path, edit_document(read_document(path.read_bytes()), changes))
    return bool(changes)


def _changes(meta: dict[str, Any], folder: Folder, body: str, used: set[str]) -> dict[str, Any]:
    """The fields that have to change, with their new values."""
    changes: dict[str, Any] = {}
    if not text_of(meta.get("title")):
        changes["title"] = " ".join(folder.address[1:]).replace("-", " ").capitalize()
    if not text_of(meta.get("description")):
        changes["description"] = first_line(body, 200)
    declared = read_options(meta.get("options"))
    editions, adaptations = variant_names(variants_of(name for name, _, _ in folder.stamps))
    options = {
        "edition": editions,
        "adaptation": adaptations,
        "file": FILE in used or (declared.file and INPUT in used),
        "stdin": INPUT in used,
        "destination": DESTINATION in used,
    }
    if options != declared.record():
        changes["options"] = options
    changes |= _variables(meta, used)
    return changes


def _variables(meta: dict[str, Any], used: set[str]) -> dict[str, Any]:
    known = {variable.name: variable for variable in declared_variables(meta)}
    asked = [name.removeprefix(VARIABLE) for name in sorted(used) if name.startswith(VARIABLE)]
    if set(known) == set(asked):
        return {}
    if any(v.choices or v.required or v.default is not None for v in known.values()):
        return {}  # a person wrote more than names and purposes: that stays theirs
    order = [name for name in known if name in asked]
    order += [name for name in asked if name not in known]
    return {"uv": [{name: known[name].description if name in known else name} for name in order]}
