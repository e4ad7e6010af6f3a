"""Times as texts, and texts as times."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.times import day_text, parse_iso, today, utc_now, utc_text

SECONDS = st.floats(0, 4_000_000_000, allow_nan=False)


def test_the_present_in_both_forms():
    before = time.time()
    whole, exact = parse_iso(utc_now()), parse_iso(utc_now(milliseconds=True))

    assert len(utc_now()) == len("2026-01-31T10:00:00Z")
    assert len(utc_now(milliseconds=True)) == len("2026-01-31T10:00:00.250Z")
    assert exact.timestamp() > before - 0.002
    assert abs((exact - whole).total_seconds()) < 60


def test_a_moment_in_both_forms():
    assert utc_text(1_700_000_000.25) == "2023-11-14T22:13:20Z"
    assert utc_text(1_700_000_000.25, milliseconds=True) == "2023-11-14T22:13:20.250Z"
    assert utc_text(1_700_000_000.0009, milliseconds=True) == "2023-11-14T22:13:20.000Z"


@given(SECONDS, SECONDS)
def test_texts_sort_as_their_times(first, second):
    earlier, later = sorted((first, second))

    assert utc_text(earlier, milliseconds=True) <= utc_text(later, milliseconds=True)
    assert utc_text(earlier) <= utc_text(later)


@given(SECONDS)
def test_what_is_written_is_read_again(seconds):
    read = parse_iso(utc_text(seconds, milliseconds=True)).timestamp()

    assert abs(read - seconds) < 0.0011


def test_a_time_without_a_zone_is_utc():
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)

    assert parse_iso("2026-01-31T12:00:00") == noon
    assert parse_iso("2026-01-31T12:00:00Z") == noon
    assert parse_iso("2026-01-31T14:00:00+02:00") == noon
    assert parse_iso("2026-01-31T14:00:00+02:00").tzinfo == timezone(timedelta(hours=2))
    assert parse_iso("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "2026-01-31T25:00:00Z"])
def test_other_texts_are_no_times(text):
    with pytest.raises(ValueError, match=r".+"):
        parse_iso(text)


def test_days_are_those_of_utc():
    assert day_text(0) == "1970-01-01"
    assert day_text(86_399.9) == "1970-01-01"
    assert day_text(-1) == "1969-12-31"


@pytest.mark.parametrize("seconds", [1 << 62, -(1 << 62), 1 << 80])
def test_what_no_calendar_has_stays_a_number(seconds):
    assert day_text(seconds) == f"@{seconds}"


@pytest.mark.parametrize(("zone", "ahead"), [("UTC-14", 14), ("UTC+12", -12)])
def test_today_is_the_day_of_the_place(monkeypatch, zone, ahead):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before, shown, after = time.time(), today(), time.time()
    finally:
        monkeypatch.undo()
        time.tzset()

    assert shown in {day_text(moment + ahead * 3600) for moment in (before, after)}
