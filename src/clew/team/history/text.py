"""Text search in PostgreSQL: what its text index names, and the filters let through.

What is asked for by the newest is read in parts of the history, from its end: a common word is
found in the first part, a rare one costs little in all of them, and no question reads all matches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import log
from typing import NamedTuple

from clew.history.model import PLACE_BITS, Repo, first_id
from clew.history.store.base import UNSEARCHED
from clew.history.store.interface import (
    ALWAYS,
    EVER,
    CommitFilter,
    CommitRecord,
    Dated,
    Match,
    MessageRecord,
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
    NAMED_WEIGHTS,
    coarseness,
    text_query,
    wanted_words,
    within,
)

_AT_ONCE = 272  # a little more than a search ranks, so that it knows of more without another look
_FIRST_SIZE = 2 << LEVELS[0]
# Of each of many small repositories: as many as a search of many ranks of each, and one more.
_MOST_OF_EACH = 51
_GROWTH = 3  # bits by which a part of the history is at most larger than the one before
_SAMPLE = LEVELS[0]  # how common a word is shows in the newest commits: so many bits of places
_HAS_PATH = "EXISTS (SELECT 1 FROM file_rows f WHERE f.commit_id = c.id AND f.path_id = ANY(%s))"
# Words that are rare count more; a long diff counts less. An array holds a long value as it was
# read, so that it is read once.
_SCORES = f"""
    WITH wanted AS MATERIALIZED (
        SELECT id, ARRAY[words] AS words
        FROM unnest(%s::bigint[]) AS asked(id)
        CROSS JOIN LATERAL (SELECT words FROM commit_text c WHERE c.id = asked.id OFFSET 0) c
    )
    SELECT t.id, 10 * sum(w.rarity * (
        2 * ts_rank('{NAMED_WEIGHTS}', t.words[1], w.in_names)
        + ts_rank('{DIFF_WEIGHTS}', t.words[1], w.in_diff)
        )) / (1 + %s * ln(1 + length(t.words[1])))
    FROM wanted t CROSS JOIN unnest(%s::tsquery[], %s::tsquery[], %s::float8[])
        AS w(in_names, in_diff, rarity)
    GROUP BY t.id, length(t.words[1])
