"""Documents of every shape, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from clew.advisors.documents.model import Document, Item, Section
from clew.advisors.documents.templates import TEMPLATES

AWKWARD = (
    "- ", "* x", "  - Key: v", "| Id | x |", "| --- | --- |", "| BO-1 | y |", "```", "~~~", "# h",
    "## Risks", "#### deep", "---", "_(a: b)_", "_(a: b; c: d)_", "**BO-1**", "- **BO-2** z", "\\|",
    "|", "<!--", "-->", "    code", "\n", "\n\n", "\r\n", " ", "\t", "a: b", '"', "'", "\\", "1. x",
    "日本語。", "ü", "\u200b", "\x00", "> quote", "===", "Q-1", ")_", "_(", "; ", "#", ":",
)  # fmt: skip
words = st.text(max_size=12)
texts = st.lists(st.sampled_from(AWKWARD) | words, max_size=8).map("".join)
ids = st.sampled_from(["BO-1", "BO-2", "RI-3", "FE-10", "Q-1", "", "XX-1", "BO-0"])
items = st.builds(Item, ids, texts, st.dictionaries(texts, texts, max_size=3))
known_headings = st.sampled_from(
    sorted({t.heading for k in tuple(TEMPLATES) for t in TEMPLATES[k].values()})
)
sections = st.builds(
    Section,
    st.just(""),
    known_headings | texts,
    st.integers(0, 5),
    texts,
    st.lists(items, max_size=3).map(tuple),
    texts,
)
documents = st.builds(
    Document,
    st.sampled_from(tuple(TEMPLATES)),
    texts,
    st.lists(sections, max_size=4).map(tuple),
    st.dictionaries(st.sampled_from(["status", "updated", "a-b", "1x", ""]) | words, texts),
)
