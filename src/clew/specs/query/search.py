"""Searching specs: by a plain text, or by a query with the best hits first and their lines."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from clew.kit.answer import Piece
from clew.kit.errors import Invalid
from clew.kit.text.display import excerpt
from clew.kit.text.frontmatter import FrontmatterError
from clew.specs.files.parse import read_document, read_file
from clew.specs.index import text_index
from clew.specs.index.graph import Graph
from clew.specs.index.index import Snapshot
from clew.specs.model import Head
from clew.specs.query.lists import shown_status, status_filter
from clew.specs.query.query import Query, parse_query
from clew.specs.store.store import SpecStore

_MOST_SNIPPETS = 3
_LONGEST_SNIPPET = 160
_ID_PART = re.compile(r"[0-9a-z.-]*\d[0-9a-z.-]*")


def find_rows(store: SpecStore, query: str, status: str | None = None) -> list[Piece]:
    """The active specs whose title or body contains the text, whatever its case, as listed."""
    fits, snapshot = status_filter(status), store.snapshot()
    found = _ids_with(store, snapshot, query)
    heads = [head for head in snapshot.active if head.id in found]
    if status is not None:
        graph = snapshot.graph()
        heads = [head for head in heads if fits(head, graph)]
    return _rows_of(store, snapshot, heads)


class _Rows(NamedTuple):
    """The rows that were made so far for one state of the specs, and those of the one before."""

    generation: int
    made: dict[str, Piece]
    before: dict[str, Piece]


_known_rows: WeakKeyDictionary[SpecStore, _Rows] = WeakKeyDictionary()


def _rows_of(store: SpecStore, snapshot: Snapshot, heads: list[Head]) -> list[Piece]:
    """These specs as they are listed; each is made once, until it changes."""
    rows = _known_rows.get(store) or _Rows(-1, {}, {})
    if rows.generation != snapshot.generation:
        rows = _known_rows[store] = _Rows(snapshot.generation, {}, rows.before | rows.made)
    made = rows.made
    with suppress(KeyError):
        return [made[head.id] for head in heads]
    graph = snapshot.graph()
    new = (head for head in heads if head.id not in made)
    made |= {head.id: _row(head, graph, rows.before.get(head.id)) for head in new}
    return [made[head.id] for head in heads]


def _row(head: Head, graph: Graph, before: Piece | None) -> Piece:
    status = shown_status(head, graph)
    data = {"id": head.id, "title": head.title, "status": status, "type": head.type}
    return before if before is not None and before.data == data else Piece(data)


def matching_heads(
    store: SpecStore, query: str, snapshot: Snapshot | None = None, *, archived: bool = False
) -> list[Head]:
    """The specs that a query finds, in order; all of them where it is empty."""
    return _matching(store, snapshot or store.snapshot(), parse_query(query), archived=archived)


def search_specs(
    store: SpecStore, query: str, *, limit: int = 20, offset: int = 0, archived: bool = False
) -> dict[str, Any]:
    """One page of what a query finds, the best first, each with the lines that match."""
    if limit < 0 or offset < 0:
        name = "limit" if limit < 0 else "offset"
        raise Invalid(f"{name} must not be negative", "Use 0 or a greater number.")
    parsed = parse_query(query)
    snapshot = store.snapshot()
    found = _matching(store, snapshot, parsed, archived=archived)
    words = parsed.wanted
    best = nsmallest(
        offset + limit, enumerate(found), key=lambda item: (_rank(item[1], words), -item[0])
    )
    page = [_hit(store, head, words, snapshot.graph()) for _, head in best[offset:]]
    return {
        "specs": page,
        "total": len(found),
        "returned": len(page),
        "limit": limit,
        "offset": offset,
    }


def _ids_with(store: SpecStore, snapshot: Snapshot, text: str) -> frozenset[str]:
    """The ids of the specs whose body contains this, whatever its case."""
    is_large = len(snapshot.by_id) > text_index.WORTH_A_FILE
    source = text_index.spec_source(store.project, snapshot)
    with store.texts.current([source], lasting=is_large) as index:
        return index.containing(text_index.SPEC, text)


def _body(project: Path, head: Head) -> tuple[str, int] | None:
    """A spec's body and the number of its first line in the file; None if it cannot be read."""
    try:
        raw, _ = read_file(f"{project}/{head.path}", now_ns=time.time_ns())
        document = read_document(raw)
    except (FrontmatterError, OSError):
        return None
    return document.body, document.line_at(document.body_start)


def _matching(store: SpecStore, snapshot: Snapshot, query: Query, *, archived: bool) -> list[Head]:
    everything = archived or query.archived
    heads = snapshot.active + snapshot.archived if everything else snapshot.active
    for text in query.texts:
        found = _ids_with(store, snapshot, text.words)
        word = text.words.lower()
        if _ID_PART.fullmatch(word):
            heads = [h for h in heads if (h.id in found or word in h.id) is text.wanted]
        else:
            heads = [head for head in heads if (head.id in found) is text.wanted]
    return query.fitting(list(heads), snapshot.graph()) if query.conditions else list(heads)


def _rank(head: Head, words: tuple[str, ...]) -> int:
    """The smaller the better: all of it in the title before some of it, before none."""
    title = (head.title or "").lower()
    total = 0
    for word in words:
        if word in {title, head.id}:
            continue
        if title.startswith(word) or head.id.endswith(word):
            total += 1
        elif word in title:
            total += 2 if re.search(rf"\b{re.escape(word)}", title) else 3
        else:
            total += 5
    return total


def _hit(store: SpecStore, head: Head, words: tuple[str, ...], graph: Graph) -> dict[str, Any]:
    state = head.status if head.archived else graph.status(head.id)
    return {
        "id": head.id,
        "title": head.title,
        "status": head.status,
        "state": state,
        "type": head.type,
        "labels": list(head.labels),
        "archived": head.archived,
        "path": head.path,
        "snippets": _snippets_of(store, head, words) if words else [],
    }


def _snippets_of(store: SpecStore, head: Head, words: tuple[str, ...]) -> list[dict[str, Any]]:
    found = _body(store.project, head)
    return snippets(found[0], words, found[1]) if found else []


def snippets(body: str, words: tuple[str, ...], first: int = 1) -> list[dict[str, Any]]:
    """The first lines that have one of the words, numbered as in the file; `first` is the body's."""
    found: list[dict[str, Any]] = []
    missing = set(words)
    lines = body.split("\n") if words else []
    for number, line in enumerate(lines, first):
        lowered = line.lower()
        present = [word for word in words if word in lowered]
        if present and (missing.intersection(present) or len(found) < _MOST_SNIPPETS):
            text = line.strip()
            at = text.lower().find(present[0])
            found.append({"line": number, "text": excerpt(text, at, _LONGEST_SNIPPET)})
            missing.difference_update(present)
        if len(found) >= _MOST_SNIPPETS and not missing:
            break
    return found[: _MOST_SNIPPETS + len(words)]
