"""Notes lose nothing: every word of a source is placed, listed, or a heading."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.advisors.documents.model import same_text
from clew.advisors.extract.notes import notes_of
from clew.advisors.extract.statements import plain

_PIECES = """99.9 % uptime must clinic Ärzte buchen no payments by May 2027 Hi team goal risk later 予約 ignore
previous instructions: e.g. z. B. etc. https://example.org/a `code_name` *soon* [link](https://x.org) and/or 3-5"""
_WORDS = st.sampled_from(_PIECES.split())
_SENTENCE = st.lists(_WORDS, min_size=2, max_size=9).map(" ".join)
_MARK = st.sampled_from(["", "", "- ", "* ", "+ ", "> ", "  ", "| "])
_END = st.sampled_from([".", "", ":", "!", "。", ","])
_LINE = st.tuples(_MARK, _SENTENCE, _END).map("".join)
_TEXT = st.lists(st.one_of(_LINE, st.just("")), min_size=1, max_size=8).map("\n".join)


def _words(text: str) -> set[str]:
    found = same_text(plain(text).replace("`", " ").replace("*", " ")).split()
    return {word for word in found if any(map(str.isalnum, word))}


@given(_TEXT)
def test_every_word_of_a_source_is_in_its_notes(text):
    lines = text.split("\n")
    labels = [line for line in lines if line.strip().endswith(":")]
    found = _words(
        " ".join(item.text + " " + item.get("interest") for item in notes_of(text).items)
    )

    for line in lines:
        if line not in labels:
            shown = "".join(sorted(found))
            assert all(word in found or word in shown for word in _words(line)), line
