"""Spec ids: how they look, which come first, and which belong to which."""

from __future__ import annotations

import re

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_STANDARD = re.compile(r"(\d{4}-\d{2}-\d{2})-([0-9a-z]{3,})-([0-9a-z]{3})((?:\.\d+)*)")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}(?=-|$)")
_DRIVER = re.compile(r"([^.]+)\.(?=\d)")
_LONGEST = 200
SUFFIX_LENGTH = 3

SortKey = tuple[int, str, int, str, tuple[int, ...], str]


def is_usable(spec_id: str) -> bool:
    """Whether this can be a spec's id: one visible file name that no program takes for an option."""
    return (
        0 < len(spec_id) <= _LONGEST
        and spec_id[0] not in ".-"
        and spec_id.isprintable()
        and not any(character in spec_id for character in "/\\:")
    )


def base36(number: int) -> str:
    """The number in base 36, at least three digits long."""
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits.rjust(3, "0")


def sequence_of(spec_id: str, date: str) -> int:
    """The sequence number within this date, or 0 where the id has none."""
    found = _STANDARD.match(spec_id)
    return int(found.group(2), 36) if found and found.group(1) == date else 0


def new_id(date: str, sequence: int) -> str:
    """An id for this date and sequence number, with a random end."""
    import secrets

    suffix = "".join(secrets.choice(_DIGITS) for _ in range(SUFFIX_LENGTH))
    return f"{date}-{base36(sequence)}-{suffix}"


def date_of(spec_id: str) -> str | None:
    """The date that the id begins with."""
    found = _DATED.match(spec_id)
    return found.group() if found else None


def sort_key(spec_id: str) -> SortKey:
    """Ids by date, sequence, suffix; a driver before its members, members by number.

    Ids of another form come after those, in the order of their text.
    """
    found = _STANDARD.fullmatch(spec_id)
    if not found:
        return (1, spec_id, 0, "", (), spec_id)
    date, sequence, suffix, members = found.groups()
    numbers = tuple(int(part) for part in members[1:].split(".")) if members else ()
    return (0, date, int(sequence, 36), suffix, numbers, "")


def driver_of(spec_id: str) -> str | None:
    """The id before the first dot, where a digit follows that dot."""
    found = _DRIVER.match(spec_id)
    return found.group(1) if found else None


def ancestors_of(spec_id: str) -> tuple[str, ...]:
    """The ids that this one is a member of, the nearest first: `a.2.1` is one of `a.2` and `a`."""
    driver = driver_of(spec_id)
    if driver is None:
        return ()
    parts = spec_id[len(driver) + 1 :].split(".")
    names = [".".join((driver, *parts[:count])) for count in range(len(parts))]
    return tuple(reversed(names))


def member_numbers(spec_id: str) -> tuple[int, ...]:
    """The numbers after the driver's id, up to the first part that is none."""
    driver = driver_of(spec_id)
    numbers: list[int] = []
    for part in spec_id[len(driver) + 1 :].split(".") if driver else ():
        if not (part.isascii() and part.isdigit()):
            break
        numbers.append(int(part))
    return tuple(numbers)
