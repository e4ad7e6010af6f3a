"""Why is this here: from a line to its commit, spec, run, decision and vision, and onwards."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from clew.history.repo_git import repo_git
from clew.kit.errors import NotFound
from clew.kit.git import GitError
from clew.kit.text.display import clipped
from clew.specs.query.commits import commits_or_none
from clew.thread.budget import fitted
from clew.thread.model import EARLY, FIRST, LAST, LATE, USUAL, Link, Pack
from clew.thread.rooms import Rooms
from clew.thread.why.blame import Blamed, blame_lines, cut_off_at
from clew.thread.why.builder import MOST_TEXT, WhyBuilder, head_of
from clew.thread.why.commits import Commit, read_commit
from clew.thread.why.links import SpecRef, specs_of_commit
from clew.thread.why.paths import directory_story, file_story
from clew.thread.why.target import Target, find_target

BUDGET = 1500
SECTIONS = (
    *(
        "places",
        "line",
        "file",
        "request",
        "session",
        "tried before",
        "commit",
        "message",
        "merged",
        "version",
        "notes",
        "spec",
        "run",
    ),
    *("decision", "vision", "rejected", "issues", "people", "together", "earlier", "later"),
    *("changes", "missing"),
)
_SHALLOW = (
    "this clone is shallow and ends at {sha}, so the line may be older than that. "
    "Fetch the rest: git fetch --unshallow"
)
_TELLING = re.compile(r"\w{2}")
_MOST_COMMITS = 8
_MOST_PLACES = 20


def why(rooms: Rooms, text: str, *, repo: str | None = None, budget: int = BUDGET) -> Pack:
    """The thread behind lines, a file, a symbol, a commit or a spec, within a budget of tokens."""
    with rooms.remembering(f"why {text}"):
        return _followed(rooms, text, repo, budget)


def _followed(rooms: Rooms, text: str, repo: str | None, budget: int) -> Pack:
    target = find_target(rooms, text, repo)
    builder = WhyBuilder(rooms, target.repo, frozenset({target.path}))
    if target.kind == "commit":
        builder.commit(target.commit)
    elif target.kind in ("file", "directory"):
        _add_path(builder, target)
    elif target.kind == "spec":
        _add_spec(builder, target.path)
    elif target.kind == "places":
        _add_places(builder, target)
    else:
        _add_lines(builder, target)
    builder.add_missing()
    builder.statements.sort(key=lambda one: SECTIONS.index(one.section))
    more = {"repo": target.repo.name, "chain": [link.as_data() for link in builder.chain]}
    return fitted(f"Why {target.title}", builder.statements, budget, more)


def _add_spec(builder: WhyBuilder, spec_id: str) -> None:
    """A spec with what it came from, and the newest commits for it."""
    builder.spec(SpecRef(spec_id, "asked"))
    shas = commits_or_none(Path(builder.repo.local_path), spec_id) or []
    for sha in shas[: -_MOST_COMMITS - 1 : -1]:
        found = read_commit(builder.rooms, builder.repo, sha)
        if found is not None:
            builder.say("commit", head_of(found), found.source, USUAL)
    if len(shas) > _MOST_COMMITS:
        more = f"and {len(shas) - _MOST_COMMITS} older commits"
        builder.say("commit", more, f"spec:{spec_id}", LAST)


def _add_lines(builder: WhyBuilder, target: Target) -> None:
    """The reasons for lines: the commit with most of them in full, the others in short."""
    blame = blame_lines(
        builder.repo, target.path, target.start, target.end,
        lambda sha: read_commit(builder.rooms, builder.repo, sha),
    )  # fmt: skip
    place = f"file:{target.title}"
    if blame.uncommitted:
        builder.say("line", _uncommitted(blame.uncommitted), place, FIRST)
    if target.note:
        builder.say("line", target.note, place, LATE)
    counts: Counter[str] = Counter()
    for entry in blame.entries:
        counts[entry.sha] += entry.end - entry.start + 1
    if counts:
        ordered = [sha for sha, _ in counts.most_common()]
        most = [entry for entry in blame.entries if entry.sha == ordered[0]]
        first = next((entry for entry in most if _TELLING.search(entry.text)), most[0])
        builder.own_paths |= {first.path}
        _add_first(builder, target.path, first)
        from clew.thread.why.agent_requests import session_statements

        builder.statements += session_statements(builder.repo, blame.entries)
        _add_others(builder, counts, ordered[1:], place)


def _add_first(builder: WhyBuilder, path: str, first: Blamed) -> None:
    source = f"file:{path}:{first.start}"
    builder.chain.append(
        Link("line", f"{path}:{first.start}", clipped(first.text.strip(), MOST_TEXT))
    )
    builder.say("line", _line_text(first, path), source, FIRST, shrink=True)
    if first.sha in cut_off_at(builder.repo):
        builder.say("line", _SHALLOW.format(sha=first.sha[:12]), source, FIRST)
        return
    found = builder.commit(first.sha)
    if found is not None:
        _add_restored(builder, found, path, first.text)


def _add_others(builder: WhyBuilder, counts: Counter[str], shas: list[str], place: str) -> None:
    for sha in shas[:_MOST_COMMITS]:
        other = read_commit(builder.rooms, builder.repo, sha)
        if other is not None:
            lines = f"{counts[sha]} more line{'s'[: counts[sha] != 1]}"
            builder.say("line", f"{lines}: {head_of(other)}", other.source, USUAL)
    if len(shas) > _MOST_COMMITS:
        builder.say("line", f"and lines of {len(shas) - _MOST_COMMITS} more commits", place, LAST)


def _add_restored(builder: WhyBuilder, commit: Commit, path: str, line: str) -> None:
    """Where a line was born that a commit only brought back by taking back another."""
    undone = commit.named("reverts")
    if not undone or not line.strip():
        return
    try:
        out = repo_git(
            builder.repo, "blame", "-w", "-M", "-C", "--porcelain", "--no-textconv",
            "-L", f"/^{_escaped(line)}$/,+1", f"{undone}^", "--", path,
        )  # fmt: skip
    except GitError:
        return
    born = read_commit(
        builder.rooms, builder.repo, out.split(b" ", 1)[0].decode("ascii", "replace")
    )
    if born is None or born.sha == commit.sha:
        return
    builder.chain.append(Link("commit", f"{born.repo}@{born.sha}", born.subject))
    words = f"the line was there before what is taken back: {head_of(born)}"
    builder.say("earlier", words, born.source, FIRST)
    known = {link.id for link in builder.chain if link.kind == "spec"}
    for ref in specs_of_commit(builder.rooms, born):
        if ref.id not in known:
            builder.spec(SpecRef(ref.id, "restored"))


def _add_places(builder: WhyBuilder, target: Target) -> None:
    """A name that could mean several: none of them is chosen."""
    builder.say("places", target.note, f"symbol:{target.path}", FIRST)
    for place in target.places[:_MOST_PLACES]:
        builder.say("places", place.text, f"file:{place.path}:{place.start}", EARLY)
    more = len(target.places) - _MOST_PLACES
    if more > 0:
        builder.say("places", f"and {more} more", f"symbol:{target.path}", LATE)


def _add_path(builder: WhyBuilder, target: Target) -> None:
    """The reasons for a file or a directory: the commit that added it, and what changed it since."""
    path = target.path
    if target.kind == "file":
        story = file_story(builder.rooms, builder.repo, path)
    else:
        story = directory_story(builder.rooms, builder.repo, path)
    if not story.shas:
        raise NotFound(f"{builder.repo.name} has no commit that touched {path}")
    builder.chain.append(Link(target.kind, path))
    builder.own_paths |= {story.first_path}
    was = f" as {story.first_path}" if story.first_path != path else ""
    came = f"came with the commit below{was}" if story.is_whole else "is older than what is known"
    if target.kind == "directory" and story.is_whole:
        came = f"began with {story.first_path}, in the commit below"
    builder.say("file", f"{path} {came}", f"file:{path}", FIRST)
    builder.commit(story.shas[-1])
    for sha in story.shas[:-1][:_MOST_COMMITS]:
        changed = read_commit(builder.rooms, builder.repo, sha)
        if changed is not None:
            specs = ", ".join(ref.id for ref in specs_of_commit(builder.rooms, changed))
            named = f" (spec {specs})" if specs else ""
            builder.say("changes", f"{head_of(changed)}{named}", changed.source)
    more = len(story.shas) - 1 - _MOST_COMMITS
    if more > 0:
        builder.say(
            "changes", f"{more} earlier commit{'s'[: more != 1]} touched it", f"file:{path}", LATE
        )


def _line_text(entry: Blamed, path: str) -> str:
    text = clipped(entry.text.strip(), MOST_TEXT) or "(an empty line)"
    return f"{text} (then {entry.path}:{entry.line})" if entry.path != path else text


def _uncommitted(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
    return f"not committed yet: line{'s'[: len(numbers) != 1]} {shown}"


def _escaped(line: str) -> str:
    return re.sub(r"([\\.*\[\]^$/])", r"\\\1", line)
