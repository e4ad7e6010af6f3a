"""Which commits a bug report is about: the one ranking, each with the hunk that has its words."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from clew.history.lookup import message_lines, page, patch_text
from clew.history.model import Repo
from clew.history.ranking.candidates import Candidates, Lookup
from clew.history.ranking.question import WRITTEN_NAME, Question, stem
from clew.history.ranking.ranking import Ranker
from clew.history.search.filters import between
from clew.history.search.pathkind import path_kind
from clew.history.semantic.nearest import by_meaning
from clew.history.store.interface import HistoryStore
from clew.kit.text.diff import file_diffs
from clew.kit.text.tokens import WORD

_LARGEST_PATCH = 400_000
_SHOWN = 3  # suspects that are shown with message and hunk
_CANDIDATES = 25  # whose changed lines are read
_OF_LINES = 2.0  # how much more a commit counts whose changed lines have all of the words
_SEVERAL = 2  # words of a report in a line that says something of it
_HUNK_LINES = 2
_TAKEN_AWAY = 0.7  # what a removed line says beside an added one
_NAME_SHARE = 1.5
_LONGEST_LINE = 120
_MESSAGE_CHARACTERS = 420
# What a commit counts that touched nothing better: tests and documents are seldom to blame.
_TO_BLAME = {"code": 1.0, "test": 0.6, "prose": 0.55, "generated": 0.3}
_KIND_SHARE = {"code": 1.0, "test": 0.4, "prose": 0.3, "generated": 0.1}


def suspects_of_report(store: HistoryStore, repo: Repo, report: str, limit: int) -> dict[str, Any]:
    """Commits whose messages and changes fit what a report says, the best first."""
    ranker = Ranker(store, between(store, [repo], None, None), by_meaning)
    question = Question.read(report)
    words = {stem(word) for word in question.words} | set(question.names)
    weights = _weights(store, repo, question)
    ranked = ranker.rank(report, max(limit, _CANDIDATES))
    evidence = {one.id: _evidence(store, one.id, words) for one in ranked}
    ranked.sort(key=lambda one: -one.score * evidence[one.id][0])
    records = store.commits([one.id for one in ranked])
    found = []
    for number, one in enumerate(ranked):
        record = records[one.id]
        shown = number < _SHOWN
        path, line, hunk = _deciding(store, one.id, weights) if shown else (None, None, None)
        said = "\n".join(message_lines(record.subject, record.body))
        found.append(
            {
                "sha": record.sha,
                "subject": record.subject,
                "author": record.author,
                "date": record.date,
                "evidence": "described",
                "lines": evidence[one.id][1],
                "path": path,
                "line": line,
                "hunk": hunk,
                "message": said[:_MESSAGE_CHARACTERS] if shown else None,
            }
        )
    return page("commits", found, limit, repo=repo.name, target=report, at="")


def _evidence(store: HistoryStore, commit_id: int, words: set[str]) -> tuple[float, int]:
    """How much more or less a commit counts for its changed lines, and how many have several words."""
    seen: set[str] = set()
    kinds: set[str] = set()
    telling = 0
    for part in file_diffs(patch_text(store, commit_id, _LARGEST_PATCH) or ""):
        kinds.add(path_kind(part.path))
        for _, line in (*part.added, *part.removed):
            said = _said(line, words)
            seen |= said
            telling += len(said) >= _SEVERAL
    to_blame = max((_TO_BLAME[kind] for kind in kinds), default=1.0)
    return to_blame * (1 + _OF_LINES * len(seen) / max(1, len(words))), telling


def _said(line: str, words: AbstractSet[str]) -> AbstractSet[str]:
    """The words that a line has."""
    return words & {*map(stem, WORD.findall(line.lower())), *WRITTEN_NAME.findall(line)}


def _deciding(
    store: HistoryStore, commit_id: int, weights: Mapping[str, float]
) -> tuple[str | None, int | None, str | None]:
    """The changed line of a commit that says most of a report: file, number, and it with the next."""
    best: tuple[float, str | None, int | None, str | None] = (0.0, None, None, None)
    for part in file_diffs(patch_text(store, commit_id, _LARGEST_PATCH) or ""):
        share = _KIND_SHARE[path_kind(part.path)]
        for hunk in part.hunks:
            number = hunk.new_start
            for at, line in enumerate(hunk.lines):
                if line[:1] in ("+", "-"):
                    said = sum(weights[word] for word in _said(line, weights.keys()))
                    score = share * said * (1.0 if line[0] == "+" else _TAKEN_AWAY)
                    if score > best[0]:
                        shown = hunk.lines[at : at + _HUNK_LINES]
                        text = "\n".join(one[:_LONGEST_LINE] for one in shown)
                        best = (score, part.path, number, text)
                number += line[:1] in ("+", " ")
    return best[1:]


def _weights(store: HistoryStore, repo: Repo, question: Question) -> dict[str, float]:
    """What each word of a report says of a commit, the rarer the more; names say most."""
    lookup = Lookup(store, between(store, [repo], None, None))
    rarity = Candidates(lookup, question).weights
    weights = {stem(word): weight for word, weight in rarity.items()}
    for name in question.names:
        parts = [rarity.get(part.lower(), 0.0) for part in WORD.findall(name)]
        weights[name] = _NAME_SHARE * max([0.0, *parts])
    return weights
