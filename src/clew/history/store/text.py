"""Text search in SQLite: what its text index names, and the filters let through."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from clew.history.model import Repo
from clew.history.store.base import (
    AUTHOR,
    COUNTED,
    RECORD,
    UNSEARCHED,
    WEIGHTS,
    SqliteBase,
    among,
    span_of,
)
from clew.history.store.interface import (
    EVER,
    CommitFilter,
    CommitRecord,
    Dated,
    Match,
    MessageRecord,
    QueryNotUnderstood,
    Span,
    Touch,
    any_phrase,
)
from clew.kit.sqlite import json_list
from clew.kit.text.tokens import WORD

_HAS_PATH = (
    "EXISTS (SELECT 1 FROM file_rows f WHERE f.commit_id = c.id"
    " AND f.path_id IN (SELECT value FROM json_each(?)))"
)
_MATCHES = "search_fts s CROSS JOIN commit_rows c ON c.id = s.rowid"
# Above this many rows it is quicker to walk the newest commits than to sort all that match.
_MANY_ROWS = 3000
_WORDS_FROM = 6


class SqliteText(SqliteBase):
    """The text index, alone and together with filters."""

    def ranked_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Match]:
        """Id, rank (less is better), time and subject of what passes, the latest first."""
        selected = (
            f"s.rowid, bm25(search_fts, {WEIGHTS}), c.author_time,"  # noqa: S608
            " (SELECT subject FROM commit_rows w WHERE w.id = s.rowid)"
        )
        rows = self._matches(selected, expression, span, wanted)
        reached = wanted.reached
        return rows if reached is None else (row for row in rows if row[0] in reached)

    def dated_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Dated]:
        """Time and id of what passes, the latest in history first."""
        rows = self._matches("c.author_time, s.rowid", expression, span, wanted)
        reached = wanted.reached
        return rows if reached is None else (row for row in rows if row[1] in reached)

    def _matches(
        self, selected: str, expression: str, span: Span, wanted: CommitFilter
    ) -> Iterator[Any]:
        condition, values = _condition(wanted, "s.rowid")
        try:
            yield from self._tuples().execute(
                f"SELECT {selected} FROM search_fts s"  # noqa: S608
                f" CROSS JOIN {self._shown} ON c.id = s.rowid"
                f" WHERE search_fts MATCH ? AND s.rowid BETWEEN ? AND ? AND {condition}"
                " ORDER BY s.rowid DESC",
                (expression, *span, *values),
            )
        except sqlite3.OperationalError as error:
            raise QueryNotUnderstood(
                f"The query is not understood: {error}", "Put its words in quotes."
            ) from error

    def newest(self, wanted: CommitFilter, before: Dated) -> Iterator[Dated]:
        """Time and id of what passes and comes before that time and id, newest first."""
        condition, values = _condition(wanted, "c.id")
        source = "commit_rows c INDEXED BY commit_author_time"
        if wanted.ids is not None:
            source = "commit_rows c NOT INDEXED"
            condition = condition.replace("+c.id IN", "c.id IN")
        is_chosen, numbers = among(wanted.repos)
        rows = self._tuples().execute(
            f"SELECT c.author_time, c.id FROM {source}"  # noqa: S608
            f" WHERE {is_chosen} AND {condition}"
            " AND c.author_time <= ? AND (c.author_time, c.id) < (?, ?)"
            " ORDER BY c.author_time DESC, c.id DESC",
            (numbers, *values, before[0], *before),
        )
        return (row for row in rows if wanted.reached is None or row[1] in wanted.reached)

    def newer_than(self, time: int, until: int, span: Span, most: int) -> list[int]:
        """Commits between two ids whose time is after one and not after another."""
        rows = self._tuples().execute(
            "SELECT id FROM commit_rows WHERE author_time > ? AND author_time <= ?"
            " AND id BETWEEN ? AND ? LIMIT ?",
            (time, until, *span, most),
        )
        return [row[0] for row in rows]

    def span_of_times(
        self, repo_id: int, times: tuple[int, int], most: int | None, *, committed: bool = False
    ) -> Span | None:
        """The first and last id of a time, (0, 0) if there is none; None if there are more."""
        time = "commit_time" if committed else "author_time"
        first, last, count = self.connection.execute(
            "SELECT min(id), max(id), count(*) FROM (SELECT id FROM commit_rows"  # noqa: S608
            f" WHERE {time} BETWEEN ? AND ? AND +id BETWEEN ? AND ? LIMIT ?)",
            (*times, *span_of(repo_id), -1 if most is None else most),
        ).fetchone()
        if count == most:
            return None
        return (first, last) if count else (0, 0)

    def touches(
        self, wanted: CommitFilter, after: tuple[int, int, int], most: int
    ) -> Iterator[Touch]:
        """Files of commits that pass, newest first, behind a time, an id and a file's number."""
        paths = json_list(wanted.paths or ())
        condition, values = _condition(wanted, "c.id", with_files=False)
        is_chosen, numbers = among(wanted.repos)
        rows = self._tuples().execute(
            "SELECT c.author_time, c.id, f.number, c.sha, c.subject, p.path,"  # noqa: S608
            f" f.status FROM {self._touch_source(paths)} JOIN paths p ON p.path_id = f.path_id"
            f" WHERE {condition} AND {is_chosen}"
            " AND f.path_id IN (SELECT value FROM json_each(?)) AND (? = '' OR instr(?, f.status))"
            " AND c.author_time <= ? AND (c.author_time, c.id, -f.number) < (?, ?, ?)"
            " ORDER BY c.author_time DESC, c.id DESC, f.number LIMIT ?",
            (*values, numbers, paths, wanted.statuses, wanted.statuses,
             after[0], after[0], after[1], -after[2], most if wanted.reached is None else -1),
        )  # fmt: skip
        passing = (row for row in rows if wanted.reached is None or row[1] in wanted.reached)
        return (Touch._make((*row[:3], row[3].hex(), *row[4:])) for row in passing)

    def _touch_source(self, paths: str) -> str:
        """The join that starts where fewer rows are."""
        row = self.connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM json_each(?) w JOIN file_rows f"
            " ON f.path_id = w.value LIMIT ?)",
            (paths, _MANY_ROWS),
        ).fetchone()
        if row[0] < _MANY_ROWS:
            return "file_rows f CROSS JOIN commit_rows c ON c.id = f.commit_id"
        by_time = "commit_rows c INDEXED BY commit_author_time"
        return f"{by_time} CROSS JOIN file_rows f ON f.commit_id = c.id"

    def commits_saying(
        self,
        expression: str,
        repos: Collection[Repo],
        *,
        with_merges: bool = True,
        most: int | None = None,
    ) -> list[CommitRecord]:
        """Reachable commits that match, the earliest in history first."""
        condition, values = _of_repos(repos)
        counts = "c.reachable" if with_merges else COUNTED
        return self._records(
            f"SELECT {RECORD} FROM {_MATCHES} {AUTHOR} WHERE search_fts MATCH ?"  # noqa: S608
            f" AND {condition} AND {counts} ORDER BY s.rowid LIMIT ?",
            (expression, *values, -1 if most is None else most),
        )

    def saying(
        self, expression: str, span: Span, most: int, *, earliest: bool = False
    ) -> list[int]:
        """The latest or the earliest between two ids that match, whether they count or not."""
        rows = self._tuples().execute(
            "SELECT rowid FROM search_fts WHERE search_fts MATCH ? AND rowid BETWEEN ? AND ?"  # noqa: S608
            f" ORDER BY rowid {'ASC' if earliest else 'DESC'} LIMIT ?",
            (expression, *span, most),
        )
        return [row[0] for row in rows]

    def scored_saying(self, expression: str, span: Span) -> list[tuple[int, float]]:
        """Those between two ids that match, and how well (more is better), in no order."""
        rows = self._tuples().execute(
            f"SELECT rowid, -bm25(search_fts, {WEIGHTS}) FROM search_fts"  # noqa: S608
            " WHERE search_fts MATCH ? AND rowid BETWEEN ? AND ?",
            (expression, *span),
        )
        return rows.fetchall()

    def words_with(self, part: str, most: int) -> list[str] | None:
        """The words in texts that have this part; None where they are more, or not known."""
        if self.connection.execute("PRAGMA user_version").fetchone()[0] < _WORDS_FROM:
            return None
        words = self.remembered("words", self._words)
        found: list[str] = []
        at = words.find(part)
        while at >= 0:
            if len(found) == most:
                return None
            end = words.index("\n", at)
            found.append(words[words.rindex("\n", 0, at) + 1 : end])
            at = words.find(part, end)
        return found

    def _words(self) -> str:
        """All words of the text index, a line each: to look through is quicker than any index."""
        rows = self._tuples().execute("SELECT term FROM search_words")
        return "\n".join(["", *(row[0] for row in rows), ""])

    def with_patch(
        self,
        repo_id: int,
        committed: tuple[int, int],
        expression: str | None,
        paths: Collection[int] | None,
    ) -> Iterator[Dated]:
        """Commit time and id of those that count and have a patch, the latest first."""
        source = "commit_rows c"
        condition = f"{COUNTED} AND c.patch_id IS NOT NULL AND +c.commit_time BETWEEN ? AND ?"
        values: list[object] = [*committed]
        if expression is not None:
            source = _MATCHES
            condition += " AND search_fts MATCH ? AND s.rowid BETWEEN ? AND ?"
            values += [expression, *span_of(repo_id)]
        if paths is not None:
            condition += f" AND {_HAS_PATH}"
            values.append(json_list(paths))
        return self._tuples().execute(
            f"SELECT c.commit_time, c.id FROM {source}"  # noqa: S608
            f" WHERE {condition} AND c.id BETWEEN ? AND ? ORDER BY c.id DESC",
            (*values, *span_of(repo_id)),
        )

    def unsearched(self, wanted: CommitFilter) -> list[int]:
        """What passes, counts, and has changes in text not all of which are kept; latest first."""
        is_chosen, numbers = among(wanted.repos)
        condition, values = _condition(wanted, "c.id")
        # The index of these few is quicker than that of the times.
        condition = condition.replace("c.author_time BETWEEN", "+c.author_time BETWEEN")
        rows = self._tuples().execute(
            f"SELECT c.id FROM commit_rows c WHERE {UNSEARCHED} AND {is_chosen}"  # noqa: S608
            f" AND {COUNTED} AND {condition} ORDER BY c.id DESC",
            (numbers, *values),
        )
        return [row[0] for row in rows if wanted.reached is None or row[0] in wanted.reached]

    def latest_with_subject(self, repo_id: int, subject: str, before: int) -> int | None:
        """The latest commit before another that has exactly this subject."""
        words = " ".join(WORD.findall(subject))
        if not words:
            return None
        row = self.connection.execute(
            f"SELECT c.id FROM {_MATCHES} WHERE search_fts MATCH ?"  # noqa: S608
            " AND s.rowid BETWEEN ? AND ? AND c.reachable AND c.subject = ?"
            " ORDER BY s.rowid DESC LIMIT 1",
            (any_phrase([words], "subject"), span_of(repo_id)[0], before - 1, subject),
        ).fetchone()
        return None if row is None else int(row[0])

    def messages(
        self, ids: Iterable[int], repos: Collection[Repo], times: tuple[int, int], longest: int
    ) -> Iterator[MessageRecord]:
        """The messages, and the beginnings of their bodies, of those that count and pass."""
        condition, numbers = among(repos)
        rows = self._tuples().execute(
            "SELECT c.id, c.subject, substr(c.body, 1, ?), c.sha, c.author_time,"  # noqa: S608
            " c.patch_size FROM json_each(?) w CROSS JOIN commit_rows c ON c.id = w.value"
            f" WHERE {COUNTED} AND {condition} AND c.author_time BETWEEN ? AND ?",
            (longest, json_list(ids), numbers, *times),
        )
        return map(MessageRecord._make, rows)


