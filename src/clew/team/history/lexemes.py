"""What PostgreSQL's text index holds of a commit, and how the query language asks for it.

Words are taken apart here, as SQLite's index does, and not by PostgreSQL's parser, which makes
files, addresses and numbers of them. Each lexeme begins with a sign that says where it stands:

- `:word` in the message (label A in the subject, B in the body), `word` in the diff (A added,
  B removed, C context), `/word` in a path (C). As many positions as the word's count has bits.
- two words in a row, by a checksum, with a sign for the column: so that phrases are found without
  looking at texts, and in diffs of any length. A longer phrase is every pair in it.
- `^level.number` for the part of the history that the commit is in, in parts of four sizes: so that
  the newest matches of a common word are read without reading the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

from clew.history.model import LAST_PLACE, IndexedCommit
from clew.history.search.query import folded
from clew.history.store.interface import Span
from clew.kit.text.tokens import WORD
from clew.team.history.expressions import Expression, Phrase, parse

# How large the parts of the history are, as bits of a commit's place.
LEVELS = (10, 13, 16, 19)
_MOST_PARTS = 16
_LONGEST_WORD = 200
_MOST_BITS = 8
_LARGEST = 900_000  # bytes of lexemes; PostgreSQL takes 1 MB
_CUT = "^!"
_NOTHING = "'^none'"
# Sign of the word, column, label, sign of the pair.
_COLUMNS = {
    "subject": (":", "A", '"'),
    "body": (":", "B", '"'),
    "added": ("", "A", "+"),
    "removed": ("", "B", "-"),
    "context": ("", "C", "="),
    "paths": ("/", "C", "|"),
}
_FAMILIES = (("subject", "body"), ("added", "removed", "context"), ("paths",))
NAMED_WEIGHTS = "{0, 0.3, 0.4, 1.0}"  # D, C, B, A
DIFF_WEIGHTS = "{0, 0.08, 0.06, 0.1}"


def words_of(text: str | None) -> list[str]:
    """The words of a text as the index compares them."""
    if not text:
        return []
    return [word[:_LONGEST_WORD] for word in WORD.findall(folded(text))]


def document(commit_id: int, commit: IndexedCommit) -> str:
    """A commit's lexemes, as PostgreSQL reads a tsvector."""
    texts = {
        "subject": commit.meta.subject,
        "body": commit.meta.body,
        "paths": "\n".join(change.path for change in commit.files),
        "added": commit.added_text,
        "removed": commit.removed_text,
        "context": commit.context_text,
    }
    counts: dict[str, list[tuple[int, str]]] = {}
    pairs: set[str] = set()
    for column, text in texts.items():
        found = words_of(text)
        sign, label, pair_sign = _COLUMNS[column]
        for word, count in Counter(found).items():
            counts.setdefault(sign + word, []).append((count, label))
        pairs.update(pair_sign + code for code in _codes(found))
    written = [*_parts_of(commit_id), *(_positioned(*one) for one in counts.items())]
    size = sum(len(one.encode()) for one in written)
    if size + 12 * len(pairs) > _LARGEST:
        return " ".join([f"'{_CUT}'", *_fitting(written)])
    return " ".join([*written, *(f"'{one}'" for one in pairs)])


def _positioned(lexeme: str, counts: list[tuple[int, str]]) -> str:
    labels = "".join(label * min(count.bit_length(), _MOST_BITS) for count, label in counts)
    return f"'{lexeme}':" + ",".join(f"{at}{label}" for at, label in enumerate(labels, start=1))


def _fitting(written: list[str]) -> Iterator[str]:
    """As many as PostgreSQL takes; messages come first, so that a cut diff loses only its end."""
    left = _LARGEST
    for one in written:
        left -= len(one.encode())
        if left < 0:
            return
        yield one


def _codes(words: list[str]) -> set[str]:
    """Each two words in a row, as a checksum."""
    return {f"{crc32(f'{first} {second}'.encode()):x}" for first, second in set(pairwise(words))}


def _parts_of(commit_id: int) -> list[str]:
    place = commit_id & LAST_PLACE
    return [f"'^{bits}.{place >> bits:x}'" for bits in LEVELS]


