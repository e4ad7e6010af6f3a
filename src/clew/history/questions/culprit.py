"""Who wrote the lines that a fix had to change, and which later commits fixed what one wrote."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from clew.history.lookup import bounded, find_commit, message_lines, page, patch_text
from clew.history.lookup import span as ids_of
from clew.history.model import Repo
from clew.history.questions.blame import BlamedLine, porcelain
from clew.history.questions.links import commit_links, named_commits
from clew.history.questions.report import suspects_of_report
from clew.history.repo_git import line_range, repo_git, resolve, tracked
from clew.history.search.pathkind import path_kind
from clew.history.store.interface import CommitRecord, HistoryStore
from clew.kit.errors import Invalid, NotFound
from clew.kit.git import PLAIN_DIFF, GitError, seconds_of
from clew.kit.text.diff import FileDiff, Hunk, file_diffs

_IGNORED_REVISIONS = ".git-blame-ignore-revs"
_MOST_SPANS = 40  # blamed in one file
_MOST_FILES = 12
_ROUNDS = 4  # of reformattings that a line is followed behind
_LOOKED_AT = 5  # leading suspects that are asked whether they only reformatted
_HUNK_LINES = 14
_MESSAGE_CHARACTERS = 900
_FEWEST_WORDS = 3  # of a report; less is a name
_DAY = 86400
_MEMORY_DAYS = 365.0
# How much a line says of its writer: the fix removes it, stands beside it, or is near it.
_REMOVED, _BESIDE, _NEAR = 1.0, 0.4, 0.3
_BESIDE_LINES, _NEAR_LINES = 3, 25
__TRIVIAL_SHARE = 0.1
_KIND_SHARE = {"code": 1.0, "test": 0.1, "prose": 0.05, "generated": 0.02}
_TRIVIAL = re.compile(r"\W*|\s*(#|//|/\*|\*|--|;|%|\"\"\"|import |from |#include|using |use ).*")
_TOKEN = re.compile(r"\w+|[^\w\s,;'\"()]")
_PLACE = re.compile(r"(.+):(\d{1,9})(?:[-,](\d{1,9}))?")
_BLAMING = ("fixes", "reverts", "fixes_regression_in")
_FIX = re.compile(
    r"\b(fix\w*|bug\w*|regress\w*|revert\w*|repair\w*|broke\w*|crash\w*)\b", re.IGNORECASE
)
_FIX_KINDS = ("fixed_by", "regression_named_by", "reverted_by")
_MOST_LATER = 400  # commits of its files that are looked at
_SHORTEST_LINE = 8  # characters of a line that can be recognised


class _Span(NamedTuple):
    """Lines of a file before the fix, and what they say of their writers."""

    first: int
    last: int
    weight: float
    how: str


@dataclass
class _Suspect:
    """A commit that wrote some of the lines, and the line that says most."""

    sha: str
    facts: dict[str, str]
    score: float = 0.0
    how: str = ""
    line: BlamedLine | None = None
    best: float = 0.0
    lines: int = 0

    def wrote(self, line: BlamedLine, weight: float, how: str) -> None:
        """Count a line of theirs."""
        self.score += weight
        self.lines += how != "near"
        if self.line is None or weight > self.best:
            self.line, self.best, self.how = line, weight, how


@dataclass(frozen=True)
class _Question:
    """The lines in question: as of which commit, in which files, and what the fix says."""

    commit: str
    message: str
    spans: dict[str, list[_Span]]


def culprit(
    store: HistoryStore, repo_name: str, target: str, *, rev: str = "HEAD", limit: int = 5
) -> dict[str, Any]:
    """Commits that wrote the lines a fix removes or surrounds, or FILE:START-END; or fit a report."""
    repo = store.find_repo(repo_name)
    if len(target.split()) >= _FEWEST_WORDS and not _PLACE.fullmatch(target):
        return suspects_of_report(store, repo, target, limit)
    place = _PLACE.fullmatch(target)
    asked = _at_place(repo, place, rev) if place else _of_fix(repo, resolve(repo, target))
    named = _named(store, repo, asked.message)
    ranked = sorted(_suspects(repo, asked), key=lambda one: one.sha not in named)
    for record in named.values():
        if all(one.sha != record.sha for one in ranked):
            ranked.insert(0, _Suspect(record.sha, _facts(record), how="named"))
    shown = [_as_data(repo, one, named) for one in ranked[: bounded(limit)]]
    for number, data in enumerate(shown):
        data["message"] = _message(store, repo, data["sha"]) if number == 0 else None
    return page("commits", shown, limit, repo=repo.name, target=target, at=asked.commit) | {
        "total": len(ranked)
    }


def _at_place(repo: Repo, place: re.Match[str], rev: str) -> _Question:
    commit = resolve(repo, rev)
    name = tracked(repo, commit, place[1])
    first, last = line_range(int(place[2]), int(place[3]) if place[3] else None)
    length = _length(repo, commit, name)
    if first > length:
        raise Invalid(f"{name} has {length} lines at {commit[:12]}, and no line {first}")
    return _Question(commit, "", {name: [_Span(first, last or first, _REMOVED, "asked")]})


def _of_fix(repo: Repo, fix: str) -> _Question:
    try:
        parent = resolve(repo, f"{fix}^1")
    except NotFound:
        raise Invalid(f"{fix[:12]} is a first commit: there was nothing to fix") from None
    patch = repo_git(
        repo, "diff", *PLAIN_DIFF, "-U0", "-w", "-M", "--ignore-blank-lines", parent, fix, "--"
    ).decode("utf-8", "replace")
    found: dict[str, list[_Span]] = {}
    for part in file_diffs(patch):
        spans = list(_spans(part))
        if spans:
            found[part.old_path] = spans[:_MOST_SPANS]
    order = sorted(found, key=lambda path: -_KIND_SHARE[path_kind(path)])
    message = repo_git(repo, "log", "-1", "--format=%B", "--encoding=UTF-8", fix, "--")
    return _Question(
        parent,
        message.decode("utf-8", "replace"),
        {path: found[path] for path in order[:_MOST_FILES]},
    )


def _spans(part: FileDiff) -> Iterator[_Span]:
    """What a fix removes from a file; where it only inserts, the lines beside; and those near."""
    if part.is_new or part.is_binary:
        return
    share = _KIND_SHARE[path_kind(part.path)]
    for hunk in part.hunks:
        first, count = hunk.old_start, hunk.old_count
        if count:
            yield _Span(first, first + count - 1, share * _REMOVED / count, "removed")
        else:
            start, end = max(first - _BESIDE_LINES + 1, 1), first + _BESIDE_LINES
            yield _Span(start, end, share * _BESIDE / (end - start + 1), "beside")
        start, end = max(first - _NEAR_LINES, 1), first + max(count, 1) + _NEAR_LINES
        yield _Span(start, end, share * _NEAR / (end - start + 1), "near")


def _suspects(repo: Repo, asked: _Question) -> list[_Suspect]:
    """Who wrote the lines; commits that only moved or reformatted them are passed over."""
    ignored = _ignored_revisions(repo, asked.commit)
    found: list[_Suspect] = []
    cut = _shallow(repo)
    for _ in range(_ROUNDS):
        found = sorted(_blamed(repo, asked, ignored), key=lambda one: -one.score)
        cosmetic = {one.sha for one in found[:_LOOKED_AT] if _only_reformatted(repo, one)}
        if not cosmetic:
            break
        ignored |= cosmetic
    for one in found:
        if one.sha in cut:
            one.score, one.how = 0.0, "shallow"
    return _ranked([one for one in found if one.sha not in ignored])


def _shallow(repo: Repo) -> set[str]:
    """Where a shallow clone ends: who wrote those lines is not known."""
    place = (
        Path(repo.local_path)
        / repo_git(repo, "rev-parse", "--git-path", "shallow").decode().strip()
    )
    return set(place.read_text("ascii").split()) if place.is_file() else set()


def _ignored_revisions(repo: Repo, commit: str) -> set[str]:
    """The commits that the repository itself says blame should pass over."""
    try:
        listed = repo_git(repo, "cat-file", "blob", f"{commit}:{_IGNORED_REVISIONS}")
    except GitError:
        return set()
    named = re.findall(r"^[0-9a-f]{40}\b", listed.decode("utf-8", "replace"), re.MULTILINE)
    known = repo_git(repo, "rev-list", "--no-walk", "--ignore-missing", *named) if named else b""
    return set(known.decode("ascii").split())


def _blamed(repo: Repo, asked: _Question, ignored: set[str]) -> list[_Suspect]:
    suspects: dict[str, _Suspect] = {}
    for path, spans in asked.spans.items():
        told: dict[int, tuple[float, str]] = defaultdict(lambda: (0.0, ""))
        for span in spans:
            for number in range(span.first, span.last + 1):
                told[number] = max(told[number], (span.weight, span.how))
        for line in _blame(repo, asked.commit, path, spans, ignored):
            weight, how = told[line.new]
            if _TRIVIAL.fullmatch(line.text):
                weight *= __TRIVIAL_SHARE
            suspect = suspects.setdefault(line.sha, _Suspect(line.sha, line.facts))
            suspect.wrote(line, weight, how)
    return list(suspects.values())


def _blame(
    repo: Repo, commit: str, path: str, spans: list[_Span], ignored: set[str]
) -> list[BlamedLine]:
    """Blame of spans of a file; what git cannot blame has no writer."""
    skipped = [word for sha in sorted(ignored) for word in ("--ignore-rev", sha)]
    try:
        length = _length(repo, commit, path)
        ranges = [
            f"-L{span.first},{min(span.last, length)}" for span in spans if span.first <= length
        ]
        if not ranges:
            return []
        output = repo_git(
            repo, "blame", "-w", "-M", "-C", "--porcelain", "--no-textconv",
            *skipped, *ranges, commit, "--", path,
        )  # fmt: skip
    except GitError:
        return []
    return list(porcelain(output))


def _length(repo: Repo, commit: str, path: str) -> int:
    return len(repo_git(repo, "cat-file", "blob", f"{commit}:{path}").splitlines())


def _only_reformatted(repo: Repo, suspect: _Suspect) -> bool:
    """Whether the same words went out where the commit's line came in."""
    hunk = _hunk_of(repo, suspect)
    if hunk is None:
        return False
    came = _TOKEN.findall(" ".join(hunk.texts("+")))
    went = _TOKEN.findall(" ".join(hunk.texts("-")))
    return bool(went) and came == went