def _of_repos(repos: Collection[Repo]) -> tuple[str, tuple[object, ...]]:
    """The condition that a match is of these repositories; of one, its ids tell."""
    if len(repos) != 1:
        condition, numbers = among(repos)
        return condition, (numbers,)
    return "s.rowid BETWEEN ? AND ?", span_of(next(iter(repos)).repo_id)


def _condition(
    wanted: CommitFilter, commit: str, *, with_files: bool = True
) -> tuple[str, list[object]]:
    """The condition on `commit_rows c`, the id of whose commit is written so, and its values."""
    parts = ["c.reachable", "c.author_time BETWEEN ? AND ?"]
    values: list[object] = [*wanted.times]
    if wanted.committed != EVER:
        parts.append("+c.commit_time BETWEEN ? AND ?")
        values += wanted.committed
    if with_files and wanted.ids is not None:
        parts.append(f"+{commit} IN (SELECT value FROM json_each(?))")  # noqa: S608
        values.append(json_list(wanted.ids))
    elif with_files and (wanted.paths is not None or wanted.statuses):
        files = []
        if wanted.paths is not None:
            files.append("+f.path_id IN (SELECT value FROM json_each(?))")
            values.append(json_list(wanted.paths))
        if wanted.statuses:
            files.append("instr(?, f.status)")
            values.append(wanted.statuses)
        parts.append(
            f"EXISTS (SELECT 1 FROM file_rows f WHERE f.commit_id = {commit}"  # noqa: S608
            f" AND {' AND '.join(files)})"
        )
    if wanted.people is not None:
        parts.append("c.author_id IN (SELECT value FROM json_each(?))")
        values.append(json_list(wanted.people))
    return " AND ".join(parts), values
