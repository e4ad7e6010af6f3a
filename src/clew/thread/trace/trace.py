"""The whole thread at once: objective, feature, decision, spec, commit, and where it is broken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from clew.advisors.checks.traceability import Row, matrix, spec_link
from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.history.store.interface import CommitRecord, SizedMessage, any_phrase
from clew.kit.errors import ClewError
from clew.kit.git import seconds_of
from clew.specs.index.text_index import SPEC
from clew.specs.model import DONE_STATUSES, GROUP_TYPES
from clew.specs.query.commits import listed_commits, specs_by_commit
from clew.thread.recall.corpus import current_texts
from clew.thread.recall.git_messages import Message, logged
from clew.thread.rooms import Rooms
from clew.thread.trace.origins import lines_of_sessions
from clew.thread.why.documents import Documents, read_documents
from clew.thread.why.links import specs_in_message

RECENT = 200
_MOST_RECENT = 5000
_MOST_LOADED = 1000
_BOOKKEEPING = ".chant/"
Listed = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class TracedCommit:
    """A commit as the trace sees it: its lines, and the specs that it belongs to."""

    sha: str
    subject: str
    date: int
    lines: int
    specs: tuple[str, ...]


@dataclass(frozen=True)
class TracedSpec:
    """A spec with its commits."""

    id: str
    title: str
    status: str
    commits: tuple[str, ...]


@dataclass(frozen=True)
class TraceRow:
    """One line of the matrix; what is missing is empty, and `gap` says what breaks the thread."""

    objective: str
    feature: str
    text: str
    decisions: tuple[str, ...] = ()
    specs: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    gap: str = ""


@dataclass
class Trace:
    """The matrix, what the ids in it stand for, and the gaps."""

    rows: list[TraceRow] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    specs: dict[str, TracedSpec] = field(default_factory=dict)
    recent: list[TracedCommit] = field(default_factory=list)
    gaps: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    by_sessions: int = 0  # lines of recent commits without a spec that an agent wrote

    def share(self) -> dict[str, Any]:
        """How much of the recent work hangs on a spec, in commits and in lines."""
        tied = [one for one in self.recent if one.specs]
        lines = sum(one.lines for one in self.recent)
        tied_lines = sum(one.lines for one in tied)
        return {
            "commits": len(self.recent),
            "commits_with_spec": len(tied),
            "lines": lines,
            "lines_with_spec": tied_lines,
            "share": round(tied_lines / lines, 4) if lines else None,
            "lines_by_origin": {
                "spec": tied_lines,
                "session": self.by_sessions,
                "person": lines - tied_lines - self.by_sessions,
            },
        }

    def as_data(self) -> dict[str, Any]:
        """The trace as programs read it."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "titles": self.titles,
            "gaps": self.gaps,
            "recent": self.share(),
            "missing": self.missing,
        }


def trace(rooms: Rooms, *, recent: int = RECENT) -> Trace:
    """The matrix of a project, from its documents, specs and commits."""
    documents = read_documents(rooms.project)
    own = rooms.own_repo()
    made = Trace()
    listed = listed_commits(rooms.specs) if rooms.specs is not None else {}
    made.recent = _recent(rooms, own, max(1, min(recent, _MOST_RECENT)), listed) if own else []
    if own:
        loose = {one.sha: one.lines for one in made.recent if not one.specs}
        made.by_sessions = lines_of_sessions(Path(own.local_path), loose, _BOOKKEEPING)
    made.specs = _specs(rooms, own, listed)
    made.titles = _titles(documents, made.specs)
    made.rows = _rows(rooms, documents, made.specs)
    made.gaps = _gaps(made)
    if not documents.vision:
        rooms.lack("vision", 'There is no vision. Write one: clew advise vision "…"')
    made.missing = [one.text for one in rooms.missing.values()]
    return made


def _titles(documents: Documents, specs: dict[str, TracedSpec]) -> dict[str, str]:
    items = {
        item.id: item.text for one in documents.all for item in (*one.items("BO"), *one.items("FE"))
    }
    decisions = {one.name: one.title for one in documents.decisions}
    return {**items, **decisions, **{name: spec.title for name, spec in specs.items()}}


def _rows(rooms: Rooms, documents: Documents, specs: dict[str, TracedSpec]) -> list[TraceRow]:
    features = [item.id for one in documents.all for item in one.items("FE")]
    named = _named_features(rooms, features)
    links = [spec_link(name, spec.title, *named[name]) for name, spec in specs.items()]
    rows = []
    for row in matrix(documents.all, links):
        ids = {row.feature, row.objective} - {""}
        decided = [one.name for one in documents.decisions if ids & one.mentions]
        decisions = tuple(dict.fromkeys([*row.decisions, *decided]))
        commits = tuple(sha for name in row.specs for sha in specs[name].commits)
        gap = _gap(row, specs, commits)
        rows.append(
            TraceRow(row.objective, row.feature, row.text, decisions, row.specs, commits, gap)
        )
    return rows


def _named_features(rooms: Rooms, features: Iterable[str]) -> dict[str, list[str]]:
    """The features that each spec names: in its labels and origins, or else in its text."""
    named: dict[str, list[str]] = defaultdict(list)
    if rooms.specs is None or rooms.project is None:
        return named
    wanted = set(features)
    for head in rooms.specs.heads(archived=True):
        words = (*head.labels, *head.origin, *head.informed_by)
        named[head.id] = [word for word in words if any(one in word for one in wanted)]
    with current_texts(rooms, [SPEC]) as index:
        texts = index.texts(SPEC)
        naming = {}
        for feature in sorted(wanted):
            phrase = f'"{feature.replace("-", " ")}"'
            naming[feature] = texts.having(phrase, _MOST_LOADED, in_message=True)
        known = index.known({number for numbers in naming.values() for number in numbers})
    labelled = {key for key, words in named.items() if words}
    for feature, numbers in naming.items():
        for key in {known[number].key for number in numbers} - labelled:
            named[key].append(feature)
    return named


