"""The source: quotes are found by their words, and what nobody cites is listed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.advisors.drafts.source import Source

TEXT = """Hi team,

guests reserve a table **online**, and waiters see
all reservations of an evening. We need 99.9 % uptime.

- Payments
- It's free; don't charge

```sh
make install everything else
```

## A heading of its own
Not supported on Windows.

Thanks, Ada"""


def source(text=TEXT):
    return Source().adding("vision", text)


def gaps(found, *quotes):
    spans = [span for quote in quotes for span in found.find(quote)]
    return [gap.text for gap in found.coverage("vision", spans).gaps]


@pytest.mark.parametrize(
    ("quote", "lines"),
    [
        ("guests reserve a table online", "3"),
        ("Guests  reserve\na TABLE “online”", "3"),
        ("waiters see all reservations", "3-4"),
        ("We need 99.9% uptime.", "4"),
        ("It\u2019s free; don\u2019t charge", "7"),
        ("guests reserve ... all reservations of an evening", "3-4"),
    ],
)
def test_a_quote_is_found_by_its_words(quote, lines):
    found = source()
    assert found.lines_of(found.find(quote)) == lines


@pytest.mark.parametrize(
    "quote",
    ["guests reserve tables online", "guests reserve online", "We need 99 % uptime", "...", "",
     "an evening ... guests reserve", "waiters reserve"],
)  # fmt: skip
def test_other_words_are_not_in_the_source(quote):
    assert source().find(quote) == []


def test_the_nearest_of_several_places_counts():
    found = source("One table.\n\nTwo.\n\nOne table.")
    assert found.lines_of(found.find("one table", [5])) == "5"
    assert found.lines_of(found.find("one table", [1])) == "1"


def test_what_nobody_cites_is_listed_and_courtesies_code_and_headings_are_not():
    assert gaps(source()) == [
        "guests reserve a table **online**, and waiters see all reservations of an evening",
        "We need 99.9 % uptime", "Payments", "It's free; don't charge", "Not supported on Windows",
    ]  # fmt: skip
    assert source().coverage("vision", []).percent == 0


def test_a_part_of_a_sentence_that_is_left_out_is_listed():
    left = gaps(source(), "guests reserve a table online", "We need", "Payments", "It's free")
    assert left == [
        "and waiters see all reservations of an evening", "99.9 % uptime", "Not supported on Windows",
    ]  # fmt: skip


def test_all_cited_is_all():
    every = [line.removeprefix("- ") for line in TEXT.split("\n") if line.strip()]
    found = source()
    spans = [span for quote in every for span in found.find(quote)]
    covered = found.coverage("vision", spans)
    assert (covered.percent, covered.gaps) == (100, ())


def test_japanese_is_compared_by_its_characters():
    found = source("店員は今夜の予約を確認する。支払いは対象外。")
    assert found.find("今夜の予約を確認")
    assert not found.find("今夜の予約を取り消す")
    assert gaps(found, "店員は今夜の予約を確認する") == ["支払いは対象外"]


def test_texts_have_one_count_of_lines_and_are_said_once():
    both = source("One.\nTwo.").adding("architecture", "Three tables.")
    assert both.adding("vision", "Two.") == both
    assert both.numbered() == ["1| One.", "2| Two.", "3| Three tables."]
    assert both.lines_of(both.find("three")) == "3"
    assert both.coverage("architecture", []).percent == 0
    assert Source().coverage("vision", []).percent == 0
    assert source("x y").coverage("architecture", []).percent == 100, "nothing was said for it"


def test_quotes_are_found_however_words_are_divided_and_without_link_targets():
    found = source("Send an e-mail to the [team](mailto:a) each&nbsp;week.\n\nA hyphen- ated word.")
    for quote in ("an email to the team each week", "e mail to the [team](mailto:a)", "hyphenated"):
        assert found.find(quote), quote
    assert not found.find("mail to")[1:]
    assert not found.find("an emails to the team")


@given(st.text(max_size=300), st.text(max_size=40))
def test_any_text_can_be_a_source_and_any_text_a_quote(text, quote):
    found = source(text)
    spans = found.find(quote)
    assert 0 <= found.coverage("vision", spans).percent <= 100
    for line in found.lines:
        if found.find(line):
            assert found.lines_of(found.find(line))


def test_bold_lines_of_a_template_and_numbers_of_a_list_need_no_citing():
    text = "**Describe the solution you'd like**\nEdit notes offline.\n\n1. a good search\n2. one page\n"
    source = Source().adding("vision", text)
    spans = [
        span
        for said in ("Edit notes offline", "a good search", "one page")
        for span in source.find(said)
    ]

    assert source.coverage("vision", spans).gaps == ()
    assert "solution" in source.headings_over(spans[0])
