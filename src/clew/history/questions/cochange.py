"""Files that usually change together, and those that a commit may have left out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

from clew.history.lookup import clean_path, lower_bound, page, patch_text, span
from clew.history.model import Repo
from clew.history.questions.file_history import path_changes
from clew.history.ranking.question import IS_NAME, WRITTEN_NAME
from clew.history.ranking.ranking import Ranker
from clew.history.repo_git import repo_git
from clew.history.search.filters import between
from clew.history.search.pathkind import path_kind
from clew.history.store.interface import CommitRecord, HistoryStore, any_phrase
from clew.kit.errors import ClewError
from clew.kit.git import GitError
from clew.kit.text.diff import file_diffs
from clew.kit.text.tokens import WORD, lower_words, telling_words

# A commit of more files than this is a reformatting or an import: it couples nothing.
_MOST_FILES = 50
_SHA = re.compile(r"[0-9a-f]{7,40}")
_LARGEST_PATCH = 400_000
_NAMES, _SHORTEST_NAME = 30, 5
_COMMON = 60  # a name in more commits than this says nothing of any file
_FEW_FILES = 8  # of a commit whose files all have to do with its names
_ALIKE = 30
_MOST_RENAMES = 8
_LISTED, _FLATNESS = 60, 5
_SHARES = {"together": 1.0, "names": 1.5, "words": 1.0, "called": 2.0, "has": 1.5}
_OF_PATH = 0.3  # what a word in the path adds
_CLEAR, _FIRST = 0.25, 3  # a word in more file names than this share of them says nothing
_MOST_WITH = 12  # files that have a name of what has to be done; more say nothing
_OTHER_KIND = 0.3  # what prose and generated files count beside code and tests


def co_change(
    store: HistoryStore,
    repo_name: str,
    path: str,
    *,
    about: str | None = None,
    since: int | None = None,
    min_support: int = 2,
    limit: int = 10,
) -> dict[str, Any]:
    """Files that changed in the same commits as a path, or that a commit may have left out."""
    repo = store.find_repo(repo_name)
    commit = _commit(store, repo, path)
    own: set[str] = set()
    touched: set[int] = set()
    for name in _files_of(store, commit) if commit else [clean_path(path)]:
        changes = path_changes(store, repo, name)
        own |= {one.path for one in changes} | {one.old_path or "" for one in changes} | {name}
        touched |= {one.id for one in changes if one.commit_time >= lower_bound(since)}
    together, counted = store.co_changes(touched, _MOST_FILES)
    support = {one: n for one, n in together.items() if one not in own and n >= min_support}
    using: dict[str, list[str]] = {}
    ranked = sorted(support, key=lambda one: (-support[one], one))
    signs: dict[str, list[str]] = {}
    if commit or about:
        using, weights = _users(store, repo, commit, own) if commit else ({}, {})
        now = _files_now(repo)
        found: dict[str, Mapping[str, float]] = {
            "together": support,
            "names": weights,
            "words": _alike(store, repo, commit, about, own),
            "called": _called(about or "", [path for path in now if path not in own]),
            "has": _having(repo, about or "", own),
        }
        ranked = _living(store, repo, _fused(found, about or ""), own)
        signs = _signs(found)
    partners = [
        {
            "path": one,
            "support": together.get(one, 0),
            "confidence": round(together.get(one, 0) / counted, 4) if counted else 0.0,
            "names": using.get(one, [])[:3],
            "signs": signs.get(one, []),
        }
        for one in ranked
    ]
    left_out = len(touched) - counted
    return page(
        "files", partners, limit, repo=repo.name, path=path, commits=counted, left_out=left_out
    )


def _living(store: HistoryStore, repo: Repo, ranked: list[str], own: set[str]) -> list[str]:
    """The files by the names that they have now, without those that are gone."""
    named = (_name_now(store, repo, path) for path in ranked[:_LISTED])
    return [path for path in dict.fromkeys(named) if path and path not in own]


def _name_now(store: HistoryStore, repo: Repo, path: str) -> str:
    """What a file is called now; nothing where it was deleted."""
    for _ in range(_MOST_RENAMES):
        last = next(iter(store.path_changes(repo.repo_id, path, span(repo)[1])), None)
        if last is None or (last.path == path and last.status != "D"):
            return path
        if last.path == path:
            return ""
        path = last.path
    return ""


def _commit(store: HistoryStore, repo: Repo, name: str) -> CommitRecord | None:
    """The commit that is called so."""
    found = store.commits_by_prefix(repo.repo_id, name, 2) if _SHA.fullmatch(name) else []
    return found[0] if len(found) == 1 else None


def _files_of(store: HistoryStore, commit: CommitRecord) -> list[str]:
    return [file.path for file in store.files([commit.id])[commit.id][:_MOST_FILES]]


def _users(
    store: HistoryStore, repo: Repo, commit: CommitRecord, own: set[str]
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Files that small commits changed along with names of this one: which names, and how much."""
    counted: Counter[str] = Counter()
    for part in file_diffs(patch_text(store, commit.id, _LARGEST_PATCH) or ""):
        if path_kind(part.path) == "code":
            for _, line in (*part.added, *part.removed):
                counted.update(set(WRITTEN_NAME.findall(line)))
    names = [
        name for name, _ in counted.most_common()
        if len(name) >= _SHORTEST_NAME and IS_NAME.search(name)
    ]  # fmt: skip
    using: dict[str, list[str]] = defaultdict(list)
    weights: dict[str, float] = defaultdict(float)
    for name in names[:_NAMES]:
        words = " ".join(WORD.findall(name))
        ids = store.saying(any_phrase([words]), span(repo), _COMMON + 1) if words else []
        if len(ids) > _COMMON:
            continue
        files = store.files(one for one in ids if one != commit.id).values()
        paths = {file.path for few in files if len(few) <= _FEW_FILES for file in few} - own
        for path in paths:
            using[path].append(name)
            weights[path] += (3 + len(paths)) ** -0.5
    return using, weights


