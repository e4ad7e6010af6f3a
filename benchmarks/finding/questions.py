"""Questions with known answers, made of a history by what its people wrote.

- `paraphrase`: the title of a pull request or a release note, and the commits it is about.
- `four words`: words from a commit's body or from its diff, and that commit.
- `regression`: the message of a fix, without what names the cause, and the commit it blames.
- `identifier`: a name in code, and the commit that introduced it.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clew.history.model import first_id, last_id
from clew.history.store.base import COUNTED
from clew.history.store.interface import any_phrase
from clew.history.store.sqlite import SqliteHistory
from clew.kit.git import run_git
from clew.kit.text.diff import file_diffs
from clew.kit.text.tokens import STOP_WORDS, WORD, telling_words

TESTS = ("paraphrase", "four words", "regression", "identifier")
_ISSUE = re.compile(r"(?:(?<![\w&/])#|:ticket:`)(\d{2,9})\b")
_SHA = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b")
_CAUSE = re.compile(
    r"^fixes:?\s+(?:commit\s+)?([0-9a-f]{7,40})\b"
    r"|\b(?:regress\w*|broken?|introduced|caused|bug)\s+(?:in|by|since|from|with)"
    r"\s+(?:commit\s+)?([0-9a-f]{7,40})\b"
    r"|^follow-?up (?:to|for|from):?\s+([0-9a-f]{7,40})\b",
    re.IGNORECASE | re.MULTILINE,
)
_TRAILER = re.compile(
    r"^(?:[A-Z][\w-]+-(?:by|at|to|Id)|Fixes|Closes|Refs?|Cc|Bug|Ref|Bugzilla ID|Signed-off-by|git-svn-id)\b.*$",
    re.MULTILINE | re.IGNORECASE,
)
_TITLED = re.compile(r"(?:Merge pull request|Auto merge of) #(\d+)")
_NOTES = re.compile(
    r"(?:^|/)(?:change(?:s|log)|release-?_?notes?|00-releasenotes|news|history)[^/]*$|(?:^|/)releases/[^/]+\.(?:txt|md|rst)$",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"(?:^|/)(?:deps|vendor|third_party|node_modules|contrib)/")
_BULLET = re.compile(r"^\s*[*+-]\s+", re.MULTILINE)
_LINK = re.compile(r"\]\([^)]*\)|https?://\S+|\(?(?:#|:ticket:`)\d+`?\)?")
_NAME = re.compile(
    r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[a-zA-Z]+[a-z0-9][A-Z][A-Za-z0-9]+\b"
)
_MOST_WANTED = 5
_LONGEST_REPORT = 700


@dataclass(frozen=True)
class Asked:
    """A question, the commits that answer it, what may not, and the time it was asked."""

    text: str
    wanted: frozenset[int]
    excluded: frozenset[int] = frozenset()
    until: int | None = None


@dataclass(frozen=True)
class _Row:
    id: int
    sha: str
    parents: bytes
    subject: str
    body: str
    date: int


class History:
    """A repository's commits, to make questions of."""

    def __init__(self, store: SqliteHistory) -> None:
        self.store = store
        self.repo = store.repos()[0]
        self.span = (first_id(self.repo.repo_id), last_id(self.repo.repo_id))
        rows = store.connection.execute(
            f"SELECT id, sha, parents, subject, body, author_time, {COUNTED} AS counts"
            " FROM commit_rows c ORDER BY id"
        ).fetchall()
        every = [_Row(r[0], r[1].hex(), r[2], r[3], r[4] or "", r[5]) for r in rows]
        self.counted = [one for one, row in zip(every, rows, strict=True) if row[6]]
        self.merges = [one for one in every if len(one.parents) > 20]
        self.ids = {one.sha: one.id for one in self.counted}
        self.by_id = {one.id: one for one in self.counted}

    @cached_property
    def by_beginning(self) -> dict[str, list[_Row]]:
        """The commits by the first seven digits of their SHAs."""
        found = defaultdict(list)
        for one in self.counted:
            found[one.sha[:7]].append(one)
        return found

    @cached_property
    def by_issue(self) -> dict[str, set[int]]:
        """The commits that mention each issue or pull request."""
        found: dict[str, set[int]] = defaultdict(set)
        for one in self.counted:
            for number in _ISSUE.findall(f"{one.subject}\n{one.body}"):
                found[number].add(one.id)
        return found

    def named(self, sha: str) -> _Row | None:
        """The one commit whose SHA begins so."""
        found = [one for one in self.by_beginning.get(sha[:7], ()) if one.sha.startswith(sha)]
        return found[0] if len(found) == 1 else None

    def merged(self, merge: _Row) -> frozenset[int]:
        """The commits that a merge brought."""
        first, second = merge.parents[:20].hex(), merge.parents[20:40].hex()
        words = ("rev-list", "--no-merges", f"--max-count={_MOST_WANTED + 1}", f"{first}..{second}")
        found = _git(self.repo.local_path, *words).split()
        return frozenset(self.ids[sha] for sha in found if sha in self.ids)

    def saying(self, text: str) -> frozenset[int]:
        """The commits that have a text in a row."""
        words = " ".join(WORD.findall(text)[:12])
        return (
            frozenset(self.store.saying(any_phrase([words]), self.span, 50))
            if words
            else frozenset()
        )


def questions(history: History, test: str, most: int, seed: int = 1) -> list[Asked]:
    """Up to so many questions of one test, chosen by chance."""
    dice = random.Random(f"{seed} {test}")
    make = {
        "paraphrase": paraphrases, "four words": four_words,
        "regression": regressions, "identifier": identifiers,
    }[test]  # fmt: skip
    found = []
    for asked in make(history, dice):
        found.append(asked)
        if len(found) == most:
            break
    return found


