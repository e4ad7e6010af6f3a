"""`python -m benchmarks.commands --registries DIR`: is a command found by another text about it?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from benchmarks.commands.corpora import Corpus, Query, read_corpora
from clew.commands.search import ranking
from clew.commands.search.cosine import PLAIN_ALGORITHMS
from clew.commands.search.ranking import RANKED, CommandIndex

TUNED = (
    "fabric",
    "wshobson+commands",
    "copilot",
    "VoltAgent",
    "superpowers",
    "pm-skills",
    "trailofbits",
)
_DEPTH = 3


def recalls(index: CommandIndex, queries: Sequence[Query], algorithm: str) -> tuple[float, float]:
    """How often the command is first, and how often it is among the first three."""
    first = near = 0
    for query in queries:
        hits = index.search(query.text, limit=_DEPTH, algorithm=algorithm)
        found = [hit.command.address for hit in hits]
        first += found[:1] == [query.wanted]
        near += query.wanted in found
    return first / len(queries), near / len(queries)


def strangers(index: CommandIndex, others: Sequence[Query]) -> tuple[float, float]:
    """Of questions that were put to another registry: the share with a score of .5, and the highest."""
    tops = [hits[0].score for q in others if (hits := index.search(q.text, limit=1))]
    return sum(top >= 0.5 for top in tops) / max(1, len(others)), max(tops, default=0.0)


def rows(corpus: Corpus) -> list[str]:
    """A line for each kind of question: ours without and with the embedding, and the plain ways."""
    words, index = CommandIndex(corpus.commands), CommandIndex(corpus.commands)
    lines = []
    for kind in dict.fromkeys(query.kind for query in corpus.queries):
        asked = [query for query in corpus.queries if query.kind == kind]
        with patch.object(ranking, "meaning_of", lambda _: None):
            ways = {"words": recalls(words, asked, RANKED)}
        ways["ours"] = recalls(index, asked, RANKED)
        ways |= {name: recalls(words, asked, name) for name in PLAIN_ALGORITHMS}
        shown = "  ".join(f"{name} {one:.2f}/{three:.2f}" for name, (one, three) in ways.items())
        lines.append(f"{kind:10}{len(asked):5}  {shown}")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--registries", type=Path, required=True)
    corpora = read_corpora(parser.parse_args().registries)
    for corpus in corpora:
        seen = "tuned on" if any(word in corpus.name for word in TUNED) else "held out"
        print(f"\n{corpus.name}: {len(corpus.commands)} commands, {seen} (R@1/R@3)")
        print("\n".join(rows(corpus)))
    smallest = min(corpora, key=lambda corpus: len(corpus.commands))
    others = [q for c in corpora if c is not smallest for q in c.queries if q.kind != "typos"]
    share, highest = strangers(CommandIndex(smallest.commands), others)
    print(f"\nQuestions to others put to {smallest.name}: {share:.1%} reach 0.5, highest {highest}")


if __name__ == "__main__":
    main()
