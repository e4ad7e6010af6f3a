"""Curves: what they are made of, and how they are shown."""

import json

import pytest
from benchmarks.results.curves import curve_data, curve_of, one_sample, table
from benchmarks.results.figures import Goal, number
from benchmarks.results.report import Claim, Report, as_json, as_markdown, as_text


def some_curve(**more):
    ours = {100: {0: {"ms": 2.0}, 1: {"ms": 4.0}}, 1000: {0: {"ms": 10.0}, 1: {"ms": 40.0}}}
    return curve_of("list", "specs", "ms", ours, **more)


def test_every_size_is_compared_with_the_smallest():
    first, second = some_curve().points
    assert (first.size, first.compared.ratio.median) == (100, 1.0)
    assert (second.size, second.compared.ratio.median) == (1000, 7.5)
    assert second.beside is None


def test_a_table_has_size_median_cost_per_item_and_growth():
    assert table(some_curve(goals={1000: Goal(7.0)})) == [
        ("size", "median (minimum, IQR)", "per item", "of the smallest", "n", "goal"),
        ("100 specs", "3.00 ms (2.00, 1.00)", "30.0 us", "1.00", "2", ""),
        ("1,000 specs", "25.0 ms (10.0, 15.0)", "25.0 us", "7.50", "2", "<= 7.00: missed"),
    ]


def test_another_way_stands_beside_the_sizes_where_it_was_measured():
    theirs = {1000: {0: {"ms": 100.0}, 1: {"ms": 100.0}}}
    goals = {1000: Goal(1.0, of="beside")}
    heads, small, large = table(some_curve(baseline="by hand", theirs=theirs, goals=goals))
    assert heads[4:6] == ("by hand", "ours / by hand")
    assert small[4:6] == ("", "")
    assert large[4:] == ("100 ms (100, 0)", "0.25", "2", "<= 1.00: met")


def test_memory_is_told_per_item_in_a_smaller_unit():
    peaks = {size: one_sample(float(size), "MiB") for size in (10, 20)}
    rows = table(curve_of("peak memory", "commits", "MiB", peaks))
    assert [row[2] for row in rows[1:]] == ["1024 KiB", "1024 KiB"]


def test_a_curve_is_plain_data_too():
    theirs = {100: {0: {"ms": 1.0}, 1: {"ms": 1.0}}}
    data = curve_data(some_curve(baseline="by hand", theirs=theirs, goals={1000: Goal(30.0, "ms")}))
    assert json.loads(json.dumps(data)) == data
    small, large = data["points"]
    assert small["per_item"] == 0.03
    assert small["baseline"]["ratio"]["median"] == 3.0
    assert large["baseline"] is None
    assert large["of_smallest"]["median"] == 7.5
    assert large["goal"] == {"limit": 30.0, "of": "ms", "told": "<= 30.0 ms: met"}


def test_reports_show_curves_and_the_seconds_of_each_claim():
    claim = Claim("growth", "Growth of things", notes=["A note."], curves=[some_curve()])
    claim.seconds = 2.34
    report = Report({"cores": "2"}, True, {}, [claim], "today", 3.0)
    text, document = as_text(report), as_markdown(report)
    assert "Growth of things (2.3 s)" in text
    assert "  1,000 specs  25.0 ms (10.0, 15.0)   25.0 us   7.50" in text
    assert "| growth | 2.3 |" in document
    assert "### list\n\n| size | median" in document
    assert "| 1,000 specs | 25.0 ms (10.0, 15.0) | 25.0 us | 7.50 | 2 |  |" in document
    (data,) = as_json(report)["claims"]
    assert data["seconds"] == 2.3
    assert data["curves"][0]["name"] == "list"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0"),
        (1234.5, "1234"),
        (99.94, "99.9"),
        (3.14159, "3.14"),
        (0.25, "0.25"),
        (0.0251, "0.025"),
        (0.000114, "0.00011"),
    ],
)
def test_numbers_have_the_digits_that_matter(value, told):
    assert number(value) == told
