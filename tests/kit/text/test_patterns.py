"""Patterns that others wrote end, whatever they say."""

import re

import pytest

from clew.kit.errors import Invalid
from clew.kit.text.patterns import first_match


@pytest.mark.parametrize("pattern", ["a(b+)c", "(a|x)*(b+)(c)?", r"(.)(.)*\1?"])
def test_a_match_is_what_the_library_finds(pattern):
    for text in ("xabbc", "abb", ""):
        found = re.search(pattern, text)
        expected = None if found is None else (found[0], *found.groups())
        assert first_match(pattern, text) == expected


def test_case_and_length():
    assert first_match("AB(c|d)+", "abcd", re.IGNORECASE) == ("abcd", "d")
    assert first_match("b", "a" * 1000 + "b") is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", ".*.*.*.*.*.*b", r"(a*)*\1c"])
def test_one_that_never_ends_is_ended(pattern):
    with pytest.raises(Invalid, match="takes too long"):
        first_match(pattern, "a" * 500 + "!")


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(" * 5000])
def test_one_that_is_none_is_told(pattern):
    with pytest.raises(Invalid, match="Not a regular expression"):
        first_match(pattern, "a")
