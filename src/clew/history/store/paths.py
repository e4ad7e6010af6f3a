"""Questions about paths and times, answered by SQLite."""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence

from clew.history.model import LAST_PLACE, Repo
from clew.history.store.base import COUNTED, SqliteBase, among, span_of
from clew.history.store.interface import Change, Effort, Hotspot
from clew.kit.sqlite import json_list

_SHORTEST_TRIGRAM = 3
_MOST_KEPT = 500


class SqlitePaths(SqliteBase):
    """The paths of the index, and what commits did to them."""

    def paths_with(self, parts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The paths that have all of these parts in whatever case, with their numbers."""
        cursor = self._tuples()
        if parts and all(len(part) >= _SHORTEST_TRIGRAM for part in parts):
            wanted = " AND ".join('"' + part.replace('"', '""') + '"' for part in parts)
            asked = "SELECT rowid, path FROM paths_fts WHERE paths_fts MATCH ?"
            return cursor.execute(asked, (wanted,))
        has_all = "".join(" AND instr(lower(path), lower(?))" for _ in parts)
        return cursor.execute(f"SELECT path_id, path FROM paths WHERE TRUE{has_all}", parts)  # noqa: S608

    def path_changes(self, repo_id: int, path: str, until: int) -> list[Change]:
        """What commits that count did to a path up to an id, and its being renamed away."""
        row = self.connection.execute(
            "SELECT path_id FROM paths WHERE path = ?", (path,)
        ).fetchone()
        if row is None:
            return []
        rows = self._tuples().execute(
            "SELECT c.id, c.author_id, c.author_time, f.added, f.removed, c.commit_time,"  # noqa: S608
            " p.path, f.status, o.path FROM"
            " (SELECT * FROM file_rows WHERE path_id = :path UNION ALL"
            "  SELECT * FROM file_rows WHERE old_path_id = :path AND status = 'R') f"
            " CROSS JOIN commit_rows c ON c.id = f.commit_id"
            " JOIN paths p ON p.path_id = f.path_id"
            " LEFT JOIN paths o ON o.path_id = f.old_path_id"
            f" WHERE {COUNTED} AND c.id BETWEEN :low AND :until ORDER BY c.id DESC",
            {"path": row[0], "low": span_of(repo_id)[0], "until": until},
        )
        return [Change(*row) for row in rows]

    def directory_changes(self, repo_id: int, directory: str) -> list[Effort]:
        """Commits that count and changed files of a directory; an empty name means all."""

        def read() -> tuple[array[int], array[int]]:
            return self._lines_below(repo_id, directory)

        is_large = "/" not in directory
        key = ("below", repo_id, directory)
        places, lines = self.remembered(key, read) if is_large else read()
        facts, low = self._facts(repo_id), span_of(repo_id)[0]
        authors, written, committed = facts.author_ids, facts.author_times, facts.commit_times
        last, make = len(authors), tuple.__new__  # half the time of calling the class
        return [
            make(Effort, (low | at, authors[at], written[at], committed[at], count))
            for at, count in zip(places, lines, strict=True)
            if at < last and authors[at]
        ]

    def _lines_below(self, repo_id: int, directory: str) -> tuple[array[int], array[int]]:
        """The places of commits that changed files of a directory, and how many lines each changed."""
        lines = "coalesce(f.added, 0) + coalesce(f.removed, 0)"  # a damaged row has none
        source, inside = "file_rows f", ""
        ends: tuple[str, ...] = ()
        if directory:
            source = "paths p CROSS JOIN file_rows f INDEXED BY file_path ON f.path_id = p.path_id"
            inside, ends = " AND p.path > ? AND p.path < ?", (f"{directory}/", f"{directory}0")
        rows = self._tuples().execute(
            f"SELECT f.commit_id & {LAST_PLACE}, {lines} FROM {source}"  # noqa: S608
            f" WHERE f.commit_id BETWEEN ? AND ?{inside}",
            (*span_of(repo_id), *ends),  # 0 is the sign behind /
        )
        changed: dict[int, int] = {}
        for place, count in rows:
            changed[place] = changed.get(place, 0) + count
        return array("q", changed), array("q", changed.values())

    def commits_touching(
        self, paths: Iterable[int], statuses: str = "", most: int | None = None
    ) -> list[int]:
        """Commits that have one of these paths, with one of these statuses; once per file."""
        # Without a status the index on paths answers alone.
        passes = "instr(?, f.status)" if statuses else "? = ''"
        rows = self._tuples().execute(
            "SELECT f.commit_id FROM json_each(?) w"  # noqa: S608
            f" CROSS JOIN file_rows f ON f.path_id = w.value WHERE {passes} LIMIT ?",
            (json_list(paths), statuses, -1 if most is None else most),
        )
        return [row[0] for row in rows]

    def co_changes(self, ids: Collection[int], most_files: int) -> tuple[dict[str, int], int]:
        """How many of these commits have each path, and how many commits were small enough."""
        listed = self._tuples().execute(
            "SELECT w.value, count(*) FROM json_each(?) w"
            " CROSS JOIN file_rows f ON f.commit_id = w.value GROUP BY w.value",
            (json_list(sorted(ids)),),
        )
        small = [commit_id for commit_id, count in listed if count <= most_files]
        rows = self._tuples().execute(
            "SELECT p.path, count(DISTINCT f.commit_id) FROM json_each(?) w"
            " CROSS JOIN file_rows f ON f.commit_id = w.value"
            " JOIN paths p ON p.path_id = f.path_id WHERE f.status != 'D' GROUP BY p.path",
            (json_list(small),),
        )
        return dict(rows.fetchall()), len(small)

    def hotspots(
        self,
        repos: Collection[Repo],
        committed: tuple[int, int],
        paths: Collection[int] | None,
        most: int,
    ) -> tuple[int, list[Hotspot]]:
        """How many paths were changed by commits of a time, and those that most changed."""
        key = ("hotspots", *(repo.repo_id for repo in repos), committed)
        kept = max(most, _MOST_KEPT)
        # All paths of a long time are many, and the index changes seldom.
        total, best = (
            self.remembered(key, lambda: self._busiest(repos, committed, None, kept))
            if paths is None and most <= _MOST_KEPT
            else self._busiest(repos, committed, paths, most)
        )
        rows = self._tuples().execute(
            "SELECT r.name, p.path, json_extract(g.value, '$[2]'), json_extract(g.value, '$[3]'), json_extract(g.value, '$[4]'),"  # noqa: S608
            " (SELECT count(DISTINCT a.email COLLATE NOCASE)"
            f"  FROM file_rows f INDEXED BY file_path CROSS JOIN {self._narrow} ON c.id = f.commit_id"
            "  JOIN people a ON a.person_id = c.author_id"
            f"  WHERE f.path_id = p.path_id AND c.id >> 32 = r.repo_id AND {COUNTED}"
            "  AND c.commit_time BETWEEN ? AND ?)"
            " FROM json_each(?) g CROSS JOIN repos r ON r.repo_id = json_extract(g.value, '$[0]')"
            " CROSS JOIN paths p ON p.path_id = json_extract(g.value, '$[1]')",
            (*committed, json.dumps(best[:most])),
        )
        found = [Hotspot(*row) for row in rows]
        return total, sorted(found, key=lambda one: (-one[2], -(one[3] + one[4]), one.path))

    def _busiest(
        self,
        repos: Collection[Repo],
        committed: tuple[int, int],
        paths: Collection[int] | None,
        most: int,
    ) -> tuple[int, list[tuple[int, ...]]]:
        """How many there are; repository, path, commits and lines of those that most changed."""
        condition, numbers = among(repos)
        values: list[object] = [numbers, *committed]
        source = f"{self._narrow} CROSS JOIN file_rows f ON f.commit_id = c.id"
        if paths is not None:
            source = (
                "json_each(?) w CROSS JOIN file_rows f INDEXED BY file_path ON f.path_id = w.value"
                f" CROSS JOIN {self._narrow} ON c.id = f.commit_id"
            )
            values.insert(0, json_list(paths))
        rows = (
            self._tuples()
            .execute(
                "SELECT c.id >> 32, f.path_id, count(*) AS commits, sum(f.added) AS added,"  # noqa: S608
                " sum(f.removed) AS removed, count(*) OVER () AS total"
                f" FROM {source} WHERE {condition} AND {COUNTED}"
                " AND c.commit_time BETWEEN ? AND ? GROUP BY 1, 2"
                " ORDER BY commits DESC, added + removed DESC, f.path_id LIMIT max(?, 1)",
                (*values, most),
            )
            .fetchall()
        )
        return rows[0][-1] if rows else 0, [row[:-1] for row in rows]

    def sharing(
        self, files: Iterable[str], repos: Collection[Repo], times: tuple[int, int], most: int
    ) -> list[tuple[int, int, int]]:
        """The newest that touched these paths: id, how many of them, how many files in all."""
        condition, numbers = among(repos)
        return (
            self._tuples()
            .execute(
                "SELECT c.id, count(DISTINCT f.path_id) AS shared,"  # noqa: S608
                " (SELECT count(*) FROM file_rows o WHERE o.commit_id = c.id) AS size"
                " FROM json_each(?) w JOIN paths p ON p.path = w.value"
                " CROSS JOIN file_rows f ON f.path_id = p.path_id"
                " CROSS JOIN commit_rows c ON c.id = f.commit_id"
                f" WHERE {COUNTED} AND {condition} AND c.author_time BETWEEN ? AND ?"
                " GROUP BY c.id ORDER BY c.id DESC LIMIT ?",
                (json_list(files), numbers, *times, most),
            )
            .fetchall()
        )

    def newest_time(self) -> int | None:
        """When the newest commit of all was written."""
        row = self.connection.execute("SELECT max(author_time) FROM commit_rows").fetchone()
        return None if row[0] is None else int(row[0])

    def counts_by_period(self, seconds: int, periods: range) -> Iterator[tuple[str, int, int]]:
        """Repository, period since 1970 and how many commits were written in it."""
        return self._tuples().execute(
            "SELECT r.name, c.author_time / ?, count(*) FROM commit_rows c"
            " JOIN repos r ON r.repo_id = c.id >> 32"
            " WHERE c.reachable AND c.author_time >= ? AND c.author_time < ? GROUP BY 1, 2",
            (seconds, periods.start * seconds, periods.stop * seconds),
        )
