"""Criteria that code fences hide: boxes that their author sees and that do not count.

Markdown knows no fences inside fences of the same length. Whoever writes an example with code in
it that way opens, with its last fence, code that goes on to the end of the text.
"""

from __future__ import annotations

import re

from clew.specs.files.criteria import parse_criteria

_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})(.*)")


def hidden_criteria(body: str) -> list[int]:
    """The lines of boxes that would count if fences were read as they look; else none."""
    if "```" not in body and "~~~" not in body:
        return []
    counted = {item.line for item in parse_criteria(body).items}
    views = [_as_nested(body)] if counted else [_as_nested(body), _without_fences(body)]
    for view in views:
        hidden = [item.line for item in parse_criteria(view).items if item.line not in counted]
        if hidden:
            return hidden
    return []


def _as_nested(body: str) -> str:
    """The text with its code left out, where a fence with a language opens one more level."""
    depth, lines = 0, []
    for line in body.split("\n"):
        fence = _FENCE.match(line)
        lines.append("" if fence or depth else line)
        if fence:
            depth += 1 if fence[1].strip() or not depth else -1
    return "\n".join(lines)


def _without_fences(body: str) -> str:
    return "\n".join("" if _FENCE.match(line) else line for line in body.split("\n"))
