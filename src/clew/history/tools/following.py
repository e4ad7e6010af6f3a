"""What to ask after an answer: the next call, filled in; and what emptied an empty one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.jsontext import JsonObject

    Then = Callable[[JsonObject, JsonObject], "tuple[str, JsonObject] | None"]

# Arguments that leave answers out, the most likely culprit of an empty one first.
_NARROWING = (
    "paths", "direction", "code_only", "since", "until", "author", "status", "ref", "min_support",
    "repos",
)  # fmt: skip
_NEAREST = 3


def hunks_of(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    """The hunks of the first commit of an answer."""
    first = next(iter(found["commits"]), None)
    if first is None:
        return None
    paths = [asked["path"]] if asked.get("path") else asked.get("paths")
    arguments = {"repo": first.get("repo") or asked["repo"], "shas": [first["sha"]]}
    return "hunks", {**arguments, "paths": paths} if paths else arguments


def first_hunks(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    """The hunks with the text, of the commit that brought it."""
    following = hunks_of({"commits": found["commits"][-1:]}, asked)
    if following is None or asked.get("regex"):
        return following
    return "hunks", {**following[1], "text": asked["text"]}


def next_call(then: Then | None, found: JsonObject, asked: JsonObject) -> JsonObject:
    """`next`, for an answer that has something to ask after it."""
    following = then(found, asked) if then is not None else None
    if following is None:
        return {}
    return {"next": {"tool": f"commitmux_{following[0]}", "arguments": following[1]}}


def next_line(data: JsonObject) -> list[str]:
    """The next call as the last line of an answer in words."""
    from clew.kit import jsontext

    following = data.get("next")
    if not following:
        return []
    return [f"Next: {following['tool']} {jsontext.dumps(following['arguments'])}"]


def nearest(ask: Callable[[JsonObject], JsonObject], given: JsonObject, items: str) -> JsonObject:
    """Which argument emptied an answer, and the first ones without it; else nothing."""
    for name in _NARROWING:
        if given.get(name) in (None, False):
            continue
        found = ask({key: value for key, value in given.items() if key != name})
        if found[items]:
            return {"emptied_by": name, "nearest": found[items][:_NEAREST]}
    return {}
