"""How a spec is divided: what a division must hold, one that needs no model, and what a model said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from math import ceil
from pathlib import PurePosixPath
from typing import Any

from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.kit.text.display import clipped

MOST_CRITERIA = 5
MOST_FILES = 5
MOST_MEMBERS = 6  # of one level, where we divide ourselves; a model may have twice as many
_LONGEST_TITLE = 80
_LONG_WORD = re.compile(r"[a-z0-9]{3,}")
SCHEMA = {
    "type": "object",
    "required": ["members"],
    "properties": {
        "members": {
            "type": "array",
            "minItems": 2,
            "items": {
                "type": "object",
                "required": ["title", "acceptance_criteria", "covers"],
                "properties": {
                    "title": {"type": "string"},
                    "description": {"type": "string"},
                    "acceptance_criteria": {"type": "array", "items": {"type": "string"}},
                    "covers": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                    "target_files": {"type": "array", "items": {"type": "string"}},
                    "depends_on": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                },
            },
        }
    },
}
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n```", re.DOTALL)
_MEMBER = re.compile(r"^## Member (\d{1,4})[:.]?[ \t]*(.*)$", re.MULTILINE)
_HEADING = re.compile(r"^###[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?(.+?)[ \t]*$", re.MULTILINE)
_BOLD = re.compile(r"^\*\*([A-Za-z ]+):\*\*[ \t]*(.*)$", re.MULTILINE)
_NUMBER = re.compile(r"[Mm]ember (\d{1,4})")
_WORD = re.compile(r"[a-z0-9]+")
_ALIKE = 0.75


@dataclass(frozen=True)
class Demand:
    """One acceptance criterion, and the command that checks it."""

    text: str
    check: str | None = None


@dataclass(frozen=True)
class Piece:
    """Something that can be divided: a spec, or a member that is still too much."""

    title: str
    description: str
    criteria: tuple[Demand, ...]
    files: tuple[str, ...]

    @property
    def is_large(self) -> bool:
        """Whether it is more than one member should be."""
        return len(self.criteria) > MOST_CRITERIA or len(self.files) > MOST_FILES


@dataclass(frozen=True)
class Member(Piece):
    """A part of a piece; `covers` and `depends_on` count from 1."""

    covers: tuple[int, ...] = ()
    depends_on: tuple[int, ...] = ()
    members: tuple[Member, ...] = ()


def divide(piece: Piece) -> list[Member]:
    """Divide by criteria and files, always the same way.

    Criteria that name the same file stay together. Members whose files are known and distinct are
    independent; otherwise each waits for the one before it.
    """
    clusters = _clusters(piece)
    if len(clusters) < 2:
        raise Invalid(
            "There is nothing to divide: one criterion, one file or less",
            "Write down more acceptance criteria or target files, each on its own line.",
        )
    bins = _packed(clusters, _member_count(piece, len(clusters)))
    known = [files for _, files in bins]
    apart = all(known) and sum(map(len, known)) == len({name for group in known for name in group})
    return [
        _member(piece, numbers, files, () if apart or index == 0 else (index,))
        for index, (numbers, files) in enumerate(bins)
    ]


def problems(piece: Piece, members: Sequence[Member]) -> list[str]:
    """What is wrong with a division; nothing may be written while there is something."""
    found = []
    if not 2 <= len(members) <= 2 * MOST_MEMBERS:
        found.append(f"There must be 2 to {2 * MOST_MEMBERS} members, not {len(members)}")
    for number, member in enumerate(members, start=1):
        found += [f"Member {number}: {what}" for what in _member_problems(piece, member, members)]
    covered = {number for member in members for number in member.covers}
    for number, demand in enumerate(piece.criteria, start=1):
        if number not in covered:
            found.append(f"No member covers criterion {number}: {demand.text}")
    ring = cycle_of(members)
    if ring:
        found.append(f"Members wait for each other: {' -> '.join(map(str, ring))}")
    return found


def cycle_of(members: Sequence[Member]) -> list[int]:
    """Members that wait for each other in a circle, by their numbers; nothing if none do."""
    numbers = range(1, len(members) + 1)
    graph = {n: [w for w in members[n - 1].depends_on if w in numbers] for n in numbers}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        ring: list[int] = error.args[1]
        return ring[::-1]  # each waits for the next
    return []


def ordered(piece: Piece, members: Sequence[Member]) -> tuple[list[Member], list[str]]:
    """Keep the checks of covered criteria, and have members that share a file wait their turn."""
    kept = [_with_checks(piece, member) for member in members]
    warnings = []
    for later in range(2, len(kept) + 1):
        for earlier in range(1, later):
            shared = sorted(set(kept[later - 1].files) & set(kept[earlier - 1].files))
            if shared and not (_waits(kept, later, earlier) or _waits(kept, earlier, later)):
                member = kept[later - 1]
                kept[later - 1] = replace(member, depends_on=(*member.depends_on, earlier))
                names = ", ".join(shared)
                warnings.append(f"Members {earlier} and {later} both change {names}: in this order")
    return kept, warnings


def _member_problems(piece: Piece, member: Member, members: Sequence[Member]) -> list[str]:
    found = []
    if not member.title.strip():
        found.append("it has no title")
    if not member.criteria:
        found.append("it has no acceptance criteria")
    if any(not 1 <= number <= len(members) for number in member.depends_on):
        found.append(f"it depends on members that do not exist: {list(member.depends_on)}")
    if any(not 1 <= number <= len(piece.criteria) for number in member.covers):
        found.append(f"it covers criteria that do not exist: {list(member.covers)}")
    found += [f"not a file in the project: {name}" for name in member.files if not _is_inside(name)]
    return found


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return name.isprintable() and not path.is_absolute() and ".." not in path.parts


def _with_checks(piece: Piece, member: Member) -> Member:
    criteria = list(member.criteria)
    for number in member.covers:
        demand = piece.criteria[number - 1]
        if demand.check is None or any(mine.check == demand.check for mine in criteria):
            continue
        same = [place for place, mine in enumerate(criteria) if mine.text == demand.text]
        if same:
            criteria[same[0]] = demand
        else:
            criteria.append(demand)
    return replace(member, criteria=tuple(criteria))


def _waits(members: Sequence[Member], one: int, other: int) -> bool:
    """Whether one member waits for another, directly or not."""
    seen, todo = set[int](), [one]
    while todo:
        for number in members[todo.pop() - 1].depends_on:
            if number == other:
                return True
            if number not in seen:
                seen.add(number)
                todo.append(number)
    return False


_Cluster = tuple[list[int], list[str]]  # numbers of criteria, files


def _clusters(piece: Piece) -> list[_Cluster]:
    """Criteria that belong together because of their files, in the order of the first of each."""
    named = [[f for f in piece.files if _mentions(d.text, f)] for d in piece.criteria]
    clusters: list[_Cluster] = []
    for number, files in enumerate(named, start=1):
        touching = [c for c in clusters if set(c[1]) & set(files)]
        merged: _Cluster = ([n for c in touching for n in c[0]] + [number], [])
        merged[1].extend(dict.fromkeys([f for c in touching for f in c[1]] + files))
        clusters = [c for c in clusters if c not in touching] + [merged]
    if len(clusters) == 1 and len(piece.criteria) > 1:  # all share files: one after the other
        clusters = [([number], files) for number, files in enumerate(named, start=1)]
    clusters.sort(key=lambda cluster: cluster[0][0])
    left = [name for name in piece.files if not any(name in files for _, files in clusters)]
    if not clusters:
        return [([], [name]) for name in left]
    for name in left:
        min(clusters, key=lambda cluster: _distance(piece, cluster, name))[1].append(name)
    return clusters


def _mentions(text: str, name: str) -> bool:
    last = PurePosixPath(name).name
    return name in text or bool(re.search(rf"(?<![\w.]){re.escape(last)}(?![\w])", text))


def _distance(piece: Piece, cluster: _Cluster, name: str) -> tuple[int, int, int]:
    """How little a file has to do with a cluster: by common words, then by how many it has."""
    words = set(_LONG_WORD.findall(name.lower()))
    said = " ".join(piece.criteria[number - 1].text.lower() for number in cluster[0])
    return (-len(words & set(_LONG_WORD.findall(said))), len(cluster[1]), cluster[0][0])


def _member_count(piece: Piece, clusters: int) -> int:
    wanted = max(2, ceil(len(piece.criteria) / MOST_CRITERIA), ceil(len(piece.files) / MOST_FILES))
    return min(wanted, MOST_MEMBERS, clusters)


def _packed(clusters: list[_Cluster], count: int) -> list[_Cluster]:
    """The clusters in their order, in this many members of about the same size."""
    weights = [max(1, len(numbers)) for numbers, _ in clusters]
    bins: list[_Cluster] = [([], [])]
    weight, total = 0, sum(weights)
    for place, (numbers, files) in enumerate(clusters):
        must_begin = len(clusters) - place == count - len(bins)
        is_full = weight >= total * len(bins) / count
        if bins[-1] != ([], []) and len(bins) < count and (must_begin or is_full):
            bins.append(([], []))
        bins[-1][0].extend(numbers)
        bins[-1][1].extend(name for name in files if name not in bins[-1][1])
        weight += weights[place]
    return bins


def _member(piece: Piece, numbers: list[int], files: list[str], after: tuple[int, ...]) -> Member:
    criteria = tuple(piece.criteria[number - 1] for number in numbers)
    if criteria:
        title = clipped(criteria[0].text.rstrip("."), _LONGEST_TITLE)
        more = len(criteria) - 1
        title += f" (and {more} more)" if more else ""
    else:
        title = f"{piece.title}: {', '.join(PurePosixPath(name).name for name in files)}"
        criteria = tuple(Demand(f"`{name}` does what the spec asks of it") for name in files)
    return Member(title, piece.description, criteria, tuple(files), tuple(numbers), after)


def read_answer(texts: list[str], piece: Piece) -> list[Member]:
    """The members in the first of these texts that has some."""
    for text in texts:
        for candidate in _candidates(text):
            try:
                value = jsontext.loads(candidate)
            except jsontext.JsonError:
                continue
            listed = value.get("members") if isinstance(value, dict) else value
            if isinstance(listed, list) and listed and all(isinstance(m, dict) for m in listed):
                return [_from_json(entry) for entry in listed]
    for text in texts:
        members = _from_text(text, piece)
        if members:
            return members
    raise Invalid("The answer has no members in it", "It must be one JSON object.")


def _candidates(text: str) -> list[str]:
    found = [text.strip(), *(block.strip() for block in _FENCE.findall(text))]
    for opening, closing in (("{", "}"), ("[", "]")):
        start, end = text.find(opening), text.rfind(closing)
        found += [text[start : end + 1]] if 0 <= start < end else []
    return found


def _from_json(entry: dict[str, Any]) -> Member:
    return Member(
        " ".join(str(entry.get("title") or "").split()),
        str(entry.get("description") or "").strip(),
        tuple(Demand(" ".join(text.split())) for text in _texts(entry.get("acceptance_criteria"))),
        tuple(dict.fromkeys(_texts(entry.get("target_files")))),
        tuple(sorted(set(_numbers(entry.get("covers"))))),
        tuple(sorted(set(_numbers(entry.get("depends_on"))))),
    )


def _texts(value: object) -> list[str]:
    return (
        [item.strip() for item in value if isinstance(item, str) and item.strip()]
        if isinstance(value, list)
        else []
    )


def _numbers(value: object) -> list[int]:
    found = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, int) and not isinstance(item, bool):
            found.append(item)
        elif isinstance(item, str) and (said := re.search(r"\d{1,4}", item)):
            found.append(int(said.group()))
    return found


def _from_text(text: str, piece: Piece) -> list[Member]:
    """`## Member N: title`, prose, `### Acceptance Criteria`, files and dependencies in bold."""
    marks = list(_MEMBER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    numbers = [int(mark.group(1)) for mark in marks]
    if not marks or numbers != list(range(1, len(marks) + 1)):
        return []
    return [
        _section(mark.group(2).strip(), text[mark.end() : end], piece)
        for mark, end in zip(marks, ends, strict=True)
    ]


def _section(title: str, text: str, piece: Piece) -> Member:
    parts = _HEADING.split(text)
    headed = {name.lower(): body for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    bold = {found[1].lower(): (found[2], found.end()) for found in _BOLD.finditer(text)}
    own = _BOLD.split(headed.get("acceptance criteria", ""))[0]
    criteria = tuple(Demand(" ".join(item.split())) for item in _BOX.findall(own))
    files = _listed(text, bold.get("affected files"))
    said = headed.get("requires") or (bold.get("dependencies") or ("", 0))[0]
    depends = tuple(sorted({int(number) for number in _NUMBER.findall(said)}))
    description = _BOLD.split(parts[0])[0].strip()
    return Member(title, description, criteria, files, _covered(criteria, piece), depends)


def _listed(text: str, place: tuple[str, int] | None) -> tuple[str, ...]:
    """The bullets right below a line in bold."""
    found: list[str] = []
    for line in text[place[1] :].splitlines() if place else []:
        bullet = _BOX.match(line)
        if bullet:
            found.append(bullet.group(1).strip("` "))
        elif line.strip():
            break
    return tuple(dict.fromkeys(found))


def _covered(criteria: tuple[Demand, ...], piece: Piece) -> tuple[int, ...]:
    """The criteria of the whole that these are about, judged by their words."""
    mine = [set(_WORD.findall(demand.text.lower())) for demand in criteria]
    found = []
    for number, demand in enumerate(piece.criteria, start=1):
        words = set(_WORD.findall(demand.text.lower()))
        if words and any(len(words & own) / len(words) >= _ALIKE for own in mine):
            found.append(number)
    return tuple(found)