def _alike(
    store: HistoryStore, repo: Repo, commit: CommitRecord | None, about: str | None, own: set[str]
) -> dict[str, float]:
    """The files of commits that say the same, the more the better these fit."""
    text = " ".join(filter(None, (about, commit and commit.subject)))
    ranked = Ranker(store, between(store, [repo], None, None)).rank(text, _ALIKE)
    files = store.files(one.id for one in ranked)
    found: dict[str, float] = defaultdict(float)
    for place, one in enumerate(ranked):
        touched = files[one.id]
        if (commit and one.id == commit.id) or not 0 < len(touched) <= _ALIKE:
            continue
        for file in touched:
            if file.path not in own:
                found[file.path] += 1 / (_FLATNESS + place) / len(touched) ** 0.5
    return found


def _files_now(repo: Repo) -> list[str]:
    """The files of the checked-out commit; none where the repository cannot be read."""
    with suppress(GitError, ClewError):
        listed = repo_git(repo, "ls-tree", "-r", "-z", "--name-only", "HEAD")
        return listed.decode("utf-8", "replace").split("\0")[:-1]
    return []


def _called(about: str, paths: Sequence[str]) -> dict[str, float]:
    """Files whose own names have words of what has to be done, the rarer there the more."""
    wanted = set(telling_words(about, _LISTED, shortest=3))
    named = {path: wanted.intersection(lower_words(path.rpartition("/")[2])) for path in paths}
    counted = Counter(word for words in named.values() for word in words)
    few = max(1, len(paths)) * _CLEAR
    return {
        path: weight
        for path, words in named.items()
        if (weight := sum(counted[word] ** -0.5 for word in words if counted[word] < few))
    }


def _having(repo: Repo, about: str, own: AbstractSet[str]) -> dict[str, float]:
    """Files that have the names of what has to be done, where these are in few files."""
    found: dict[str, float] = defaultdict(float)
    names = {name for name in WRITTEN_NAME.findall(about) if IS_NAME.search(name)}
    for name in sorted(names)[:_FIRST]:
        with suppress(GitError, ClewError):
            listed = repo_git(repo, "grep", "-l", "-z", "-w", "-F", "-e", name, "HEAD", "--")
            paths = listed.decode("utf-8", "replace").replace("HEAD:", "").split("\0")[:-1]
            if len(paths) <= _MOST_WITH:
                for path in set(paths) - own:
                    found[path] += 1 / len(paths)
    return found


def _signs(found: Mapping[str, Mapping[str, float]]) -> dict[str, list[str]]:
    """Which of the lists have a file among their first."""
    signs: dict[str, list[str]] = defaultdict(list)
    for kind, weights in found.items():
        for path in sorted(weights, key=lambda one: (-weights[one], one))[:_FIRST]:
            signs[path].append(kind)
    return signs


def _fused(lists: Mapping[str, Mapping[str, float]], about: str) -> list[str]:
    """One order of several lists, by the places in each; words of the path count, too."""
    words = set(telling_words(about, _LISTED, shortest=3))
    scores: dict[str, float] = defaultdict(float)
    for kind, found in lists.items():
        best = sorted(found, key=lambda one: (-found[one], one))[:_LISTED]
        for place, path in enumerate(best):
            scores[path] += _SHARES[kind] * _FLATNESS / (_FLATNESS + place)
    for path in scores:
        said = words.intersection(map(str.lower, WORD.findall(path)))
        is_program = path_kind(path) in ("code", "test")
        scores[path] *= (1 + _OF_PATH * len(said)) * (1.0 if is_program else _OTHER_KIND)
    return sorted(scores, key=lambda one: (-scores[one], one))