def _hunk_of(repo: Repo, suspect: _Suspect) -> Hunk | None:
    """The hunk in which a commit wrote the line that says most."""
    if suspect.line is None:
        return None
    name = suspect.line.facts.get("filename", "")
    patch = repo_git(
        repo, "diff-tree", "-p", "--root", "--no-commit-id", *PLAIN_DIFF, "-m", "--first-parent",
        suspect.sha, "--", name,
    ).decode("utf-8", "replace")  # fmt: skip
    hunks = [hunk for part in file_diffs(patch) for hunk in part.hunks]
    number = suspect.line.old
    return next((one for one in hunks if 0 <= number - one.new_start < one.new_count), None)


def suspects_of(repo: Repo, fix: str) -> list[str]:
    """Who wrote the lines that a fix changes, whatever its message says, best first."""
    return [one.sha for one in _suspects(repo, _of_fix(repo, fix))]


def _ranked(suspects: list[_Suspect]) -> list[_Suspect]:
    """By what their lines say, late ones before early ones."""
    latest = max((_time(one) for one in suspects), default=0)

    def rank(one: _Suspect) -> float:
        age = (latest - _time(one)) / _DAY
        return one.score * (1 + 2 ** (-age / _MEMORY_DAYS))

    return sorted(suspects, key=rank, reverse=True)


