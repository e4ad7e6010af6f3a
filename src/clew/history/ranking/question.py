"""A question as the ranking reads it: its words, the names in it, issues and commits it mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from clew.kit.text.tokens import WORD, telling_words

NAME, WORDS, SENTENCE, REPORT = "name", "words", "sentence", "report"
KINDS = (NAME, WORDS, SENTENCE, REPORT)
_MOST_WORDS = 18
_MOST_NAMES = 8
_FEW_WORDS, _SOME_WORDS = 5, 14
WRITTEN_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|->|[./-])[\w$]+)*")
IS_NAME = re.compile(r"\w_\w|[a-z\d][A-Z]|::|->|\w[./]\w|^_\w")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ISSUE = re.compile(r"(?<![\w&/])#(\d{1,9})\b")
_SHA = re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_ENDINGS = ("ing", "ed", "es", "s", "e")


@dataclass(frozen=True)
class Question:
    """What is looked for; words and names each once, in their order."""

    text: str
    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    shas: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Question:
        """The question that a text is."""
        names = [name for name in WRITTEN_NAME.findall(text) if IS_NAME.search(name)]
        parts = " ".join(part for name in names for part in _HUMP.split(name))
        words = telling_words(f"{text} {parts}" if parts else text, _MOST_WORDS, shortest=2)
        return cls(
            text,
            tuple(words),
            tuple(dict.fromkeys(names))[:_MOST_NAMES],
            tuple(dict.fromkeys(_ISSUE.findall(text)))[:_MOST_NAMES],
            tuple(dict.fromkeys(_SHA.findall(text)))[:_MOST_NAMES],
        )

    @cached_property
    def kind(self) -> str:
        """What sort of question it is: the weights differ."""
        plain = telling_words(self.text, _MOST_WORDS, shortest=2)
        named = {word.lower() for name in self.names for word in WORD.findall(name)}
        if named.issuperset(plain):
            return NAME
        if len(plain) <= _FEW_WORDS:
            return WORDS
        return SENTENCE if len(plain) <= _SOME_WORDS else REPORT

    @cached_property
    def phrase(self) -> str:
        """All of the text's words in a row."""
        return " ".join(WORD.findall(self.text.lower()))


def forms(word: str) -> tuple[str, ...]:
    """A word in one and in many."""
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return (word,)
    if word.endswith("s"):
        return (word,) if word.endswith("ss") else (word, word[:-1])
    return (word, f"{word}s")


def either(word: str) -> str:
    """A text-index expression for a word in one and in many."""
    return " OR ".join(f'"{form}"' for form in forms(word))


def stem(word: str) -> str:
    """A word without its ending, so that its forms are alike."""
    if len(word) > 4 and word.isascii():
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
    return word


def words_of_stem(stemmed: str) -> list[str]:
    """All words that have this stem."""
    words = (stemmed, *(stemmed + ending for ending in _ENDINGS))
    return [word for word in words if stem(word) == stemmed]
