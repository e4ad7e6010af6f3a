"""Names that become parts of paths: what they may hold, and the nearest ones to a wrong one."""

from __future__ import annotations

from clew.kit.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 64
_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_RULE = "Names have letters, digits, `-` and `_`, begin with a letter or digit, and are short."


def is_name(value: object) -> bool:
    """Whether a value can be an agent, a domain, an action, a target or a variant."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST
        and value[0] not in "-_"
        and _ALPHABET.issuperset(value)
    )


def check_name(kind: str, value: object) -> str:
    """The name, or a refusal that says what a name looks like."""
    if not is_name(value):
        raise Invalid(f"Not a usable {kind}: {_shown(value)}", _RULE)
    assert isinstance(value, str)
    return value


def is_variable_name(value: str) -> bool:
    """Whether a value can follow `uv-`."""
    return is_name(value) and value[0].isalpha()


def nearest(wanted: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names most like the wanted one."""
    from difflib import get_close_matches

    return get_close_matches(wanted, list(dict.fromkeys(known)), n=count, cutoff=0.5)


def _shown(value: object) -> str:
    from clew.kit.text.display import clipped, shown_text

    return clipped(shown_text(repr(value)), 80)
