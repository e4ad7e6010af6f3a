"""Small runs of the claims: what they say, never how long it took."""

import os
from pathlib import Path

import pytest
from benchmarks.finding import claim as finding
from benchmarks.measurement.peak import peak_of
from benchmarks.rooms import (
    growth,
    history_growth,
    ingest_growth,
    retrieval,
    specs_answers,
    specs_store,
    thread,
    why_growth,
)
from benchmarks.server import history_answers, memory
from benchmarks.subjects.histories import index_of, keep_index, repository_of
from benchmarks.subjects.home import own_home
from benchmarks.subjects.projects import specs_of

TELLS_MEMORY = Path("/proc/self/status").exists()
memory_is_told = pytest.mark.skipif(not TELLS_MEMORY, reason="the system does not tell it")


def sizes_of(curve):
    return [point.size for point in curve.points]


def test_what_several_claims_need_is_made_once(bench_of):
    one, other = bench_of(), bench_of()
    repository = repository_of(one, 30)
    assert repository_of(other, 30) is repository
    assert index_of(other, repository) is index_of(one, repository)
    assert keep_index(one, repository, Path("another")) is index_of(one, repository)
    assert specs_of(other, 10) is specs_of(one, 10)
    assert specs_of(one, 20) != specs_of(one, 10)


def test_an_index_that_was_measured_is_used_by_the_next(bench_of):
    claim = ingest_growth.run(bench_of(rounds=1, commits=2, steps=3))
    assert [sizes_of(curve) for curve in claim.curves] == [[2, 20, 200]] * len(claim.curves)
    assert claim.curves[0].baseline == ingest_growth.GIT_LOG
    assert all(point.beside for point in claim.curves[0].points)
    bench = bench_of()
    assert index_of(bench, repository_of(bench, 20)) == bench.home / "ingest-20" / "db.sqlite3"


@memory_is_told
def test_memory_has_curves_of_its_own(bench_of):
    synced = ingest_growth.run(bench_of(rounds=1, commits=3, steps=2))
    assert [curve.unit for curve in synced.curves] == ["ms", "MiB"]
    served = memory.run(bench_of(commits=3, steps=2, calls=8))
    assert sizes_of(served.curves[0]) == [3, 30]
    assert not served.skipped


def test_every_question_of_the_history_is_told_beside_its_goal(bench_of):
    told = history_answers.run(bench_of(commits=40, questions=2)).sizes
    assert told["commits"] == "40"
    assert all(f"(goal {goal}: " in told[name] for name, goal in history_answers.GOALS.items())


def test_why_is_measured_against_blame_at_every_size(bench_of):
    claim = why_growth.run(bench_of(rounds=1, lines=2, commits=5, steps=2))
    (curve,) = claim.curves
    assert sizes_of(curve) == [5, 50]
    assert curve.baseline == why_growth.BLAME
    assert all(point.beside.baseline.median > 0 for point in curve.points)


def test_every_question_to_the_history_has_a_curve(bench_of):
    claim = history_growth.run(bench_of(rounds=1, commits=5, steps=2, questions=2))
    assert [curve.name for curve in claim.curves] == list(history_growth.QUESTIONS)
    compared = {curve.name: bool(curve.points[0].beside) for curve in claim.curves}
    assert compared == {name: bool(way) for name, (_, way) in history_growth.QUESTIONS.items()}


def test_specs_and_commands_stand_beside_the_original_ways(bench_of):
    claim = growth.run(bench_of(rounds=1, items=5, steps=2, questions=2, slow_questions=1))
    timed = [curve for curve in claim.curves if curve.unit == "ms"]
    assert {curve.name: curve.baseline for curve in timed} == growth.BASELINES
    assert all(point.beside for curve in timed for point in curve.points)
    specs = specs_store.run(bench_of(rounds=1, specs=50, growth=50, questions=2))
    assert growth.READ_ALL in {figure.baseline for figure in specs.figures}
    assert [sizes_of(curve) for curve in specs.curves] == [[5, 50], [5, 50]]
    answers = specs_answers.run(bench_of(rounds=1, specs=50, questions=2, drift=5))
    assert [figure.baseline for figure in answers.figures] == [
        specs_store.STAT_ALL,
        specs_answers.ANEW,
        specs_answers.EACH,
    ]


def test_recall_is_told_warm_and_cold(bench_of):
    settings = {"rounds": 2, "commits": 40, "specs": 10, "questions": 2, "queries": 2}
    claim = thread.run(bench_of(**settings))
    assert [(figure.name, figure.subject) for figure in claim.figures] == [
        ("p50, warm", "recall"),
        ("p50, warm", "brief"),
        ("processor time", "recall"),
        ("processor time", "brief"),
        ("cold", thread.FIRST),
    ]
    assert "--repository" in claim.skipped["retrieval"]
    assert "--repository" in retrieval.run(bench_of(**retrieval.QUICK)).skipped["retrieval"]
    assert "--repository" in finding.run(bench_of(**finding.QUICK)).skipped["finding"]


def test_a_real_history_is_indexed_once_for_all_claims(bench_of):
    bench = bench_of(**retrieval.QUICK)
    bench.workshop.repository = repository_of(bench, 30)
    assert "vectors" in retrieval.run(bench).sizes
    before = index_of(bench, bench.workshop.repository).stat()
    settings = {"rounds": 1, "commits": 40, "specs": 10, "questions": 1, "queries": 2}
    assert not thread.run(bench_of(**settings)).skipped
    after = index_of(bench, bench.workshop.repository).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_process_tells_its_time_and_memory():
    sample = peak_of("import json", "assert sys.argv[1] == 'it'; json.dumps([])", "it")
    assert sample["ms"] > 0
    assert bool(sample["MiB"]) is TELLS_MEMORY


def test_a_home_is_only_lent(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", "before")
    monkeypatch.delenv("COMMITMUX_DB", raising=False)
    with own_home(tmp_path / "lent"):
        assert os.environ["CLEW_HOME"] == str(tmp_path / "lent")
        assert "COMMITMUX_DB" in os.environ
    assert os.environ["CLEW_HOME"] == "before"
    assert "COMMITMUX_DB" not in os.environ
