"""What hangs on a commit: its spec, run, decisions and vision, and the commits around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from clew.history.model import Repo
from clew.history.questions.issues import by_issue
from clew.history.questions.links import BACK, DECLARED, commit_links, named_commits
from clew.history.search.pathkind import path_kind
from clew.history.store.interface import HistoryStore
from clew.kit.errors import ClewError
from clew.kit.text.display import clipped
from clew.kit.times import day_text
from clew.thread.model import EARLY, FIRST, LATE, USUAL, Link, Statement
from clew.thread.recall.git_messages import Message, logged
from clew.thread.rooms import Rooms
from clew.thread.why.arrival import Arrival, arrival_of
from clew.thread.why.commits import Commit, is_behind, read_commit, without_trailers
from clew.thread.why.links import SpecRef, SpecThread, specs_of_commit, thread_of_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.thread.recall.commit_search import Related
    from clew.thread.why.documents import Documents

_MOST_FILES = 4
_FEW = 8  # files: what fixes such a commit most likely concerns each
_BOOKKEEPING = ".chant/"
_MOST_LATER = 8
_MOST_TOLD = 40
_MOST_OF_ISSUE = 6
MOST_TEXT = 200
_MOST_ATTEMPTS = 5
RELATIONS = {
    "reverts": "reverts",
    "partly_reverts": "reverts a part of",
    "cherry_picked_from": "was picked from",
    "fixes": "fixes",
    "fixup_of": "completes",
    "squash_of": "completes",
    "reverted_by": "was reverted by",
    "partly_reverted_by": "was reverted in part by",
    "cherry_picked_to": "was picked as",
    "fixed_by": "was fixed by",
    "fixes_regression_in": "names as the cause",
    "regression_named_by": "is named as the cause by",
    "follow_up_to": "follows up on",
    "followed_up_by": "was followed up by",
    "mentions": "mentions",
    "mentioned_by": "is mentioned by",
    "fixup": "was completed by",
    "squash": "was completed by",
}
# What a message says in its own words is told in them.
_QUOTED = frozenset(
    {"fixes_regression_in", "follow_up_to", "mentions"}
    | {"regression_named_by", "followed_up_by", "mentioned_by"}
)
_EARLIER = frozenset(BACK)
_HOW = {
    "subject": "named by the commit's subject",
    "squash": "named in the squashed message",
    "merge": "named by the merge",
    "trailer": "named by a trailer",
    "revert": "whose work this takes back or brings back",
    "commits": "lists this commit",
    "pick": "named by the commit that this one was picked from",
    "restored": "named by the commit that first brought the line",
    "asked": "asked for",
}


# A message of nothing else is told as what it closes.
_ONLY_ISSUES = re.compile(r"(?:(?:close|fixe?|resolve)[sd]? +#\d+[\s,.]*)+", re.IGNORECASE)
_REVERTS = re.compile(r"^This reverts commit [0-9a-f]{7,64}\.?$\n?", re.MULTILINE)
_LIST = re.compile(r"^\s*(?:[-*#•]|\d+[.)]) ?", re.MULTILINE)
_LONGEST_TOPIC = 400
_CONFLICTS = re.compile(r"^#? ?Conflicts:", re.MULTILINE)
# What tests a program is one: no picture, and no settings of those who run it.
_PROGRAM = re.compile(
    r"\.(?!(?:png|jpe?g|gif|ya?ml|toml|json|md|rst|txt|cfg|ini|html|whl|zip|gz|xz|bz2|pdf|bin|patch|diff|snap|lock|csv|tsv)$)\w+$"
)


@dataclass
class WhyBuilder:
    """The statements of one answer, and the chain from line to vision."""

    rooms: Rooms
    repo: Repo
    own_paths: frozenset[str] = frozenset()
    statements: list[Statement] = field(default_factory=list)
    chain: list[Link] = field(default_factory=list)
    _documents: Documents | None = None

    @property
    def documents(self) -> Documents:
        """The project's documents, read once."""
        from clew.thread.why.documents import read_documents

        if self._documents is None:
            self._documents = read_documents(self.rooms.project)
        return self._documents

    def say(
        self, section: str, text: str, source: str, priority: int = USUAL, *, shrink: bool = False
    ) -> None:
        """Add a statement."""
        self.statements.append(Statement(section, text, source, priority, shrink))

    def commit(self, sha: str) -> Commit | None:
        """A commit and everything that hangs on it."""
        found = read_commit(self.rooms, self.repo, sha)
        if found is None:
            return None
        self.chain.append(Link("commit", f"{found.repo}@{found.sha}", found.subject))
        self.say("commit", head_of(found), found.source, FIRST)
        prose = _REVERTS.sub("", found.prose).strip()  # told with what it names
        if prose and not _ONLY_ISSUES.fullmatch(prose):
            self.say("message", prose, found.source, EARLY, shrink=True)
        refs = self._specs(found)
        for ref in refs:
            self.spec(ref)
        self._around(found)
        if not refs and self.rooms.specs is not None:
            self.say("spec", "No spec names this commit, and it names none", found.source, EARLY)
        return found

    def _specs(self, commit: Commit) -> list[SpecRef]:
        refs = specs_of_commit(self.rooms, commit)
        picked = commit.named("cherry_picked_from")
        if not refs and picked:
            original = read_commit(self.rooms, self.repo, picked)
            if original is not None:
                refs = [SpecRef(ref.id, "pick") for ref in specs_of_commit(self.rooms, original)]
        return refs

    def spec(self, ref: SpecRef) -> None:
        """A spec, how it was worked, and what it came from."""
        thread = thread_of_spec(self.rooms, ref.id, self.documents)
        source = f"spec:{ref.id}"
        self.chain.append(Link("spec", ref.id, thread.title))
        if thread.spec is None:
            self.say("spec", f"{ref.id} ({_HOW[ref.how]}); its file is not here", source, EARLY)
        else:
            head = thread.spec.head
            criteria = f"{head.criteria_checked}/{head.criteria_total} criteria checked"
            state = f"archived, {head.status}" if head.archived else head.status
            gone = (
                f"; no longer in the tree, as of {thread.spec_from[:12]}"
                if thread.spec_from
                else ""
            )
            how = "" if ref.how == "asked" else f"; {_HOW[ref.how]}"
            text = f"{ref.id} “{thread.title}”, {state}, {criteria}{how}{gone}"
            self.say("spec", text, source, FIRST)
        self._runs(thread)
        self._origin(thread)

    def _runs(self, thread: SpecThread) -> None:
        if not thread.runs:
            return
        latest = thread.runs[0]
        done = next((run for run in thread.runs if run.phase == "finished"), latest)
        self.chain.append(Link("run", done.run_id, done.agent))
        costs = [run.cost_usd for run in thread.runs if run.cost_usd is not None]
        cost = f", ${sum(costs):.2f} in all" if costs else ""
        model = f", model {done.model}" if done.model else ""
        if done.session_id:
            model += f", session {done.agent}:{done.session_id}"
        attempts = len(thread.runs)
        text = (
            f"agent {done.agent}{model}, attempt {done.attempt} of {attempts}, {done.phase}"
            f" {(done.ended_at or done.started_at or done.created_at)[:16]}{cost}"
        )
        self.say("run", text, f"run:{done.run_id}", EARLY)
        failed = [run for run in thread.runs if run.failure and run.run_id != done.run_id]
        for run in failed[:_MOST_ATTEMPTS]:
            reason = clipped(" ".join((run.failure or "").split()), MOST_TEXT)
            self.say("run", f"attempt {run.attempt} failed: {reason}", f"run:{run.run_id}", LATE)

    def _origin(self, thread: SpecThread) -> None:
        for decision in thread.decisions:
            source = f"decision:{decision.path}"
            self.chain.append(Link("decision", decision.path, f"{decision.name} {decision.title}"))
            outcome = f": {decision.outcome}" if decision.outcome else ""
            text = f"{decision.name} {decision.title} ({decision.status or 'no status'}){outcome}"
            self.say("decision", text, source, EARLY, shrink=True)
            for option in decision.rejected():
                self.say("rejected", f"{clipped(option, MOST_TEXT)} ({decision.name})", source)
        for kind, items in (("feature", thread.features), ("objective", thread.objectives)):
            for item, path in items:
                self.chain.append(Link(kind, f"{path}#{item.id}", item.text))
                text, source = f"{item.id} {item.text}", f"vision:{path}#{item.id}"
                self.say("vision", text, source, FIRST, shrink=True)
        if not thread.features and not thread.objectives and thread.spec is not None:
            self._no_vision(thread)

    def _no_vision(self, thread: SpecThread) -> None:
        if thread.vision:
            self.chain.append(Link("vision", thread.vision))
            self.say("vision", f"It came from {thread.vision}", f"vision:{thread.vision}", EARLY)
        elif self.documents.vision:
            self.rooms.lack(
                f"spec:{thread.id}",
                f"The spec names no feature of the vision. Add it: clew edit {thread.id}"
                " (labels: [FE-1], origin: [docs/vision.md])",
            )

    def _around(self, commit: Commit) -> None:
        for words in commit.rejected():
            self.say("rejected", words, commit.source, USUAL)
        changed = [path for path, _, _ in commit.files]
        asked = [path for path in self.own_paths if path] or changed
        arrival = arrival_of(self.repo, commit.sha, (asked, changed))
        self._arrived(commit, arrival)
        if commit.people:
            self.say("people", "; ".join(commit.people), commit.source, USUAL)
        if commit.subversion:
            self.say("issues", f"was Subversion {commit.subversion}", commit.source, LATE)
        told = arrival.request.ref if arrival.request else ""
        for issue in commit.issues:
            if issue["ref"] != told and issue["ref"] not in commit.subject:
                if not issue["closes"] and issue["ref"] in commit.prose:
                    continue
                closes = "closes " if issue["closes"] else "names "
                self.say("issues", f"{closes}{issue['ref']}", commit.source, USUAL)
        self._together(commit)
        self._linked(commit, {arrival.merge.sha} if arrival.merge else set())

    def _arrived(self, commit: Commit, arrival: Arrival) -> None:
        """Its pull request or merge, the first version with it, and what was noted on it."""
        request, merge, tag = arrival.request, arrival.merge, arrival.tag
        by = f" (merge {head_of(merge, subject=False)})" if merge else ""
        if request is not None:
            bare = commit.subject.removesuffix(f"({request.ref})").rstrip()
            known = ("", commit.subject, bare, commit.prose)
            title = "" if request.title in known else f" “{request.title}”"
            if title or by or not re.search(rf"{request.ref}\b", commit.subject):
                source = merge.source if merge else commit.source
                self.say("merged", f"pull request {request.ref}{title}{by}", source, EARLY)
        elif merge is not None:
            self.say("merged", head_of(merge), merge.source, EARLY)
            if words := _topic(merge):
                self.say("merged", words, merge.source, USUAL)
        if tag is not None:
            text = f"first in {tag.name} ({day_text(tag.date)})"
            self.say("version", text, f"tag:{tag.name}", USUAL)
        elif arrival.has_tags:
            self.say("version", "in no tag yet", commit.source, LATE)
        for ref, words in arrival.notes:
            self.say("notes", f"{ref}: {words}", commit.source, USUAL, shrink=True)

    def _together(self, commit: Commit) -> None:
        asked = any(path.startswith(_BOOKKEEPING) for path in self.own_paths)
        others = [
            path
            for path, _, _ in commit.files
            if path not in self.own_paths and (asked or not path.startswith(_BOOKKEEPING))
        ]
        if not others:
            return
        if len(commit.files) > _MOST_TOLD:
            words = f"the commit changed {len(commit.files)} files"
            self.say("together", words, commit.source, LATE)
            return
        tests = [path for path in others if path_kind(path) == "test" and _PROGRAM.search(path)]
        rest = [path for path in others if path not in tests]
        for words, paths in (
            ("changed in the same commit", rest),
            ("tests changed with it", tests),
        ):
            if paths:
                more = f" and {len(paths) - _MOST_FILES} more" if len(paths) > _MOST_FILES else ""
                text = f"{words}: {', '.join(paths[:_MOST_FILES])}{more}"
                self.say("together", text, commit.source, shrink=True)

    def _linked(self, commit: Commit, told: set[str]) -> None:
        """What refers to the commit, and what it refers to, but for what was told."""
        seen = {commit.sha}
        for kind, sha, subject, date, words in self._links(commit):
            if sha in seen or not (kind in _EARLIER or self._concerns(commit, kind, sha)):
                continue
            seen.add(sha)
            section = "earlier" if kind in _EARLIER else "later"
            day = f"{day_text(date)} " if date else ""
            text = f"{RELATIONS[kind]} {sha[:12]} {day}{subject or ''}".rstrip()
            quoted = f": “{words}”" if kind in _QUOTED and words else ""
            self.say(section, f"{text}{quoted}", f"commit:{commit.repo}@{sha[:12]}", EARLY)
        history = self.rooms.history
        if history is None or not commit.is_indexed:
            return
        seen |= told
        for issue in commit.issues[:2]:
            others = [
                one for one in _of_issue(history, issue["ref"], self.repo.name)
                if one["sha"] not in seen
            ]  # fmt: skip
            for other in others if len(others) <= _MOST_OF_ISSUE else ():
                seen.add(other["sha"])
                section = "earlier" if is_behind(self.repo, other["sha"], commit.sha) else "later"
                words = f"names {issue['ref']}, too: {other['sha'][:12]} {day_text(other['date'])} {other['subject']}"
                self.say(section, words, f"commit:{commit.repo}@{other['sha'][:12]}", LATE)

    def _concerns(self, commit: Commit, kind: str, sha: str) -> bool:
        """Whether what came after a commit of many files touched those that are asked about."""
        asked = [path for path in self.own_paths if path]
        if not asked or len(commit.files) <= _FEW or kind == "reverted_by":
            return True
        other = read_commit(self.rooms, self.repo, sha)
        touched = [path for path, _, _ in other.files] if other else asked
        return any(f"{path}/".startswith(f"{one}/") for path in touched for one in asked)

    def _links(self, commit: Commit) -> Iterator[tuple[str, str, str | None, int | None, str]]:
        history = self.rooms.history
        if history is not None and commit.is_indexed:
            found = commit_links(history, self.repo.name, commit.sha, limit=_MOST_LATER)
            for link in found["links"]:
                yield link["kind"], link["sha"], link["subject"], link["date"], link["words"]
            return
        for kind, sha, words in named_commits(commit.message):
            other = read_commit(self.rooms, self.repo, sha)
            if other is not None:
                yield kind, other.sha, other.subject, other.date, words
            elif kind in DECLARED:
                yield kind, sha, None, None, words
        yield from self._later_in_git(commit)

    def _later_in_git(
        self, commit: Commit
    ) -> Iterator[tuple[str, str, str | None, int | None, str]]:
        """Later commits that name this one, asked of git itself: nothing else knows them."""
        options = ("-n", str(_MOST_LATER), "-F", f"--grep={commit.sha[:7]}")
        for one in logged(self.repo, *options, "HEAD", f"^{commit.sha}", "--"):
            for kind, sha, words in named_commits(f"{one.subject}\n\n{one.body}"):
                if commit.sha.startswith(sha):
                    yield BACK[kind], one.sha, one.subject, one.date, words

    def add_missing(self) -> None:
        """What is not there, and the commands that would add it."""
        missing = self.rooms.missing
        self.statements += [one for source, one in missing.items() if source != "specs"]


def _of_issue(history: HistoryStore, ref: str, repo: str) -> list[dict[str, Any]]:
    try:
        found = by_issue(history, ref, repos=[repo], limit=_MOST_LATER)
    except ClewError:
        return []
    return list(found["commits"])


def _topic(merge: Message) -> str:
    """What a merge says of its topic in a paragraph; a tag's words are of everything in it."""
    words = without_trailers(merge.body.strip().split("\n\n")[0])
    words = _CONFLICTS.split(words)[0].strip()
    if merge.subject.startswith("Merge tag ") or _LIST.search(words):
        return ""
    return words if len(words) <= _LONGEST_TOPIC else ""


def head_of(commit: Commit | Message | Related, *, subject: bool = True) -> str:
    """A commit in one line."""
    head = f"{commit.sha[:12]} {day_text(commit.date)} {commit.author}"
    return f"{head}: {clipped(commit.subject, MOST_TEXT)}" if subject else head
