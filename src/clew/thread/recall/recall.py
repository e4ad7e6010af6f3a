"""Where was this done before: one question over everything that is known of a project."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from clew.catalog.wording import commands_of
from clew.commands.search.search import ALL_AGENTS
from clew.commands.search.search import search as search_commands
from clew.history.lookup import chosen_repos, patch_text
from clew.history.model import Repo
from clew.history.search.filters import Filters
from clew.history.search.unsearched import unsearched, unsearched_line
from clew.kit.errors import ClewError, Invalid
from clew.kit.text.display import clipped, excerpt
from clew.kit.times import day_text
from clew.specs.index.text_index import SPEC, Known, Text
from clew.thread.recall.commit_search import Related, Search
from clew.thread.recall.corpus import DOCUMENT, RUN, current_texts
from clew.thread.recall.git_messages import GitMessages, Message
from clew.thread.recall.word_rank import ranked, telling_words
from clew.thread.rooms import Rooms

if TYPE_CHECKING:
    from clew.sessions.model import Found

_Ranked = list[tuple[Callable[[Rooms, list[str], float], "Hit"], float]]


COMMIT, COMMAND, SESSION = "commit", "command", "session"
KINDS = (COMMIT, SPEC, RUN, COMMAND, DOCUMENT, SESSION)
LIMIT = 10
_MOST = 100
_EACH = 30
_SHARES = {COMMIT: 1.0, SPEC: 1.0, DOCUMENT: 0.9, SESSION: 0.8, RUN: 0.8, COMMAND: 0.7}
_MEANT = 0.5  # what a commit counts for that was found by meaning alone
_RANK_ALONE = 0.3  # what a rank alone is worth
_FLATNESS = 10  # how little the first places of a list count for more than the next
_LONGEST_QUERY = 4000
_LONGEST_SNIPPET = 160
_LARGEST_PATCH = 60_000
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Hit:
    """One thing that was found, and the calls that show more of it."""

    kind: str
    id: str
    title: str
    snippet: str
    score: float
    time: int | None
    call: str
    tool: dict[str, Any] | None

    def as_data(self) -> dict[str, Any]:
        """The hit as programs read it."""
        return {**vars(self), "score": round(self.score, 4)}


@dataclass(frozen=True)
class RecallRequest:
    """A question and what its answers must be."""

    text: str
    kinds: tuple[str, ...] = KINDS
    repos: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    limit: int = LIMIT
    all_repos: bool = False

    def fits(self, moment: int) -> bool:
        """Whether a time is one that was asked for."""
        return (self.since is None or moment >= self.since) and (
            self.until is None or moment <= self.until
        )


@dataclass
class Recalled:
    """What was found, best first, how many there were, and what could not be request."""

    hits: list[Hit]
    total: int
    missing: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """The answer as programs read it."""
        return {
            "hits": [hit.as_data() for hit in self.hits],
            "total": self.total,
            "missing": self.missing,
        }


def recall(rooms: Rooms, request: RecallRequest) -> Recalled:
    """What has to do with a question, of every kind, fused by rank."""
    words = _checked(request)
    lists: dict[str, _Ranked] = {}
    skipped: list[str] = []
    if COMMIT in request.kinds:
        lists[COMMIT] = _commits(rooms, request, words, skipped)
    wanted = [kind for kind in (SPEC, RUN, DOCUMENT) if kind in request.kinds]
    if wanted and not request.repos:
        lists |= _texts(rooms, request, words, wanted)
    if COMMAND in request.kinds and not (request.repos or request.since or request.until):
        lists[COMMAND] = _commands(rooms, request.text)
    if SESSION in request.kinds and not request.repos and rooms.project is not None:
        lists[SESSION] = _turns(rooms.project, request, words)
    best = interleaved(lists, _SHARES)
    shown = [make(rooms, words, score) for make, score in best[: max(0, min(request.limit, _MOST))]]
    missing = [one.text for one in rooms.missing.values() if _matters(one.source, request.kinds)]
    return Recalled(shown, len(best), [*missing, *(commands_of("clew", one) for one in skipped)])


def _checked(request: RecallRequest) -> list[str]:
    unknown = [kind for kind in request.kinds if kind not in KINDS]
    if unknown:
        raise Invalid(f"Unknown kind: {unknown[0]}", f"Kinds: {', '.join(KINDS)}.")
    words = telling_words(request.text[:_LONGEST_QUERY])
    if not words:
        raise Invalid("The question has no words to look for", "Describe what you look for.")
    return words


def _matters(source: str, kinds: Sequence[str]) -> bool:
    return source != "specs" or SPEC in kinds or RUN in kinds


def _commit_hit(one: Related, rooms: Rooms, words: list[str], score: float) -> Hit:
    """A commit with the line of its message, or of its diff, that answers best."""
    named = f" --repo {one.repo}" if _is_elsewhere(rooms, one.repo) else ""
    return Hit(
        COMMIT, f"{one.repo}@{one.sha[:12]}", one.subject, _commit_line(rooms, one, words), score,
        one.date, f"clew why {one.sha[:12]}{named}",
        {"name": "clew_why", "arguments": {"target": one.sha[:12], "repo": one.repo}},
    )  # fmt: skip


def _commit_line(rooms: Rooms, one: Related, words: list[str]) -> str:
    assert rooms.history is not None
    known = rooms.history.commits([one.commit_id]).get(one.commit_id)
    found = best_line((known.body if known else None) or "", words)
    if found or any(word in one.subject.lower() for word in words):
        return found
    patch = patch_text(rooms.history, one.commit_id, _LARGEST_PATCH) or ""
    return best_line("\n".join(filter(_is_changed, patch.split("\n"))), words)


def _message_hit(one: Message, _rooms: Rooms, words: list[str], score: float) -> Hit:
    """A commit that git itself found."""
    tool = {"name": "clew_why", "arguments": {"target": one.sha[:12]}}
    identity, call = f"{one.repo}@{one.sha[:12]}", f"clew why {one.sha[:12]}"
    snippet = best_line(one.body, words)
    return Hit(COMMIT, identity, one.subject, snippet, score, one.date, call, tool)


def _text_hit(known: Known, text: Text, rooms: Rooms, words: list[str], score: float) -> Hit:
    """A spec, a log or a document with the line that answers best."""
    kind, key, title = known.kind, known.key, text.title
    call, tool = {
        SPEC: (f"clew show {key}", {"name": "chant_spec_get", "arguments": {"id": key}}),
        RUN: (f"clew logs {key}", {"name": "chant_log", "arguments": {"id": key}}),
    }.get(kind, (f"less {key}", None))
    if kind == SPEC and rooms.specs is not None:
        head = rooms.specs.snapshot().by_id.get(key)
        state = "archived" if head and head.archived else head.status if head else "gone"
        title = f"{title} ({state})"
    return Hit(kind, key, title, best_line(text.body, words), score, known.time, call, tool)


def _command_hit(found: dict[str, Any], _rooms: Rooms, _words: list[str], score: float) -> Hit:
    """A command with its description."""
    arguments = {name: found[name] for name in ("c1", "c2", "c3")}
    name = " ".join(arguments.values())
    tool = {"name": "climpt_describe", "arguments": arguments}
    text = clipped(found["description"], _LONGEST_SNIPPET)
    return Hit(COMMAND, name, name, text, score, None, f"clew command show {name}", tool)


def _is_changed(line: str) -> bool:
    return line[:1] in ("+", "-") and line[:3] not in ("+++", "---")


def _is_elsewhere(rooms: Rooms, name: str) -> bool:
    own = rooms.own_repo()
    return own is None or own.name != name


def _commits(rooms: Rooms, request: RecallRequest, words: list[str], skipped: list[str]) -> _Ranked:
    own = rooms.own_repo()  # notes it if the repository is not indexed, or the index is stale
    found_by_git: _Ranked = []
    if own is not None and not rooms.is_indexed(own) and request.repos in ((), (own.name,)):
        found_by_git = _commits_by_git(own, request)
    if rooms.history is None:
        return found_by_git
    with rooms.history.snapshot() as history:
        repos = [] if found_by_git else chosen_repos(history, _asked_repos(own, request))
        search = Search(history, repos, request.since, request.until)
        found = search.related(request.text[:_LONGEST_QUERY], _EACH) if repos else []
        unseen: dict[str, Any] = {}
        if not any(one.share >= 1 for one in found):  # else one commit has all that was asked for
            names = [repo.name for repo in repos]
            filters = Filters(names, since=request.since, until=request.until, by_author_date=True)
            unseen = unsearched(history, filters, words)
    skipped += [*search.skipped, *([unsearched_line(unseen)] if unseen else [])]
    covered = 0.0
    ranked_commits: _Ranked = []
    for one in reversed(found):  # the ranking decides: none counts for less than one below it
        covered = max(covered, one.share, _MEANT if "meaning" in one.found_by else 0.0)
        ranked_commits.append((partial(_commit_hit, one), covered))
    return [*found_by_git, *reversed(ranked_commits)]


def _asked_repos(own: Repo | None, request: RecallRequest) -> tuple[str, ...] | None:
    """The named repositories, else the one that the caller is in; None for all."""
    if request.repos or request.all_repos:
        return request.repos or None
    return None if own is None else (own.name,)


def _commits_by_git(repo: Repo, request: RecallRequest) -> _Ranked:
    """Commits of a repository that no index knows: by their messages alone."""
    found = GitMessages(repo, request.since, request.until)
    best = ranked(found, telling_words(request.text[:_LONGEST_QUERY]), _EACH)
    return [(partial(_message_hit, found.commits[number]), share) for number, share in best]


def _texts(
    rooms: Rooms, request: RecallRequest, words: list[str], kinds: list[str]
) -> dict[str, _Ranked]:
    if rooms.project is None:
        return {}
    lists: dict[str, _Ranked] = {}
    with current_texts(rooms, kinds) as index:
        for kind in kinds:
            texts = index.texts(kind)
            best = ranked(texts, words, _EACH)
            known = index.known([number for number, _ in best])
            read = texts.read(list(known))
            lists[kind] = [
                (partial(_text_hit, known[number], read[number]), share)
                for number, share in best
                if request.fits(known[number].time)
            ]
    return lists


def interleaved(
    lists: Mapping[str, Sequence[tuple[_Key, float]]], shares: Mapping[str, float]
) -> list[tuple[_Key, float]]:
    """Lists of different kinds as one, since their scores do not compare: by rank, and by how much of the question each hit has."""
    found: list[tuple[float, int, _Key]] = []
    for place, (name, hits) in enumerate(lists.items()):
        for rank, (key, covered) in enumerate(hits):
            part = shares.get(name, 1.0) * _FLATNESS / (_FLATNESS + rank)
            score = part * (_RANK_ALONE + (1 - _RANK_ALONE) * min(1.0, covered))
            found.append((score, -place, key))
    found.sort(key=lambda one: (-one[0], -one[1]))
    return [(key, score) for score, _, key in found]


def _commands(rooms: Rooms, text: str) -> _Ranked:
    try:
        found = search_commands(text, ALL_AGENTS, rooms.settings, limit=_EACH)
    except ClewError:
        return []
    return [(partial(_command_hit, one), one["score"]) for one in found]


def _turns(project: Path, request: RecallRequest, words: list[str]) -> _Ranked:
    """What agents were asked and said."""
    from clew.sessions.room import found_turns

    found = [one for one in found_turns(project, words, _EACH) if request.fits(int(one.turn.time))]
    texts = [f"{one.turn.request}\n{one.turn.words}".lower() for one in found]
    shares = [sum(word in text for word in words) / len(words) for text in texts]
    return [(partial(_turn_hit, one), share) for one, share in zip(found, shares, strict=True)]


def _turn_hit(one: Found, _rooms: Rooms, words: list[str], score: float) -> Hit:
    """A request with the line of it, or of the answer, that fits best."""
    from clew.sessions.room import short_name

    name, turn = short_name(one.session), one.turn
    remark = f" ({one.session.imported})" if one.session.imported else ""
    snippet = best_line(f"{turn.request}\n{turn.words}", words) + remark
    return Hit(
        SESSION, f"{name}/{turn.number}", clipped(" ".join(turn.request.split()), _LONGEST_SNIPPET),
        snippet, score, int(turn.time), f"clew sessions show {name} --turn {turn.number}",
        {"name": "session_show", "arguments": {"session": name, "turn": turn.number}},
    )  # fmt: skip


def best_line(text: str, words: Sequence[str]) -> str:
    """The line that has most of the words, or nothing."""
    wanted = [word for word in words if word in (lowered := text.lower())]
    if not wanted:
        return ""
    best, most = "", 0
    for line in text.split("\n"):
        lowered = line.lower()
        count = sum(word in lowered for word in wanted)
        if count > most:
            best, most = line, count
    plain = " ".join(re.sub(r"^\s*(?:[-*+>]|#{1,6})\s+", "", best).split())
    lowered = plain.lower()
    first = min((at for word in wanted if (at := lowered.find(word)) >= 0), default=0)
    return excerpt(plain, first, _LONGEST_SNIPPET)


def recalled_text(recalled: Recalled) -> str:
    """The answer for people and models."""
    lines = []
    for hit in recalled.hits:
        day = f" {day_text(hit.time)}" if hit.time else ""
        lines.append(f"{hit.kind} {hit.id}{day} ({hit.score:.2f}): {hit.title}")
        if hit.snippet and hit.snippet != hit.title:
            lines.append(f"    {hit.snippet}")
        lines.append(f"    more: {hit.call}")
    if not recalled.hits:
        lines.append("Nothing found.")
    elif recalled.total > len(recalled.hits):
        lines.append(f"{len(recalled.hits)} of {recalled.total}.")
    return "\n".join([*lines, *(f"Missing: {one}" for one in recalled.missing)])
