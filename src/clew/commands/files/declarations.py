"""What a template declares: names that become parts of paths, texts, options and variables.

All scalars are text, as frontmatter is read. Nothing here may import what a cold start cannot
afford.
"""

from __future__ import annotations

from clew.kit.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

LONGEST_NAME = 64
_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_RULE = "Names have letters, digits, `-` and `_`, begin with a letter or digit, and are short."
_NOTHING = ("", "~", "null")
_SECRET_WORDS = ("token", "secret", "password", "passwd", "apikey", "api-key", "api_key")


def is_name(value: object) -> bool:
    """Whether a value can be an agent, a domain, an action, a target or a variant."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST_NAME
        and value[0] not in "-_"
        and _ALPHABET.issuperset(value)
    )


def check_name(kind: str, value: object) -> str:
    """The name; refused unless it follows the rule for names."""
    if not is_name(value):
        from clew.kit.text.display import clipped, shown_text

        raise Invalid(f"Not a usable {kind}: {clipped(shown_text(repr(value)), 80)}", _RULE)
    assert isinstance(value, str)
    return value


def is_variable_name(value: str) -> bool:
    """Whether a value can follow `uv-`."""
    return is_name(value) and value[0].isalpha()


def nearest(wanted: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names most like the wanted one."""
    from difflib import get_close_matches

    return get_close_matches(wanted, list(dict.fromkeys(known)), n=count, cutoff=0.5)


class Variable:
    """A variable of the user's own, written `{uv-name}` in a template; `name` lacks the `uv-`."""

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        required: bool = False,
        default: str | None = None,
        choices: tuple[str, ...] = (),
        secret: bool = False,
    ) -> None:
        self.name = name
        self.description = description
        self.required = required
        self.default = default
        self.choices = choices
        self.secret = secret or is_secret_name(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self.description))


def is_secret_name(name: str) -> bool:
    """Whether a value of this name should not be shown in logs."""
    lowered = name.lower()
    return any(word in lowered for word in _SECRET_WORDS)


def text_of(value: Any) -> str:
    """A scalar as text; empty for null and `~`."""
    return value.strip() if isinstance(value, str) and value.strip() not in _NOTHING else ""


def is_true(value: Any) -> bool:
    """Whether a scalar of frontmatter or of a registry is true."""
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


def names_of(value: Any) -> tuple[str, ...]:
    """A list of scalars as texts; a single scalar counts as a list of one."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return ()
    return tuple(text for text in map(text_of, value) if text)


def declared_variables(meta: Mapping[str, Any]) -> tuple[Variable, ...]:
    """The variables that `uv` declares, in any of the forms in which people write it."""
    options = meta.get("options")
    listed = meta.get("uv") or (options.get("uv") if isinstance(options, dict) else None)
    found: dict[str, Variable] = {}
    for written, details in _pairs(listed):
        name = written.removeprefix("uv-")
        if name and name not in found:
            found[name] = _variable(name, details)
    return tuple(found.values())


def _pairs(listed: Any) -> list[tuple[str, Any]]:
    if isinstance(listed, dict):
        return [(str(name), details) for name, details in listed.items()]
    pairs: list[tuple[str, Any]] = []
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            pairs.append((item["name"], item))
        elif isinstance(item, dict):
            pairs.extend((str(name), details) for name, details in item.items())
        elif isinstance(item, str):
            pairs.append((item, ""))
    return pairs


def _variable(name: str, details: Any) -> Variable:
    if not isinstance(details, dict):
        return Variable(name, text_of(details))
    return Variable(
        name,
        text_of(details.get("description")),
        required=is_true(details.get("required")),
        default=text_of(details.get("default")) or None,
        choices=names_of(details.get("enum") or details.get("choices")),
        secret=is_true(details.get("secret")),
    )
