"""Requests, read from the words of a command line or the options of a tool call."""

from __future__ import annotations

from clew.commands.files.layers import DEFAULT_AGENT
from clew.commands.render.execute import Request
from clew.commands.render.render import VARIABLE
from clew.kit.errors import Invalid, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE = "climpt DOMAIN ACTION TARGET [-e=EDITION] [-a=ADAPTATION] [-f=FILE] [--uv-NAME=VALUE]"
_HINT = f"Usage: {USAGE}"

_OPTIONS = {
    "edition": ("e", "edition", "i", "input"),
    "adaptation": ("a", "adaptation"),
    "file": ("f", "from", "file"),
    "destination": ("o", "destination", "d"),
    "write": ("write",),
    "to": ("to",),
    "layer": ("layer",),
    "config": ("c", "config"),
    "agent": ("agent",),
    "project": ("project",),
}
_FLAGS = {"strict": "strict", "compat": "compatible", "force": "force", "copy": "copy"}
_BY_WORD = {word: option for option, words in _OPTIONS.items() for word in words}
# Options that a request has members for.
_MEMBERS = ("edition", "adaptation", "file", "destination", "layer")
_TEXT_KEYS = ("stdin", "text", "input", "input_text")


class Words:
    """A parsed command line."""

    def __init__(self) -> None:
        self.positional: list[str] = []
        self.options: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.flags: set[str] = set()


def read_words(words: list[str]) -> Words:
    """Positional words, `--key=value`, `--key value`, `-k=value`, `-k value`, flags."""
    found = Words()
    rest = iter(words)
    for word in rest:
        if word == "--":
            found.positional += rest
            break
        if not word.startswith("-") or word == "-":
            found.positional.append(word)
            continue
        key, equals, value = word.lstrip("-").partition("=")
        if key in _FLAGS and word.startswith("--") and not equals:
            found.flags.add(_FLAGS[key])
            continue
        if not equals:
            value = next(rest, "")
        _take_option(found, word, key, value)
    return found


def _take_option(found: Words, word: str, key: str, value: str) -> None:
    is_long = word.startswith("--")
    if key.startswith(VARIABLE) and is_long:
        found.variables[key.removeprefix(VARIABLE)] = value
        return
    option = _BY_WORD.get(key)
    if option is None or is_long != (len(key) > 1):
        raise UsageError(f"No such option: {word.partition('=')[0]}.{_suggestion(key)}", _HINT)
    if not value:
        raise UsageError(f"Empty value not allowed for option: {word.partition('=')[0]}", _HINT)
    if option != "config" or option not in found.options:
        found.options[option] = value


def _suggestion(key: str) -> str:
    from clew.commands.files.declarations import nearest

    near = nearest(key, [*_BY_WORD, *_FLAGS], 1)
    return f" Did you mean --{near[0]}?" if near and len(near[0]) > 1 else ""


def request_from_words(found: Words) -> Request:
    """The request behind a command line: three words, or two and `--config`."""
    words = list(found.positional)
    if "config" in found.options:
        words.insert(0, found.options["config"])
    if len(words) != 3:
        raise UsageError(
            f"A command has three words (domain, action, target), got {len(words)}", _HINT
        )
    request = Request(*words, agent=found.options.get("agent", DEFAULT_AGENT))
    for option in _MEMBERS:
        if option in found.options:
            _take_member(request, option, found.options[option])
    if request.file == "-":
        request.file = ""
    _take_flags(request, found)
    return request


def _take_flags(request: Request, found: Words) -> None:
    request.variables.update(found.variables)
    request.strict = "strict" in found.flags
    request.compatible = "compatible" in found.flags


def request_from_arguments(arguments: dict[str, Any]) -> Request:
    """The request behind a tool call; options as an object, or as words of a command line."""
    words = (arguments["c1"], arguments["c2"], arguments["c3"])
    request = Request(*words, agent=arguments.get("agent") or DEFAULT_AGENT)
    options = arguments.get("options") or {}
    if isinstance(options, list):
        found = _read_list(options)
        options = found.options
        _take_flags(request, found)
    for key, value in options.items():
        if value is not None:
            _take_member(request, key, value)
    return request


def _read_list(words: list[Any]) -> Words:
    if not all(isinstance(word, str) for word in words):
        raise Invalid(
            "options as a list must contain only strings", 'Like ["-e=detailed", "--uv-x=1"].'
        )
    try:
        found = read_words(words)
    except UsageError as error:
        raise Invalid(error.message, error.hint) from None
    if found.positional:
        raise Invalid(f"options contains a word that is not an option: {found.positional[0]}")
    return found


def _take_member(request: Request, key: str, value: Any) -> None:
    word = key.lstrip("-")
    option = _BY_WORD.get(word, "")
    if word == "uv":
        if not isinstance(value, dict):
            raise Invalid("uv must be an object of names and values", 'Like {"uv": {"x": "a"}}.')
        for name, item in value.items():
            request.variables[name.removeprefix(VARIABLE)] = _scalar(f"uv.{name}", item)
    elif word.startswith(VARIABLE):
        request.variables[word.removeprefix(VARIABLE)] = _scalar(key, value)
    elif word in _TEXT_KEYS:
        request.text = _scalar(key, value)
    elif word in ("strict", "compat"):
        if not isinstance(value, bool):
            raise Invalid(f"{key} must be true or false")
        setattr(request, _FLAGS[word], value)
    elif option in _MEMBERS:
        setattr(request, option, _scalar(key, value))
    else:
        known = (*_MEMBERS, "stdin", "uv", "strict", "compat")
        raise Invalid(f"No such option: {key}", f"Options: {', '.join(known)}.")


def _scalar(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise Invalid(f"{key} must be a string")