def paraphrases(history: History, dice: random.Random) -> Iterator[Asked]:
    """Titles of merges and release notes that say in other words what commits say."""
    titles = [(one, *_title(one)) for one in history.merges if _TITLED.match(one.subject)]
    numbers = {number: merge for merge, number, _ in titles}
    sources: list[tuple[str, _Row | str]] = [
        (_LINK.sub(" ", title).strip(), merge) for merge, _, title in titles if title
    ]
    sources += _notes(history)
    dice.shuffle(sources)
    for text, about in sources:
        if isinstance(about, str):
            wanted = frozenset(history.by_issue.get(about, ()))
            if not wanted and about in numbers:
                wanted = history.merged(numbers[about])
        else:
            wanted = history.merged(about)
        if not 0 < len(wanted) <= _MOST_WANTED or not _is_paraphrase(history, text, wanted):
            continue
        copies = history.saying(text)
        if not copies & wanted:
            yield Asked(text, wanted, copies)


def _title(merge: _Row) -> tuple[str, str]:
    match = _TITLED.match(merge.subject)
    assert match is not None
    lines = [line.strip() for line in merge.body.split("\n") if line.strip()]
    return match[1], lines[0] if lines else ""


def _notes(history: History) -> list[tuple[str, str]]:
    """Entries of release notes that name one issue or pull request."""
    cwd = history.repo.local_path
    paths = _git(cwd, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    found = []
    own = [path for path in paths if _NOTES.search(path) and not _FOREIGN.search(path)]
    for path in own[:400]:
        text = _git(cwd, "show", f"HEAD:{path}")
        for item in _BULLET.split(text):
            entry = item.split("\n\n")[0]
            numbers = set(_ISSUE.findall(entry))
            if len(numbers) == 1 and len(entry) < 400:
                plain = " ".join(_LINK.sub(" ", entry).replace("`", " ").split()).strip("[]() ")
                found.append((plain, numbers.pop()))
    return found


def _is_paraphrase(history: History, text: str, wanted: Iterable[int]) -> bool:
    """Whether a text has words of its own: at most half are those of any wanted subject."""
    words = set(telling_words(text, 99))
    if len(words) < 3 or _SHA.search(text):
        return False
    subjects = (set(telling_words(history.by_id[one].subject, 99)) for one in wanted)
    return all(len(words & other) <= len(words | other) / 2 for other in subjects)


def four_words(history: History, dice: random.Random) -> Iterator[Asked]:
    """Words of bodies and of changed lines."""
    for one in dice.sample(history.counted, len(history.counted)):
        text = one.body if dice.random() < 0.5 else _changed(history, one.id)
        known = {
            word for word in WORD.findall(_TRAILER.sub("", text).lower())
            if len(word) > 2 and not word.isdigit() and word not in STOP_WORDS and len(word) < 30
        }  # fmt: skip
        if len(known) >= 8:
            yield Asked(" ".join(dice.sample(sorted(known), 4)), frozenset([one.id]))


def _changed(history: History, number: int) -> str:
    patch = history.store.patch(number, 200_000)
    if patch is None:
        return ""
    parts = file_diffs(patch.decode("utf-8", "replace"))
    return "\n".join(line for part in parts for _, line in (*part.added, *part.removed))


def regressions(history: History, dice: random.Random) -> Iterator[Asked]:
    """Messages of fixes, without what names the commit that they mend."""
    for fix in dice.sample(history.counted, len(history.counted)):
        match = _CAUSE.search(fix.body)
        cause = history.named(next(filter(None, match.groups()))) if match else None
        if cause is None or cause.id >= fix.id or cause.date >= fix.date:
            continue
        text = _report(fix, cause)
        if len(telling_words(text, 99)) >= 4:
            yield Asked(text, frozenset([cause.id]), frozenset([fix.id]), fix.date - 1)


def _report(fix: _Row, cause: _Row) -> str:
    """What the fix says of the problem: no SHA, issue, trailer or subject of another commit."""
    body = re.sub(r"\(?[\"'“]" + re.escape(cause.subject) + r"[\"'”]\)?", " ", fix.body)
    body = "\n\n".join(
        " ".join(line for line in part.split("\n") if not _SHA.search(line))
        for part in _TRAILER.sub("", body).split("\n\n")
    ).replace(cause.subject, " ")
    subject = _ISSUE.sub(" ", fix.subject)
    return f"{subject}\n{_ISSUE.sub(' ', body)}"[:_LONGEST_REPORT].strip()


def identifiers(history: History, dice: random.Random) -> Iterator[Asked]:
    """Names in code that several commits have, each with the first commit that added it."""
    seen: set[str] = set()
    for one in dice.sample(history.counted, len(history.counted)):
        names = sorted(set(_NAME.findall(_changed(history, one.id))) - seen)
        names = [name for name in names if 7 <= len(name) <= 50]
        if not names:
            continue
        name = dice.choice(names)
        seen.add(name)
        phrase = any_phrase([" ".join(WORD.findall(name))], "added")
        many = history.store.saying(phrase, history.span, 60, earliest=True)
        exact = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        having = (n for n in many if n in history.by_id and exact.search(_changed(history, n)))
        first = next(having, None)
        if first is not None and next(having, None) is not None:
            yield Asked(name, frozenset([first]))


def _git(directory: str | Path, *words: str) -> str:
    return run_git(*words, cwd=Path(directory)).decode("utf-8", "replace")