def _gap(row: Row, specs: dict[str, TracedSpec], commits: tuple[str, ...]) -> str:
    if not row.objective and not row.feature:
        if not commits and {specs[name].status for name in row.specs} == {"cancelled"}:
            return "cancelled"
        return "" if commits else "no origin, no commit"
    if not row.feature:
        return "no feature"
    if not row.specs:
        return "no spec"
    if not commits:
        return _without_commits({specs[name].status for name in row.specs})
    return "" if row.objective else "no objective"


def _without_commits(statuses: set[str]) -> str:
    if "completed" in statuses:
        return "no commit"
    return "cancelled" if statuses == {"cancelled"} else "not done yet"


def _gaps(made: Trace) -> dict[str, list[str]]:
    """What breaks the thread, by kind."""
    tied = {row.objective for row in made.rows if row.specs}
    objectives = dict.fromkeys(row.objective for row in made.rows if row.objective)
    with_origin = {name for row in made.rows if row.feature for name in row.specs}
    return {
        "objectives_without_specs": [name for name in objectives if name not in tied],
        "features_without_specs": [
            row.feature for row in made.rows if row.feature and not row.specs
        ],
        "specs_without_origin": [
            name
            for name, spec in made.specs.items()
            if name not in with_origin and spec.status != "cancelled"
        ],
        "specs_without_commits": [
            name
            for name, spec in made.specs.items()
            if not spec.commits and spec.status == "completed"
        ],
        "specs_cancelled": [
            name for name, spec in made.specs.items() if spec.status == "cancelled"
        ],
        "commits_without_specs": [one.sha for one in made.recent if not one.specs],
    }


def _specs(rooms: Rooms, own: Repo | None, listed: Listed) -> dict[str, TracedSpec]:
    """All specs with their commits; groups only where they have commits of their own."""
    if rooms.specs is None:
        return {}
    commits = _commits_by_spec(rooms, own) if own else {}
    found: dict[str, TracedSpec] = {}
    for head in rooms.specs.heads(archived=True):
        shas: Sequence[str] = commits.get(head.id, ())
        if not shas and head.status in DONE_STATUSES:
            shas = listed.get(head.id, ())
        if head.type not in GROUP_TYPES or shas:
            found[head.id] = TracedSpec(head.id, head.title or head.id, head.status, tuple(shas))
    return found


def _commits_by_spec(rooms: Rooms, own: Repo) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for sha, message in _naming(rooms, own):
        for ref in specs_in_message(message):
            if ref.how != "revert":
                found[ref.id].append(sha[:12])
    return found


def _naming(rooms: Rooms, own: Repo) -> list[tuple[str, str]]:
    """Commits that name a spec, oldest first."""
    found: Sequence[CommitRecord | Message]
    if rooms.history is not None and rooms.is_indexed(own):
        named = any_phrase(("chant", "spec"), "subject body")
        found = rooms.history.commits_saying(named, [own], with_merges=False)
    else:
        greps = ("-i", "-E", "--grep=chant\\(", "--grep=^([a-z]+-)?spec(-id)?:")
        found = logged(own, "--reverse", "--no-merges", *greps, "HEAD", "--")
    return [(one.sha, f"{one.subject}\n\n{one.body or ''}") for one in found]


def _recent(rooms: Rooms, own: Repo, count: int, listed: Listed) -> list[TracedCommit]:
    """The newest commits with the lines that they added, and their specs."""
    found = []
    for sha, subject, body, date, lines in _recent_messages(rooms, own, count):
        specs = [ref.id for ref in specs_in_message(f"{subject}\n\n{body}")]
        found.append(TracedCommit(sha, subject, date, lines, tuple(specs)))
    listing = specs_by_commit(listed, [one.sha for one in found if not one.specs])
    return [replace(one, specs=one.specs or tuple(listing.get(one.sha, ()))) for one in found]


def _recent_messages(rooms: Rooms, own: Repo, count: int) -> list[SizedMessage]:
    if rooms.history is None or not rooms.is_indexed(own):
        return _recent_by_git(own, count)
    return rooms.history.newest_messages(own.repo_id, count, _BOOKKEEPING)


def _recent_by_git(own: Repo, count: int) -> list[SizedMessage]:
    try:
        out = repo_git(
            own, "log", "--no-merges", "-n", str(count), "--numstat", "-M",
            "--format=%x00%H%x00%at%x00%s%x00%b%x00", "HEAD", "--",
        )  # fmt: skip
    except ClewError:
        return []
    found = []
    values = out.decode("utf-8", "replace").split("\0")[1:]
    for sha, date, subject, body, numbers in zip(*[iter(values)] * 5, strict=False):
        fields = (line.split("\t") for line in numbers.split("\n"))
        lines = sum(
            int(one[0]) for one in fields
            if len(one) == 3 and one[0].isdigit() and not one[2].startswith(_BOOKKEEPING)
        )  # fmt: skip
        found.append(SizedMessage(sha, subject, body, seconds_of(date), lines))
    return found
