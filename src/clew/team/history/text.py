"""Text search in PostgreSQL: what its text index names, and the filters let through.

What is asked for by the newest is read in parts of the history, from its end: a common word is
found in the first part, a rare one costs little in all of them, and no question reads all matches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from clew.history.model import Repo
from clew.history.store.interface import (
    CommitFilter,
    CommitRecord,
    Dated,
    Match,
    Span,
    Touch,
    any_phrase,
)
from clew.kit.text.tokens import WORD
from clew.team.database import Row
from clew.team.history.base import (
    AUTHOR,
    COUNTED,
    RECORD,
    PostgresBase,
    of_repos,
    sayable,
    shown,
    shown_or_none,
    span_of,
)
from clew.team.history.lexemes import (
    DIFF_WEIGHTS,
    LEVELS,
    MESSAGE_WEIGHTS,
    PATH_WEIGHTS,
    text_query,
    within,
)

_AT_ONCE = 512
_RANKED = 1024
# Less is better, as in SQLite's index; 1 divides by the logarithm of the length.
_RANK = (
    f"-10 * (ts_rank('{MESSAGE_WEIGHTS}', t.words, %s::tsquery, 1)"
    f" + ts_rank('{PATH_WEIGHTS}', t.words, %s::tsquery, 1)"
    f" + ts_rank('{DIFF_WEIGHTS}', t.words, %s::tsquery, 1))::float8"
)
_Conditions = tuple[str, list[object]]


class PostgresText(PostgresBase):
    """The text index, alone and together with filters."""

    def ranked_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Match]:
        """Id, rank (less is better), time and subject of what passes, the latest first."""
        query, *words = text_query(expression)
        for rows in self._newest_parts(query, span, _condition(wanted)):
            kept = [row[0] for row in rows if wanted.reached is None or row[0] in wanted.reached]
            ranks = self.database.rows(
                f"SELECT c.id, {_RANK}, c.author_time, c.subject FROM commit_text t"
                " JOIN commit_rows c ON c.id = t.id WHERE t.id = ANY(%s) AND c.id = ANY(%s)"
                " ORDER BY c.id DESC",
                (*words, kept, kept),
            )
            for number, rank, time, subject in ranks:
                yield number, rank, time, shown(subject)

    def dated_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Dated]:
        """Time and id of what passes, the latest in history first."""
        query = text_query(expression)[0]
        for rows in self._newest_parts(query, span, _condition(wanted)):
            for number, time in rows:
                if wanted.reached is None or number in wanted.reached:
                    yield time, number

    def _newest_parts(
        self, query: str, span: Span, condition: _Conditions, extra: str = "c.author_time"
    ) -> Iterator[list[Row]]:
        """Matches of one repository, the latest first, a part of its history at a time."""
        if not self._sees(span[0]):
            return
        found = self.database.row(
            "SELECT max(id) FROM commit_rows WHERE id BETWEEN %s AND %s", span
        )
        high = None if found is None else found[0]
        for bits in (*LEVELS, None):
            if high is None or high < span[0]:
                return
            # A whole part at least, from its beginning.
            low = span[0] if bits is None else max(span[0], (high >> bits << bits) - (1 << bits))
            yield from self._part(query, (low, high), bits, condition, extra)
            high = low - 1

    def _part(
        self, query: str, span: Span, bits: int | None, condition: _Conditions, extra: str
    ) -> Iterator[list[Row]]:
        low, high = span
        passes, values = condition
        limit = _AT_ONCE
        while True:
            # Materialized: else the planner may walk all commits for a rare word.
            rows = self.database.rows(
                "WITH found AS MATERIALIZED (SELECT id FROM commit_text"
                " WHERE words @@ %s::tsquery AND id BETWEEN %s AND %s)"
                f" SELECT c.id, {extra} FROM found JOIN commit_rows c ON c.id = found.id"
                f" WHERE c.id BETWEEN %s AND %s AND {passes} ORDER BY c.id DESC LIMIT %s",
                (within(query, (low, high), bits), low, high, low, high, *values, limit),
            )
            if rows:
                yield rows
            if len(rows) < limit:
                return
            high = rows[-1][0] - 1
            limit *= 2

    def newest(self, wanted: CommitFilter, before: Dated) -> Iterator[Dated]:
        """Time and id of what passes and comes before that time and id, newest first."""
        condition, values = _condition(wanted)
        limit, last = _AT_ONCE // 2, before
        while True:
            rows = self.database.rows(
                "SELECT c.author_time, c.id FROM commit_rows c"
                f" WHERE {of_repos(wanted.repos)} AND {self._scope('c.id')} AND {condition}"
                " AND (c.author_time, c.id) < (%s, %s)"
                " ORDER BY c.author_time DESC, c.id DESC LIMIT %s",
                (*values, *last, limit),
            )
            for time, number in rows:
                if wanted.reached is None or number in wanted.reached:
                    yield time, number
            if len(rows) < limit:
                return
            last = rows[-1][0], rows[-1][1]
            limit *= 2

    def newer_than(self, time: int, until: int, span: Span, most: int) -> list[int]:
        """Commits between two ids whose time is after one and not after another."""
        rows = self.database.rows(
            "SELECT id FROM commit_rows c WHERE author_time > %s AND author_time <= %s"
            f" AND id BETWEEN %s AND %s AND {self._scope('c.id')} ORDER BY author_time LIMIT %s",
            (time, until, *span, most),
        )
        return [row[0] for row in rows]

    def span_of_times(self, repo_id: int, times: tuple[int, int], most: int | None) -> Span | None:
        """The first and last id of a time, (0, 0) if there is none; None if there are more."""
        row = self.database.row(
            "SELECT min(id), max(id), count(*) FROM (SELECT id FROM commit_rows"
            " WHERE author_time BETWEEN %s AND %s AND id BETWEEN %s AND %s LIMIT %s) f",
            (*times, *span_of(repo_id), most),
        )
        assert row is not None
        if row[2] == most:
            return None
        return (row[0], row[1]) if row[2] else (0, 0)

    def touches(
        self, wanted: CommitFilter, after: tuple[int, int, int], most: int
    ) -> Iterator[Touch]:
        """Files of commits that pass, newest first, behind a time, an id and a file's number."""
        condition, values = _condition(wanted, with_files=False)
        rows = self.database.rows(
            "SELECT c.author_time, c.id, f.number, encode(c.sha, 'hex'), c.subject, p.path,"
            " f.status FROM commit_rows c JOIN file_rows f ON f.commit_id = c.id"
            " JOIN paths p ON p.path_id = f.path_id"
            f" WHERE {condition} AND {of_repos(wanted.repos)} AND {self._scope('c.id')}"
            f" AND {of_repos(wanted.repos, 'f.commit_id')}"
            " AND f.path_id = ANY(%s) AND (%s = '' OR strpos(%s, f.status) > 0)"
            " AND (c.author_time, c.id) <= (%s, %s)"
            " AND (c.author_time, c.id, -f.number) < (%s, %s, %s)"
            " ORDER BY c.author_time DESC, c.id DESC, f.number LIMIT %s",
            (*values, list(wanted.paths or ()), wanted.statuses, wanted.statuses,
             *after[:2], after[0], after[1], -after[2], most if wanted.reached is None else None),
        )  # fmt: skip
        passing = (row for row in rows if wanted.reached is None or row[1] in wanted.reached)
        return (Touch._make((*row[:4], shown(row[4]), *row[5:])) for row in passing)

    def commits_saying(
        self,
        expression: str,
        repos: Collection[Repo],
        *,
        with_merges: bool = True,
        most: int | None = None,
    ) -> list[CommitRecord]:
        """Reachable commits that match, the earliest in history first."""
        counts = "c.reachable" if with_merges else COUNTED
        return self._records(
            f"{self._found(repos)} SELECT {RECORD} FROM found JOIN commit_rows c ON c.id = found.id"
            f" {AUTHOR} WHERE {of_repos(repos)} AND {counts} ORDER BY c.id LIMIT %s",
            (text_query(expression)[0], most),
        )

    def _found(self, repos: Collection[Repo]) -> str:
        return (
            "WITH found AS MATERIALIZED (SELECT id FROM commit_text t WHERE words @@ %s::tsquery"
            f" AND {of_repos(repos, 't.id')} AND {self._scope('t.id')})"
        )

    def latest_saying(self, expression: str, repo_id: int | None, most: int) -> list[int]:
        """The latest commits that match, of one repository or of all, whether they count or not."""
        query = text_query(expression)[0]
        numbers = self._repo_ids() if repo_id is None else [repo_id]
        found = (
            row[0]
            for number in numbers
            for rows in self._newest_parts(query, span_of(number), ("TRUE", []))
            for row in rows
        )
        return list(islice(found, max(most, 0)))

    def counted_saying(self, expression: str, repos: Collection[Repo], most: int) -> list[int]:
        """Commits that count and match, in no order."""
        query = text_query(expression)[0]
        found = (
            row[0]
            for repo in repos
            for rows in self._newest_parts(query, span_of(repo.repo_id), (COUNTED, []))
            for row in rows
        )
        return list(islice(found, max(most, 0)))

    def best_saying(self, expression: str, repos: Collection[Repo], since: int) -> Iterator[int]:
        """Commits that count and match, by relevance; of many that match, the newest."""
        query, *words = text_query(expression)
        condition: _Conditions = (f"{COUNTED} AND c.author_time >= %s", [since])
        each = max(_RANKED // max(len(repos), 1), _AT_ONCE // 4)
        ids: list[int] = []
        for repo in repos:
            parts = self._newest_parts(query, span_of(repo.repo_id), condition)
            ids += islice((row[0] for rows in parts for row in rows), each)
        rows = self.database.rows(
            f"SELECT t.id FROM commit_text t WHERE t.id = ANY(%s) ORDER BY {_RANK}, t.id",
            (ids, *words),
        )
        return (row[0] for row in rows)

    def with_patch(
        self, repo_id: int, since: int, expression: str | None, paths: Collection[int] | None
    ) -> Iterator[Dated]:
        """Commit time and id of those that count and have a patch, the latest first."""
        condition = f"{COUNTED} AND c.patch_id IS NOT NULL AND c.author_time >= %s"
        values: list[object] = [since]
        if paths is not None:
            condition += (
                " AND EXISTS (SELECT 1 FROM file_rows f WHERE f.commit_id = c.id"
                " AND f.path_id = ANY(%s))"
            )
            values.append(list(paths))
        if expression is not None:
            query = text_query(expression)[0]
            parts = self._newest_parts(
                query, span_of(repo_id), (condition, values), "c.commit_time"
            )
            return ((time, number) for rows in parts for number, time in rows)
        return self._all_with_patch(span_of(repo_id), condition, values)

    def _all_with_patch(self, span: Span, condition: str, values: list[object]) -> Iterator[Dated]:
        low, high = span
        limit = _AT_ONCE
        while True:
            rows = self.database.rows(
                f"SELECT c.commit_time, c.id FROM commit_rows c WHERE {condition}"
                f" AND c.id BETWEEN %s AND %s AND {self._scope('c.id')} ORDER BY c.id DESC LIMIT %s",
                (*values, low, high, limit),
            )
            yield from ((time, number) for time, number in rows)
            if len(rows) < limit:
                return
            high = rows[-1][1] - 1
            limit *= 2

    def latest_with_subject(self, repo_id: int, subject: str, before: int) -> int | None:
        """The latest commit before another that has exactly this subject."""
        words = " ".join(WORD.findall(subject))
        if not words or not sayable([subject]):
            return None
        query = text_query(any_phrase([words], "subject"))[0]
        span = span_of(repo_id)[0], before - 1
        parts = self._newest_parts(query, span, ("c.reachable AND c.subject = %s", [subject]))
        return next((int(row[0]) for rows in parts for row in rows), None)

    def messages(
        self, ids: Iterable[int], repos: Collection[Repo], times: tuple[int, int], longest: int
    ) -> Iterator[tuple[int, str, str | None, bytes]]:
        """Id, subject, beginning of the body, and SHA of those that count and pass."""
        wanted = self._seen(ids)
        rows = self.database.rows(
            "SELECT c.id, c.subject, left(c.body, %s), c.sha FROM commit_rows c"
            f" WHERE c.id = ANY(%s) AND {COUNTED} AND {of_repos(repos)}"
            " AND c.author_time BETWEEN %s AND %s",
            (longest, wanted, *times),
        )
        found = {row[0]: row for row in rows}
        for number in wanted:
            if number in found:
                _, subject, body, sha = found[number]
                yield number, shown(subject), shown_or_none(body), sha


def _condition(wanted: CommitFilter, *, with_files: bool = True) -> _Conditions:
    """The condition on `commit_rows c`, and its values."""
    parts = ["c.reachable", "c.author_time BETWEEN %s AND %s"]
    values: list[object] = [*wanted.times]
    if with_files and wanted.ids is not None:
        parts.append("c.id = ANY(%s)")
        values.append(list(wanted.ids))
    elif with_files and (wanted.paths is not None or wanted.statuses):
        files = ["TRUE"]
        if wanted.paths is not None:
            files.append("f.path_id = ANY(%s)")
            values.append(list(wanted.paths))
        if wanted.statuses:
            files.append("strpos(%s, f.status) > 0")
            values.append(wanted.statuses)
        parts.append(
            f"EXISTS (SELECT 1 FROM file_rows f WHERE f.commit_id = c.id AND {' AND '.join(files)})"
        )
    if wanted.people is not None:
        parts.append("c.author_id = ANY(%s)")
        values.append(wanted.people)
    return " AND ".join(parts), values
