"""From a commit to its spec, its run, the decisions behind it and the vision it serves.

A message names its spec by its subject (`chant(ID): …`), by a squashed or merged subject, or by a
trailer; a spec names its commits in its `commits` field; a spec names its origin by documents
(`origin`, `informed_by`) and by ids (labels and text).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from clew.history.repo_git import repo_git
from clew.kit.errors import ClewError
from clew.kit.paths import ARCHIVE, SPECS
from clew.specs.files.ids import ancestors_of, is_usable
from clew.specs.files.parse import Identity, Unreadable, make_spec
from clew.specs.model import Spec
from clew.specs.query.commits import specs_listing
from clew.thread.rooms import Rooms
from clew.thread.why.commits import Commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.advisors.documents.model import Item
    from clew.thread.why.documents import Decision, Documents
    from clew.work.model import Run

_ID = r"([A-Za-z0-9][A-Za-z0-9._-]{2,199}?)"
# What may come before a subject: nothing, a bullet of a squash, or words of git.
_WAYS = (
    ("subject", re.compile(rf"\A(?:(?:fixup|squash|amend)! )*chant\({_ID}\):")),
    ("revert", re.compile(rf'\A(?:Revert|Reapply) "chant\({_ID}\):')),
    ("squash", re.compile(rf"^\s*(?:[-*]\s+)?chant\({_ID}\):", re.MULTILINE)),
    ("merge", re.compile(rf"\AMerge (?:branch )?'?chant/{_ID}(?=['\s:]|$)")),
    ("trailer", re.compile(rf"^(?:(?:Chant-|Clew-)?Spec(?:-Id)?): *{_ID} *$", re.MULTILINE)),
)


@dataclass(frozen=True)
class SpecRef:
    """A spec that a commit belongs to, and how that is known."""

    id: str
    how: str


@dataclass
class SpecThread:
    """Everything that hangs on a spec: its runs, decisions, features and objectives."""

    id: str
    spec: Spec | None = None
    spec_from: str = ""  # the commit that the spec was read from, where it is no longer in the tree
    runs: list[Run] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    features: list[tuple[Item, str]] = field(default_factory=list)
    objectives: list[tuple[Item, str]] = field(default_factory=list)
    vision: str = ""

    @property
    def title(self) -> str:
        """The spec's title."""
        return (self.spec.title if self.spec else None) or self.id


def specs_in_message(message: str) -> list[SpecRef]:
    """The specs that a message names, the surest way first, each once."""
    found: dict[str, SpecRef] = {}
    for how, pattern in _WAYS:
        for name in pattern.findall(message):
            found.setdefault(name, SpecRef(name, how))
    return list(found.values())


def specs_of_commit(rooms: Rooms, commit: Commit) -> list[SpecRef]:
    """The specs that a commit belongs to, by its message or by what the specs say."""
    found = specs_in_message(commit.message)
    if found or rooms.specs is None:
        return found
    return [SpecRef(name, "commits") for name in specs_listing(rooms.specs, commit.sha)]


def thread_of_spec(rooms: Rooms, spec_id: str, documents: Documents | None = None) -> SpecThread:
    """What a spec came from and how it was worked."""
    from clew.thread.why.documents import read_documents

    thread = SpecThread(spec_id)
    known = read_documents(rooms.project) if documents is None else documents
    if rooms.specs is not None:
        thread.spec = _load(rooms, spec_id)
    if thread.spec is None:
        thread.spec, thread.spec_from = _from_git(rooms, spec_id)
    with rooms.journal() as journal:
        thread.runs = journal.runs(spec_id=spec_id) if journal is not None else []
    _follow(thread, _texts(rooms, thread.spec, spec_id), known)
    return thread


def _load(rooms: Rooms, spec_id: str) -> Spec | None:
    assert rooms.specs is not None
    try:
        return rooms.specs.read(rooms.specs.head(spec_id))
    except (ClewError, OSError):
        return None


def _from_git(rooms: Rooms, spec_id: str) -> tuple[Spec | None, str]:
    """A spec that is no longer in the tree, as it was last committed, and that commit."""
    own = rooms.own_repo()
    if own is None or not is_usable(spec_id):
        return None, ""
    folders = (SPECS, f"{ARCHIVE}/{spec_id[:10]}", ARCHIVE)
    places = (f"{folder}/{spec_id}.md" for folder in folders)
    asked = ("log", "-1", "--diff-filter=AM", "--no-renames", "--name-only", "--format=%H", "HEAD")
    try:
        sha, path = os.fsdecode(repo_git(own, *asked, "--", *places)).split()[:2]
        raw = repo_git(own, "cat-file", "blob", f"{sha}:{path}")
        identity = Identity(0, 0, len(raw), 0, settled=True)
        return make_spec(raw, path, identity, archived=path.startswith(ARCHIVE)), sha
    except (ClewError, Unreadable, ValueError):
        return None, ""


def _texts(rooms: Rooms, spec: Spec | None, spec_id: str) -> list[str]:
    """The fields in which a spec, and the groups that it is in, say where they come from."""
    family = [spec, *(_load(rooms, name) for name in ancestors_of(spec_id) if rooms.specs)]
    fields: list[str] = []
    for one in family:
        if one is not None:
            names = ("origin", "informed_by", "labels", "tracks", "context")
            fields += [word for name in names for word in one.words(name)]
            fields.append(_without_output(one.body))
    return fields


def _without_output(body: str) -> str:
    return re.split(r"^## (?:Agent )?Output\b", body, maxsplit=1, flags=re.MULTILINE)[0]


def _follow(thread: SpecThread, texts: list[str], documents: Documents) -> None:
    """Take up what the texts name, and what those name in turn."""
    from clew.advisors.documents.markdown import REFERENCE

    whole = "\n".join(texts)
    named = list(dict.fromkeys(REFERENCE.findall(whole)))
    features = [one for one in named if one.startswith("FE-")]
    objectives = [one for one in named if one.startswith("BO-")]
    components = [one for one in named if one.startswith("CP-")]
    for item, _ in _items(documents, components, texts):
        features += item.references("features")
    # A feature says which objective it serves; its spec may speak of others in passing.
    labelled = [one for one in features if one in texts]
    thread.features = _items(documents, labelled or features, texts)
    served = [one for item, _ in thread.features for one in item.references("objective")]
    thread.objectives = _items(documents, served or objectives, texts)
    texts_and_decisions = "\n".join(
        [whole, *(item.get("decision") for item, _ in _items(documents, named, texts))]
    )
    decisions = documents.named_decisions(texts_and_decisions)
    ids = {item.id for item, _ in (*thread.features, *thread.objectives)}
    decisions += [one for one in documents.decisions if ids & one.mentions]
    thread.decisions = list({one.path: one for one in decisions}.values())
    paths = [path for _, path in (*thread.objectives, *thread.features)]
    paths += [found.path for found in documents.vision if found.path in whole]
    thread.vision = paths[0] if paths else ""


def _items(documents: Documents, ids: list[str], paths: list[str]) -> list[tuple[Item, str]]:
    found = (documents.item(one, paths) for one in dict.fromkeys(ids))
    return [one for one in found if one is not None]
