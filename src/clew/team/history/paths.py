"""Questions about paths and times, answered by PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from clew.history.model import Repo
from clew.history.store.interface import Change, Effort, Hotspot
from clew.team.history.base import COUNTED, PostgresBase, of_repos, sayable, span_of

_SHORTEST_TRIGRAM = 3
_LONGEST_ORDERED = 400


class PostgresPaths(PostgresBase):
    """The paths of the index, and what commits did to them."""

    def paths_with(self, parts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The paths that have all of these parts in whatever case, with their numbers."""
        if len(sayable(parts)) < len(parts):
            return iter(())
        has_all = " AND strpos(lower(path), lower(%s)) > 0" * len(parts)
        values: list[object] = list(parts)
        long = [part for part in parts if len(part) >= _SHORTEST_TRIGRAM]
        if long:
            has_all += " AND trigrams(path) @> trigrams(%s)" * len(long)
            values += long
        rows = self.database.rows(f"SELECT path_id, path FROM paths WHERE TRUE{has_all}", values)
        return ((number, path) for number, path in rows)

    def path_changes(self, repo_id: int, path: str, until: int) -> list[Change]:
        """What commits that count did to a path up to an id, and its being renamed away."""
        if not sayable([path]):
            return []
        found = self.database.row("SELECT path_id FROM paths WHERE md5(path) = md5(%s)", (path,))
        if found is None:
            return []
        low = span_of(repo_id)[0]
        rows = self.database.rows(
            "SELECT c.id, c.author_id, c.author_time, f.added, f.removed, c.commit_time,"
            " p.path, f.status, o.path FROM"
            " (SELECT * FROM file_rows WHERE path_id = %(path)s"
            "  AND commit_id BETWEEN %(low)s AND %(until)s UNION ALL"
            "  SELECT * FROM file_rows WHERE old_path_id = %(path)s AND status = 'R'"
            "  AND commit_id BETWEEN %(low)s AND %(until)s) f"
            " JOIN commit_rows c ON c.id = f.commit_id"
            " JOIN paths p ON p.path_id = f.path_id"
            " LEFT JOIN paths o ON o.path_id = f.old_path_id"
            f" WHERE {COUNTED} AND c.id BETWEEN %(low)s AND %(until)s ORDER BY c.id DESC",
            {"path": found[0], "low": low, "until": until},
        )
        return [Change(*row) for row in rows]

    def directory_changes(self, repo_id: int, directory: str) -> list[Effort]:
        """Commits that count and changed files of a directory; an empty name means all."""
        inside, values = "", list[object](span_of(repo_id) * 2)
        if not sayable([directory]):
            return []
        if directory:
            start = f"{directory}/"
            below = "starts_with(path, %s) AND left(path, 400) >= %s AND left(path, 400) <= %s"
            ends = [start, start[:_LONGEST_ORDERED], start[:_LONGEST_ORDERED] + "\U0010ffff"]
            inside = f" AND f.path_id IN (SELECT path_id FROM paths WHERE {below})"
            values += ends
        rows = self.database.rows(
            "SELECT c.id, c.author_id, c.author_time, c.commit_time, sum(f.added + f.removed)::bigint"
            " FROM commit_rows c JOIN file_rows f ON f.commit_id = c.id"
            f" WHERE {COUNTED} AND c.id BETWEEN %s AND %s AND f.commit_id BETWEEN %s AND %s{inside}"
            " GROUP BY c.id, c.author_id, c.author_time, c.commit_time",
            values,
        )
        return [Effort(*row) for row in rows]

    def commits_touching(
        self, paths: Iterable[int], statuses: str = "", most: int | None = None
    ) -> list[int]:
        """Commits that have one of these paths, with one of these statuses; once per file."""
        passes = "strpos(%s, f.status) > 0" if statuses else "%s = ''"
        rows = self.database.rows(
            f"SELECT f.commit_id FROM file_rows f WHERE f.path_id = ANY(%s) AND {passes} LIMIT %s",
            (list(paths), statuses, most),
        )
        return [row[0] for row in rows]

    def co_changes(self, ids: Collection[int], most_files: int) -> tuple[dict[str, int], int]:
        """How many of these commits have each path, and how many commits were small enough."""
        listed = self.database.rows(
            "SELECT commit_id, count(*) FROM file_rows WHERE commit_id = ANY(%s)"
            " GROUP BY commit_id",
            (list(ids),),
        )
        small = [commit_id for commit_id, count in listed if count <= most_files]
        rows = self.database.rows(
            "SELECT p.path, count(DISTINCT f.commit_id) FROM file_rows f"
            " JOIN paths p ON p.path_id = f.path_id"
            " WHERE f.commit_id = ANY(%s) AND f.status != 'D' GROUP BY p.path",
            (small,),
        )
        return dict(rows), len(small)

    def hotspots(
        self,
        repos: Collection[Repo],
        committed: tuple[int, int],
        paths: Collection[int] | None,
        most: int,
    ) -> tuple[int, list[Hotspot]]:
        """How many paths were changed by commits of a time, and those that most changed."""
        condition = f"{of_repos(repos)} AND {of_repos(repos, 'f.commit_id')} AND {COUNTED}"
        condition += " AND c.commit_time BETWEEN %s AND %s"
        values: list[object] = [*committed]
        if paths is not None:
            condition += " AND f.path_id = ANY(%s)"
            values.append(list(paths))
        rows = self.database.rows(
            "SELECT r.name, p.path, g.commits, g.added, g.removed, g.authors, g.total FROM"
            " (SELECT c.id >> 32 AS repo_id, f.path_id, count(*) AS commits,"
            "  sum(f.added)::bigint AS added, sum(f.removed)::bigint AS removed,"
            "  count(DISTINCT lower(a.email)) AS authors, count(*) OVER () AS total"
            "  FROM commit_rows c JOIN file_rows f ON f.commit_id = c.id"
            "  JOIN people a ON a.person_id = c.author_id"
            f"  WHERE {condition} GROUP BY 1, 2"
            "  ORDER BY 3 DESC, sum(f.added) + sum(f.removed) DESC LIMIT %s) g"
            " JOIN repos r ON r.repo_id = g.repo_id JOIN paths p ON p.path_id = g.path_id"
            " ORDER BY g.commits DESC, g.added + g.removed DESC, p.path",
            (*values, max(most, 1)),
        )
        return rows[0][-1] if rows else 0, [Hotspot(*row[:-1]) for row in rows[: max(most, 0)]]

    def sharing(
        self, files: Iterable[str], repos: Collection[Repo], times: tuple[int, int], most: int
    ) -> list[tuple[int, int, int]]:
        """The newest that touched these paths: id, how many of them, how many files in all."""
        rows = self.database.rows(
            "SELECT c.id, count(DISTINCT f.path_id),"
            " (SELECT count(*) FROM file_rows o WHERE o.commit_id = c.id)"
            " FROM unnest(%s::text[]) w(path) JOIN paths p ON md5(p.path) = md5(w.path)"
            " JOIN file_rows f ON f.path_id = p.path_id JOIN commit_rows c ON c.id = f.commit_id"
            f" WHERE {COUNTED} AND {of_repos(repos)} AND {of_repos(repos, 'f.commit_id')}"
            " AND c.author_time BETWEEN %s AND %s"
            " GROUP BY c.id ORDER BY c.id DESC LIMIT %s",
            (sayable(files), *times, most),
        )
        return [(number, shared, size) for number, shared, size in rows]

    def newest_time(self) -> int | None:
        """When the newest commit of all was written."""
        ((newest,),) = self.database.rows("SELECT max(author_time) FROM commit_rows", kept=True)
        return None if newest is None else int(newest)

    def counts_by_period(self, seconds: int, periods: range) -> Iterator[tuple[str, int, int]]:
        """Repository, period since 1970 and how many commits were written in it."""
        rows = self.database.rows(
            "SELECT r.name, c.author_time / %s, count(*) FROM commit_rows c"
            " JOIN repos r ON r.repo_id = c.id >> 32 WHERE c.reachable"
            " AND c.author_time >= %s AND c.author_time < %s GROUP BY 1, 2",
            (seconds, periods.start * seconds, periods.stop * seconds),
        )
        return ((name, period, count) for name, period, count in rows)