def _time(suspect: _Suspect) -> int:
    return seconds_of(suspect.facts.get("committer-time", ""))


def _named(store: HistoryStore, repo: Repo, message: str) -> dict[str, CommitRecord]:
    """The commits that the fix's own message blames."""
    blamed = [one.sha for one in named_commits(message) if one.kind in _BLAMING]
    found = (store.commits_by_prefix(repo.repo_id, sha, 2) for sha in blamed)
    return {records[0].sha: records[0] for records in found if len(records) == 1}


def _facts(record: CommitRecord) -> dict[str, str]:
    return {
        "summary": record.subject,
        "author": record.author,
        "author-time": str(record.date),
        "committer-time": str(record.commit_time),
    }


def _as_data(repo: Repo, one: _Suspect, named: dict[str, CommitRecord]) -> dict[str, Any]:
    hunk = None if one.how == "shallow" else _hunk_of(repo, one)
    return {
        "sha": one.sha,
        "subject": one.facts.get("summary", ""),
        "author": one.facts.get("author", ""),
        "date": seconds_of(one.facts.get("author-time", "")),
        "evidence": "named" if one.sha in named else one.how,
        "lines": one.lines,
        "path": None if one.line is None else one.line.facts.get("filename", ""),
        "line": None if one.line is None else one.line.old,
        "hunk": None
        if hunk is None or one.line is None
        else hunk.around(one.line.old, _HUNK_LINES),
        "likely": None,
        "matches": [],
        "stands": None,
    }