"""
_LENGTH_COUNTS = 0.25
# So that no other index can tell: else the planner may walk all commits of a span, and read their
# words, where the text index names a few.
_WITHIN = "id + 0 BETWEEN %s AND %s"
_Conditions = tuple[str, list[object]]


class _Ahead(NamedTuple):
    """The latest matches of small repositories, asked of all at once, and how well they match."""

    rows: dict[int, list[Row]]
    scores: dict[int, float]


class PostgresText(PostgresBase):
    """The text index, alone and together with filters."""

    _known_ahead: tuple[CommitFilter, object, _Ahead] | None = None

    def ranked_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Match]:
        """Id, rank (less is better), time and subject of what passes, the latest first."""
        query, condition = text_query(expression), _condition(wanted)
        extra = "c.author_time, c.subject"
        ahead = self._ahead(expression, span, wanted, extra, is_ranked=True)
        rarity: list[float] = []
        for rows in self._parts(query, span, condition, extra, known=ahead.rows.get(span[0])):
            kept = [row for row in rows if wanted.reached is None or row[0] in wanted.reached]
            scores = ahead.scores
            if kept and kept[0][0] not in scores:
                rarity = rarity or self._rarity(wanted_words(expression), kept[0][0])
                scores = self._scores(expression, [row[0] for row in kept], rarity)
            for number, time, subject in kept:
                yield number, -scores.get(number, 0.0), time, shown(subject)

    def dated_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Dated]:
        """Time and id of what passes, the latest in history first."""
        query, condition = text_query(expression), _condition(wanted)
        ahead = self._ahead(expression, span, wanted)
        for rows in self._parts(query, span, condition, known=ahead.rows.get(span[0])):
            for number, time in rows:
                if wanted.reached is None or number in wanted.reached:
                    yield time, number

    def _scores(
        self, expression: str, ids: list[int], rarity: list[float] | None = None
    ) -> dict[int, float]:
        """How well commits match, more is better."""
        words = wanted_words(expression)
        if not ids or not words:
            return {}
        rarity = rarity or self._rarity(words, max(ids))
        lists = [f"{word[0]} | {word[1]}" for word in words], [word[2] for word in words]
        statement = _SCORES.replace("commit_text", f"commit_text{self._own(ids)}")
        listed = f"{{{','.join(map(str, ids))}}}"  # as a text: a list is written number by number
        rows = self.database.rows(statement, (listed, _LENGTH_COUNTS, *lists, rarity), kept=True)
        return {number: float(score) for number, score in rows}

    def _rarity(self, words: list[tuple[str, str, str]], newest: int) -> list[float]:
        """How telling each word is, by how many of the commits up to one have it."""
        if len(words) == 1:
            return [1.0]
        repo_id = newest >> PLACE_BITS
        low = max(first_id(repo_id), (newest >> _SAMPLE << _SAMPLE) - (1 << _SAMPLE))
        matching, values = _matching([], (low, newest), _SAMPLE)
        rows = self.database.rows(
            f"SELECT (SELECT count(*) FROM commit_text_{repo_id} WHERE words @@ q.query"
            f" AND {matching})"
            " FROM unnest(%s::tsquery[]) WITH ORDINALITY AS q(query, number) ORDER BY q.number",
            (*values, [" | ".join(word) for word in words]),
            kept=True,
        )
        size = max(newest - low, 1)
        return [log(1 + size / (row[0] + 0.5)) for row in rows]

    def _small(self, spans: Iterable[Span]) -> list[int]:
        """The repositories whose whole history is wanted and is one part, if they are several."""
        places = self.places()
        each = ((low >> PLACE_BITS, low, high) for low, high in spans)
        found = [
            repo_id
            for repo_id, low, high in each
            if places.get(repo_id, ALWAYS) <= _FIRST_SIZE
            and low == first_id(repo_id)
            and high >= low + places[repo_id]
        ]
        return found if len(found) > 1 else []

    def _ahead(
        self,
        expression: str,
        span: Span,
        wanted: CommitFilter,
        extra: str = "c.author_time",
        *,
        is_ranked: bool = False,
    ) -> _Ahead:
        """What one statement finds of all small repositories, by their first ids.

        A question asks for them one after another: so it is remembered in a snapshot.
        """
        repo_id = span[0] >> PLACE_BITS
        is_whole = span == ((wanted.spans or {}).get(repo_id) or span_of(repo_id))
        if len(wanted.repos) < 2 or not is_whole or not self._is_snapshot:
            return _Ahead({}, {})
        key = expression, extra
        known = self._known_ahead
        if known is None or known[0] is not wanted or known[1] != key:
            small = self._small(map(wanted.span, wanted.repos))
            rows = self._of_small(text_query(expression), small, _condition(wanted), extra)
            ids = [row[0] for found in rows.values() for row in found]
            known = wanted, key, _Ahead(rows, self._scores(expression, ids) if is_ranked else {})
            self._known_ahead = known
        return known[2]

    def _of_small(
        self, query: Sequence[str], small: list[int], condition: _Conditions, extra: str
    ) -> dict[int, list[Row]]:
        if not small:
            return {}
        passes, values = condition
        matching, asked = _matching_small(query, small)
        # One by one (`OFFSET 0`): of a list of all, each partition would be asked for each, or read.
        rows = self.database.rows(
            f"WITH said AS MATERIALIZED (SELECT id FROM commit_text WHERE {matching})"
            f" SELECT c.id, {extra} FROM (SELECT c.*, row_number() OVER"
            f" (PARTITION BY c.id >> {PLACE_BITS} ORDER BY c.id DESC) AS number"
            " FROM said CROSS JOIN LATERAL (SELECT * FROM commit_rows c WHERE c.id = said.id"
            f" OFFSET 0) c WHERE {passes}) c"
            f" WHERE number <= {_MOST_OF_EACH} ORDER BY c.id DESC",
            (*asked, *values),
            kept=not values,
        )
        found: dict[int, list[Row]] = {first_id(number): [] for number in small}
        for row in rows:
            found[first_id(row[0] >> PLACE_BITS)].append(row)
        return found

    def _parts(
        self,
        query: Sequence[str],
        span: Span,
        condition: _Conditions,
        extra: str = "c.author_time",
        *,
        earliest: bool = False,
        known: list[Row] | None = None,
    ) -> Iterator[list[Row]]:
        """Matches of one repository, the latest first, a part of its history at a time."""
        repo_id = span[0] >> PLACE_BITS
        if known is not None:
            if known:
                yield known
            if len(known) < _MOST_OF_EACH:
                return
            span = span[0], known[-1][0] - 1
        low, high = span[0], min(span[1], first_id(repo_id) + self.places().get(repo_id, -1))
        size, seen, count = _FIRST_SIZE, 0, 0
        while low <= high:
            part = (
                (low, min(high, low + size - 1)) if earliest else (max(low, high - size + 1), high)
            )
            for rows in self._part(
                query, part, coarseness(part), condition, extra, earliest=earliest
            ):
                count += len(rows)
                yield rows
            low, high = (part[1] + 1, high) if earliest else (low, part[0] - 1)
            seen += size
            size = _next_size(size, seen, count)

    def _part(
        self,
        query: Sequence[str],
        span: Span,
        bits: int | None,
        condition: _Conditions,
        extra: str,
        *,
        earliest: bool,
    ) -> Iterator[list[Row]]:
        low, high = span
        repo_id = low >> PLACE_BITS
        passes, values = condition
        order = "ASC" if earliest else "DESC"
        limit = _AT_ONCE
        while low <= high:
            matching, asked = _matching(query, (low, high), bits)
            rows = self.database.rows(
                f"SELECT c.id, {extra} FROM commit_rows_{repo_id} c WHERE c.id = ANY(ARRAY("
                f"SELECT id FROM commit_text_{repo_id} WHERE {matching}))"
                f" AND c.id BETWEEN %s AND %s AND {passes} ORDER BY c.id {order} LIMIT %s",
                (*asked, low, high, *values, limit),
                kept=not values,
            )
            if rows:
                yield rows
            if len(rows) < limit:
                return
            last = rows[-1][0]
            low, high = (last + 1, high) if earliest else (low, last - 1)
            limit *= 2

    def newest(self, wanted: CommitFilter, before: Dated) -> Iterator[Dated]:
        """Time and id of what passes and comes before that time and id, newest first."""
        condition, values = _condition(wanted)
        limit, last = _AT_ONCE, before
        while True:
            rows = self.database.rows(
                "SELECT c.author_time, c.id FROM commit_rows c"
                f" WHERE {of_repos(wanted.repos)} AND {condition}"
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
            " AND id BETWEEN %s AND %s ORDER BY author_time LIMIT %s",
            (time, until, *span, most),
        )
        return [row[0] for row in rows]

    def span_of_times(
        self, repo_id: int, times: tuple[int, int], most: int | None, *, committed: bool = False
    ) -> Span | None:
        """The first and last id of a time, (0, 0) if there is none; None if there are more."""
        time = "commit_time" if committed else "author_time"
        row = self.database.row(
            "SELECT min(id), max(id), count(*) FROM (SELECT id FROM commit_rows"
            f" WHERE {time} BETWEEN %s AND %s AND id BETWEEN %s AND %s LIMIT %s) f",
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
            f" WHERE {condition} AND {of_repos(wanted.repos)}"
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
        query = text_query(expression)
        return self._records(
            f"WITH found AS MATERIALIZED (SELECT id FROM commit_text t WHERE {_all_of(query)}"
            f" AND {of_repos(repos, 't.id')}) SELECT {RECORD}"
            f" FROM found JOIN commit_rows c ON c.id = found.id"
            f" {AUTHOR} WHERE {of_repos(repos)} AND {counts} ORDER BY c.id LIMIT %s",
            (*query, most),
        )

    def saying(
        self, expression: str, span: Span, most: int, *, earliest: bool = False
    ) -> list[int]:
        """The latest or the earliest between two ids that match, whether they count or not."""
        query, spans = text_query(expression), self._spans(span, earliest=earliest)
        small = [] if earliest else self._small(spans)
        known = self._of_small(query, small, ("TRUE", []), "c.author_time")
        found = (
            row[0]
            for part in spans
            for rows in self._parts(
                query, part, ("TRUE", []), earliest=earliest, known=known.get(part[0])
            )
            for row in rows
        )
        return list(islice(found, max(most, 0)))

    def _spans(self, span: Span, *, earliest: bool = False) -> list[Span]:
        """A span of ids as spans of single repositories, the latest or the earliest first."""
        first, last = (number >> PLACE_BITS for number in span)
        chosen = [number for number in self.places() if first <= number <= last]
        spans = (span_of(number) for number in (chosen if earliest else reversed(chosen)))
        return [(max(low, span[0]), min(high, span[1])) for low, high in spans]

    def scored_saying(self, expression: str, span: Span) -> list[tuple[int, float]]:
        """Those between two ids that match, and how well (more is better), in no order."""
        query = text_query(expression)
        spans = self._spans(span)
        small = self._small(spans)
        asked = [
            (f"_{part[0] >> PLACE_BITS}", *_matching(query, part, coarseness(part)))
            for part in spans
            if part[0] >> PLACE_BITS not in small
        ]
        if small:
            asked.append(("", *_matching_small(query, small)))
        scored: dict[int, float] = {}
        for own, matching, values in asked:
            statement = f"SELECT id FROM commit_text{own} WHERE {matching}"
            rows = self.database.rows(statement, values, kept=True)
            ids = [row[0] for row in rows]
            scored |= self._scores(expression, ids)
        return list(scored.items())

    def with_patch(
        self,
        repo_id: int,
        committed: tuple[int, int],
        expression: str | None,
        paths: Collection[int] | None,
    ) -> Iterator[Dated]:
        """Commit time and id of those that count and have a patch, the latest first."""
        condition = f"{COUNTED} AND c.patch_id IS NOT NULL AND c.commit_time BETWEEN %s AND %s"
        values: list[object] = [*committed]
        if paths is not None:
            condition += f" AND {_HAS_PATH}"
            values.append(list(paths))
        if expression is not None:
            query, span = text_query(expression), span_of(repo_id)
            parts = self._parts(query, span, (condition, values), "c.commit_time")
            return ((time, number) for rows in parts for number, time in rows)
        return self._all_with_patch(span_of(repo_id), condition, values)

    def words_with(self, part: str, most: int) -> list[str] | None:
        """Not known: the words of a team's texts are too many to be looked through."""
        return None

    def unsearched(self, wanted: CommitFilter) -> list[int]:
        """What passes, counts, and has changes in text not all of which are kept; latest first."""
        condition, values = _condition(wanted)
        rows = self.database.rows(
            f"SELECT c.id FROM commit_rows c WHERE {UNSEARCHED} AND {of_repos(wanted.repos)}"
            f" AND {COUNTED} AND {condition} ORDER BY c.id DESC",
            values,
        )
        return [row[0] for row in rows if wanted.reached is None or row[0] in wanted.reached]

    def _all_with_patch(self, span: Span, condition: str, values: list[object]) -> Iterator[Dated]:
        low, high = span
        limit = _AT_ONCE
        while True:
            rows = self.database.rows(
                f"SELECT c.commit_time, c.id FROM commit_rows c WHERE {condition}"
                " AND c.id BETWEEN %s AND %s ORDER BY c.id DESC LIMIT %s",
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
        query = text_query(any_phrase([words], "subject"))
        span = span_of(repo_id)[0], before - 1
        parts = self._parts(query, span, ("c.reachable AND c.subject = %s", [subject]))
        return next((int(row[0]) for rows in parts for row in rows), None)

    def messages(
        self, ids: Iterable[int], repos: Collection[Repo], times: tuple[int, int], longest: int
    ) -> Iterator[MessageRecord]:
        """The messages, and the beginnings of their bodies, of those that count and pass."""
        wanted = list(ids)
        rows = self.database.rows(
            "SELECT c.id, c.subject, left(c.body, %s), c.sha, c.author_time, c.patch_size"
            " FROM unnest(%s::bigint[]) AS asked(id) JOIN commit_rows c ON c.id = asked.id"
            f" WHERE {COUNTED} AND {of_repos(repos)} AND c.author_time BETWEEN %s AND %s",
            (longest, wanted, *times),
            kept=True,
        )
        found = {row[0]: row for row in rows}
        for number in wanted:
            if number in found:
                _, subject, body, *rest = found[number]
                yield MessageRecord(number, shown(subject), shown_or_none(body), *rest)


def _next_size(size: int, seen: int, count: int) -> int:
    """How much history to read next: as much as may hold what is asked for at once, and no more."""
    enough = seen * _AT_ONCE // max(count, 1)
    return max(size, min(enough, size << _GROWTH))


def _matching(query: Sequence[str], span: Span, bits: int | None) -> _Conditions:
    """The condition that a text of a span of one repository matches, and its values."""
    every = [*query, *within(span, bits)]
    return f"{_all_of(every)} AND {_WITHIN}", [*every, *span]


def _matching_small(query: Sequence[str], repo_ids: list[int]) -> _Conditions:
    """The same of whole repositories that are one part each; of others little is read."""
    every = [*query, *within((0, _FIRST_SIZE - 1), LEVELS[0])]
    return f"{_all_of(every)} AND id >> {PLACE_BITS} = ANY(%s)", [*every, repo_ids]


def _all_of(query: Sequence[str]) -> str:
    return " AND ".join(["words @@ %s::tsquery"] * len(query)) or "TRUE"


def _condition(wanted: CommitFilter, *, with_files: bool = True) -> _Conditions:
    """The condition on `commit_rows c`, and its values."""
    parts, values = ["c.reachable"], list[object]()
    if wanted.times != EVER:
        parts.append("c.author_time BETWEEN %s AND %s")
        values += wanted.times
    if wanted.committed != EVER:
        parts.append("c.commit_time BETWEEN %s AND %s")
        values += wanted.committed
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