def within(span: Span, bits: int | None) -> list[str]:
    """The query for the parts of a size that a span of ids lies in."""
    if bits is None:
        return []
    first, last = (number & LAST_PLACE for number in span)
    parts = (f"'^{bits}.{number:x}'" for number in range(first >> bits, (last >> bits) + 1))
    return [" | ".join(parts)]


@lru_cache(maxsize=64)
def text_query(expression: str) -> tuple[str, ...]:
    """An expression as queries that all have to match.

    Of several queries the text index skips in each what the others have not: a word of each tenth
    commit is read only where the rest is. Of one query with `&` it reads all that its words have.
    """
    return tuple(_each(parse(expression)))


def wanted_words(expression: str) -> list[tuple[str, str, str]]:
    """Each word that an expression wants, as it is looked for in messages, paths and diffs."""
    found = dict.fromkeys(_wanted_words(parse(expression)))
    return [
        (_lexeme(f":{word}", begun), _lexeme(f"/{word}", begun), _lexeme(word, begun))
        for word, begun in found
    ]


def coarseness(span: Span) -> int | None:
    """The smallest parts of the history of which a few cover a span."""
    size = (span[1] & LAST_PLACE) - (span[0] & LAST_PLACE)
    return next((bits for bits in LEVELS if size >> bits < _MOST_PARTS), None)


def _wanted_words(tree: Expression) -> Iterator[tuple[str, bool]]:
    if isinstance(tree, Phrase):
        last = len(tree.words) - 1
        for number, word in enumerate(tree.words):
            yield word[:_LONGEST_WORD], tree.is_beginning and number == last
        return
    yield from _wanted_words(tree.left)
    if tree.how != "NOT":
        yield from _wanted_words(tree.right)


def _each(tree: Expression) -> Iterator[str]:
    """What all has to match; of a NOT also what it leaves some of, because that is read quickly."""
    if isinstance(tree, Phrase) or tree.how == "OR":
        yield _written(tree)
        return
    yield from _each(tree.left)
    if tree.how == "AND":
        yield from _each(tree.right)
    else:
        yield _written(tree)


def _written(tree: Expression) -> str:
    if isinstance(tree, Phrase):
        return _phrase(tree)
    sign = {"AND": "&", "OR": "|", "NOT": "& !"}[tree.how]
    return f"({_written(tree.left)}) {sign} ({_written(tree.right)})"


def _phrase(phrase: Phrase) -> str:
    words = [word[:_LONGEST_WORD] for word in phrase.words]
    if not words:
        return _NOTHING
    found = []
    for family in _FAMILIES:
        chosen = [column for column in family if column in phrase.columns]
        if not chosen:
            continue
        labels = "" if len(chosen) == len(family) else "".join(_COLUMNS[c][1] for c in chosen)
        sign = _COLUMNS[family[0]][0]
        if len(words) == 1:
            found.append(_lexeme(sign + words[0], phrase.is_beginning, labels))
        else:
            found += _in_a_row(words, sign, chosen, labels, is_beginning=phrase.is_beginning)
    return " | ".join(f"({one})" for one in found) or _NOTHING


def _in_a_row(
    words: list[str], sign: str, columns: list[str], labels: str, *, is_beginning: bool
) -> Iterator[str]:
    """The words in a row in one of the columns of a family."""
    last = _lexeme(sign + words[-1], is_beginning, labels)
    every = [*(_lexeme(sign + word, False, labels) for word in words[:-1]), last]
    whole = words[:-1] if is_beginning else words
    for pair_sign in dict.fromkeys(_COLUMNS[column][2] for column in columns):
        pairs = [f"'{pair_sign}{code}'" for code in sorted(_codes(whole))]
        needs_words = is_beginning or bool(labels)
        yield " & ".join([*pairs, *(every if needs_words or not pairs else ())])
    yield " & ".join([f"'{_CUT}'", *every])


def _lexeme(text: str, is_beginning: bool, labels: str = "") -> str:  # noqa: FBT001
    mark = f"{'*' if is_beginning else ''}{labels}"
    return f"'{text}':{mark}" if mark else f"'{text}'"