def _message(store: HistoryStore, repo: Repo, sha: str) -> str | None:
    """What a commit says of itself, without trailers; the beginning of a long message."""
    found = store.known(repo.repo_id, [sha])
    records = store.commits(found.values())
    if not records:
        return None
    record = records[found[sha]]
    lines = message_lines(record.subject, record.body)
    return "\n".join(lines)[:_MESSAGE_CHARACTERS]


def fixed_by(store: HistoryStore, repo_name: str, sha: str, *, limit: int = 5) -> dict[str, Any]:
    """Later commits that say they fix a commit, or remove lines that it wrote and say "fix"."""
    repo, commit = find_commit(store, repo_name, sha)
    found: dict[str, dict[str, Any]] = {}
    for link in commit_links(store, repo_name, commit.sha)["links"]:
        if link["kind"] in _FIX_KINDS:
            found[link["sha"]] = _fix_data(link["sha"], link["subject"], link["date"], link["kind"])
    for record, path, number, text in _removals(store, repo, commit):
        data = _fix_data(record.sha, record.subject, record.date, "removes_line")
        found.setdefault(record.sha, data | {"path": path, "line": number, "text": text})
    return page("commits", list(found.values()), limit, repo=repo.name, sha=commit.sha)


def _fix_data(sha: str, subject: str | None, date: int | None, evidence: str) -> dict[str, Any]:
    return {
        "sha": sha,
        "subject": subject,
        "date": date,
        "evidence": evidence,
        "path": None,
        "line": None,
        "text": None,
    }


def _removals(
    store: HistoryStore, repo: Repo, commit: CommitRecord
) -> Iterator[tuple[CommitRecord, str, int, str]]:
    """Later fixes that remove a line which the commit added and nobody wrote again since."""
    wrote = {
        part.path: {text.strip() for _, text in part.added if _is_telling(text)}
        for part in file_diffs(patch_text(store, commit.id) or "")
        if path_kind(part.path) == "code"
    }
    later = _later(store, repo, commit, wrote)
    records = store.commits(sorted(later)[:_MOST_LATER])
    for commit_id in sorted(records):
        record = records[commit_id]
        parts = list(file_diffs(patch_text(store, commit_id) or ""))
        if _FIX.search(f"{record.subject}\n{record.body or ''}"):
            for part in parts:
                lines = wrote.get(part.old_path, set())
                gone = next((one for one in part.removed if one[1].strip() in lines), None)
                if gone is not None:
                    yield record, part.old_path, gone[0], gone[1].strip()
                    break
        for part in parts:  # who writes a line again is its writer from then on
            lines = wrote.setdefault(part.path, set())
            if part.old_path != part.path:
                lines |= wrote.get(part.old_path, set())
            lines.difference_update(text.strip() for _, text in part.added)


def _later(store: HistoryStore, repo: Repo, commit: CommitRecord, files: Iterable[str]) -> set[int]:
    """The later commits of these files, also under the names they got."""
    found: set[int] = set()
    pending, seen = list(files), set(files)
    while pending:
        name = pending.pop()
        for change in store.path_changes(repo.repo_id, name, ids_of(repo)[1]):
            if change.id > commit.id:
                found.add(change.id)
                if change.old_path == name and change.path not in seen:
                    seen.add(change.path)
                    pending.append(change.path)
    return found


def _is_telling(text: str) -> bool:
    return len(text.strip()) >= _SHORTEST_LINE and not _TRIVIAL.fullmatch(text)
