"""Made-up commits in a team's index, written by COPY as a sync writes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

from benchmarks.subjects.commits import REPOSITORY, word, word_sums
from clew.history.model import CommitMeta, FileChange, IndexedCommit, Repo, first_id
from clew.kit.errors import NotFound
from clew.team.history.lexemes import LEVELS
from clew.team.history.store import PostgresHistory

_TRANSACTION = 4000
_WORDS = (
    "CREATE INDEX commit_words ON commit_text USING gin (words)"
    " WITH (gin_pending_list_limit = 1024)"
)
_OWN = (
    250_000  # the others repeat their texts: made by the database itself, in a fraction of the time
)
_AT_ONCE = 100_000
_STEP = 400  # seconds between two commits
_PLACE = "(id & 4294967295)"
_PARTS = "ARRAY[{}]".format(
    ", ".join(f"'^{bits}.' || to_hex(({_PLACE} + {{0}}) >> {bits})" for bits in LEVELS)
)
_TEXTS = f"""
    INSERT INTO commit_text SELECT id + %(shift)s, ts_delete(words, {_PARTS.format("0")})
        || array_to_tsvector({_PARTS.format("%(shift)s")})
    FROM commit_text WHERE id BETWEEN %(low)s AND %(high)s"""
_ROWS = """
    INSERT INTO commit_rows SELECT id + %(shift)s,
        substr(sha256(sha || int8send(%(shift)s)), 1, 20), author_id, committer_id,
        author_time + %(seconds)s, author_zone, commit_time + %(seconds)s, subject, body, parents,
        reachable, patch_id, patch_size, preview, problem
    FROM commit_rows WHERE id BETWEEN %(low)s AND %(high)s"""
_FILES = """
    INSERT INTO file_rows SELECT commit_id + %(shift)s, number, path_id, status, old_path_id,
        added, removed
    FROM file_rows WHERE commit_id BETWEEN %(low)s AND %(high)s"""
_FIRST_TIME = 1_300_000_000


def schema_address(address: str, size: int) -> str:
    """The address of the index of one size: a schema of the database."""
    sign = "&" if "?" in address else "?"
    return f"{address}{sign}options=-csearch_path%3D{schema_name(size)}"


def schema_name(size: int) -> str:
    """The schema of the index of one size."""
    return f"grown_{size}"


def fill(address: str, size: int) -> None:
    """Make the index of so many commits, or go on with one that is not whole."""
    with closing(PostgresHistory.create(address)) as store:
        try:
            repo = store.find_repo(REPOSITORY)
        except NotFound:
            repo = store.add_repo(Repo(0, REPOSITORY, ""))
        row = store.database.row("SELECT next_place - 1 FROM repos")
        assert row is not None
        own = min(size, _OWN)
        made = islice(commits(own), row[0], None) if row[0] < own else iter(())
        store.database.run("DROP INDEX IF EXISTS commit_words")  # made in one go afterwards
        while part := list(islice(made, _TRANSACTION)):
            with store.writing():
                store.write_commits(repo.repo_id, part)
        _repeat(store, repo.repo_id, size)
        store.database.run("SET maintenance_work_mem = '1GB'")
        store.database.run(_WORDS)
        store.database.run("VACUUM ANALYZE commit_text, commit_rows, file_rows")


def _repeat(store: PostgresHistory, repo_id: int, size: int) -> None:
    """Fill up with the same texts as other commits: words are as frequent, phrases come again."""
    first = first_id(repo_id)
    while True:
        row = store.database.row("SELECT next_place - 1 FROM repos WHERE repo_id = %s", (repo_id,))
        assert row is not None
        more = min(size - row[0], row[0], _AT_ONCE)
        if more <= 0:
            return
        values = {"shift": row[0], "low": first + 1, "high": first + more}
        with store.writing():
            for statement in (_TEXTS, _ROWS, _FILES):
                store.database.run(statement, {**values, "seconds": _STEP * row[0]})
            store.database.run(
                "UPDATE repos SET next_place = next_place + %s WHERE repo_id = %s", (more, repo_id)
            )


def commits(size: int) -> Iterator[IndexedCommit]:
    """So many commits of about 120 words, the oldest first; the same for every run."""
    dice = random.Random(size)
    words = [word(rank) for rank in range(20_000)]
    sums = word_sums(len(words))
    for number in range(size):
        drawn = iter(dice.choices(words, cum_weights=sums, k=120))
        part = dice.randrange(max(size // 20, 50) if dice.random() < 0.3 else max(size // 200, 5))
        path = f"src/module{part % 200}/part{part % 17}/file{part}.py"
        moment = _FIRST_TIME + number * _STEP
        yield IndexedCommit(
            meta=CommitMeta(
                sha=f"{dice.getrandbits(160):040x}",
                parents=(),
                author_name=f"Author {number % 97}",
                author_email=f"author{number % 97}@example.com",
                author_time=moment,
                author_zone="+0000",
                committer_name="Committer",
                committer_email="committer@example.com",
                commit_time=moment,
                subject=" ".join(islice(drawn, 6)),
                body=" ".join(islice(drawn, 18)) if number % 3 == 0 else None,
            ),
            files=(FileChange(path, "M", None, 3, 2),),
            added_text=" ".join(islice(drawn, 30)),
            removed_text=" ".join(islice(drawn, 20)),
            context_text=" ".join(drawn),
        )
