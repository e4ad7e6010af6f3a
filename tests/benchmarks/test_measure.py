"""The statistics behind every figure."""

import pytest
from benchmarks.measurement.sampling import (
    asked,
    asked_about,
    compare,
    in_turns,
    interleave,
    median_of,
    percentile,
    summarize,
)
from benchmarks.results.report import Figure, Goal


def test_percentiles_interpolate_between_neighbours():
    values = [4.0, 1.0, 3.0, 2.0]
    assert percentile(values, 0) == 1.0
    assert percentile(values, 50) == 2.5
    assert percentile(values, 100) == 4.0
    assert percentile([7.0], 99) == 7.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_a_summary_has_median_minimum_and_spread():
    summary = summarize([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (summary.n, summary.median, summary.minimum) == (5, 3.0, 1.0)
    assert (summary.q1, summary.q3, summary.iqr) == (2.0, 4.0, 2.0)


def test_ratios_are_taken_round_by_round_where_both_were_measured():
    ours = {0: {"ms": 2.0}, 1: {"ms": 40.0}, 2: {"ms": 6.0}}
    theirs = {0: {"s": 1.0}, 1: {"s": 10.0}, 3: {"s": 0.1}}
    compared = compare(ours, theirs, "ms", "s")
    assert compared.ratio.n == 2
    assert compared.ratio.median == 3.0
    assert compared.ratio_of_minima == 2.0
    assert compared.subject.median == 21.0


def test_everyone_comes_first_in_turn():
    firsts = [names[0] for _, names in in_turns(["a", "b", "c"], 4)]
    assert firsts == ["a", "b", "c", "a"]


def test_interleaving_alternates_and_spares_the_costly():
    seen = []

    def variant(name):
        return lambda: seen.append(name) or {"n": len(seen)}

    series = interleave({"a": variant("a"), "b": variant("b")}, 4, every={"b": 2})
    assert seen == ["a", "b", "a", "a", "b", "a"]
    assert {name: sorted(rounds) for name, rounds in series.items()} == {
        "a": [0, 1, 2, 3],
        "b": [0, 2],
    }


def test_the_median_of_samples_is_taken_for_every_metric():
    samples = [{"ms": 1.0, "cpu": 9.0}, {"ms": 5.0, "cpu": 1.0}, {"ms": 2.0, "cpu": 2.0}]
    assert median_of(samples) == {"ms": 2.0, "cpu": 2.0}


def test_questions_are_asked_so_many_times():
    said = []
    assert set(asked(lambda: said.append("again"), 3)) == {"ms", "cpu"}
    texts = iter(["one", "two"])
    assert asked_about(said.append, lambda: next(texts), 2)["ms"] >= 0
    assert said == ["again", "again", "again", "one", "two"]


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        (None, ""),
        (Goal(2.0), "met"),
        (Goal(1.9), "missed"),
        (Goal(4.0, of="median"), "met"),
        (Goal(3.0, of="median"), "missed"),
    ],
)
def test_a_goal_is_about_the_ratio_or_the_median(goal, verdict):
    compared = compare({0: {"ms": 4.0}}, {0: {"ms": 2.0}}, "ms")
    assert Figure("f", "ours", "theirs", "ms", compared, goal).verdict == verdict
