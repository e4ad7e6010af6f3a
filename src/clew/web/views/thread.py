"""The thread as pages show it: where a click on its picture leads, and its gaps in words."""

from __future__ import annotations

from typing import Any

from clew.thread.trace.picture import COMMIT, DECISION, SPEC, Node
from clew.thread.trace.trace import Trace
from clew.web.site import path_part, url

_GAP_WORDS = {
    "objectives_without_specs": "Objectives that no spec works towards",
    "features_without_specs": "Features without a spec",
    "specs_without_origin": "Specs that come from no feature",
    "specs_without_commits": "Completed specs without a commit",
    "commits_without_specs": "Recent commits without a spec",
}


def node_address(node: Node, paths: dict[str, str]) -> str:
    """The page about a node; `paths` are those of the decisions by name."""
    if node.column == DECISION:
        return f"/documents/{paths[node.key]}" if node.key in paths else "/documents"
    if node.column == COMMIT and node.name:
        return f"/commits/{path_part(node.key)}"
    if node.column in (SPEC, COMMIT):
        place = f"/specs/{path_part(node.key.removesuffix('+'))}"
        return place if node.name else f"{place}#review"
    return url("/thread", item=node.key)


def gaps_of(made: Trace) -> list[dict[str, Any]]:
    """What breaks the thread, in words and with where to look."""
    subjects = {one.sha: one.subject for one in made.recent}
    found = []
    for kind, names in made.gaps.items():
        if not names:
            continue
        entries = [
            {
                "name": name[:12] if kind.startswith("commits") else name,
                "text": subjects.get(name) or made.titles.get(name, ""),
                "address": _address_of(kind, name),
            }
            for name in names
        ]
        words = _GAP_WORDS.get(kind, kind.replace("_", " "))
        found.append({"kind": kind, "words": words, "entries": entries})
    return found


def _address_of(kind: str, name: str) -> str:
    if kind.startswith("commits"):
        return f"/commits/{path_part(name)}"
    return f"/specs/{path_part(name)}" if kind.startswith("specs") else url("/thread", item=name)
