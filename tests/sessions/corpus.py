"""A history with known truth: real programs, a person, a formatter and bots write one project.

`python -m tests.sessions.corpus` makes it, and prints how many lines are attributed rightly: by the
text that was written, and by time windows.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from clew.sessions.attribution.files import Repository
from clew.sessions.index.sqlite import opened_index
from clew.sessions.index.update import Updater
from clew.sessions.model import Filter
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why
from tests.sessions.programs import Desk, missing
from tests.support.models.editor import Step
from tests.support.models.service import model_service

SIX = ("claude", "codex", "opencode", "gemini", "copilot", "qwen")
PERSON, BOT = "person", "bot"
_EDITS = {"opencode": 2}  # it takes a snapshot of the project for every step
_NOUNS = [
    "order",
    "cart",
    "price",
    "stock",
    "buyer",
    "basket",
    "refund",
    "label",
    "parcel",
    "coupon",
    "ledger",
    "invoice",
]
_VERBS = [
    "load",
    "save",
    "check",
    "merge",
    "split",
    "count",
    "find",
    "list",
    "clear",
    "apply",
    "trim",
    "sort",
]
_COMMON = (
    ["    if not {0}:", "        return None"],
    ["    try:", "        value = int({0})", "    except ValueError:", "        return None"],
    ["    for item in {0}:", "        if not item:", "            continue"],
    ["    result = []", "    for item in {0}:", "        result.append(item)"],
)


def _words(line):
    """The words of a line that a formatter keeps."""
    return re.findall(r"\w+|[^\w\s,;'\"()]", line)


@dataclass
class World:
    """The project, and who wrote each line of each file."""

    desk: Desk
    chance: random.Random
    truth: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    edits: int = 0
    number: int = 0
    requests: list[str] = field(default_factory=list)
    meant: dict[str, str] = field(
        default_factory=dict
    )  # by a mere consent: what was asked before it

    def function(self):
        """A function as anybody would write it: some lines of its own, some that many have."""
        self.number += 1
        noun, verb = self.chance.choice(_NOUNS), self.chance.choice(_VERBS)
        common = [line.format(noun) for line in self.chance.choice(_COMMON)]
        own = self.chance.randint(100, 999)
        return [
            f"def {verb}_{noun}_{self.number}({noun}, limit={own}):",
            f'    """{verb.title()} the {noun} up to {own}."""',
            *common,
            f"    total = len({noun}) * {own} + limit",
            "    return total",
            "",
            "",
        ]

    def request(self, name, verb, path):
        """A request that nobody made before."""
        text = f"{verb} {path} for case {len(self.requests) + 1}, please"
        self.requests.append(text)
        return text

    def write(self, path, lines, owner):
        """Note that a file was written."""
        self.truth[path] = [(line, owner) for line in lines]

    def change(self, path, old, new, owner):
        """Note that lines of a file were put in place of others."""
        have = self.truth[path]
        texts = [text for text, _ in have]
        at = next(n for n in range(len(texts)) if texts[n : n + len(old)] == old)
        made = [(line, owner) for line in new]
        blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        for block in blocks:
            for n in range(block.size):
                made[block.b + n] = have[at + block.a + n]
        have[at : at + len(old)] = made

    def reread(self, path):
        """Take over what a formatter did: a line belongs to whoever wrote most of its words.

        Formatters keep the words and their order, so each word of the new text has its writer. Whole
        blocks are not enough: one block of changed lines has lines of several writers. A line of
        brackets alone belongs to what it closes. Where a person's words are in a joined line, it is
        not an agent's any more.
        """
        text = (self.desk.root / path).read_text(encoding="utf-8")
        old = [(word, owner) for line, owner in self.truth[path] for word in _words(line)]
        new = [(word, n) for n, line in enumerate(text.splitlines()) for word in _words(line)]
        owners = [Counter() for _ in text.splitlines()]
        pairs = SequenceMatcher(None, [w for w, _ in old], [w for w, _ in new], autojunk=False)
        for block in pairs.get_matching_blocks():
            for n in range(block.size):
                owners[new[block.b + n][1]][old[block.a + n][1]] += 1
        made = []
        for line, found in zip(text.splitlines(), owners, strict=True):
            best = found.most_common(1)[0][0] if found else made[-1][1] if made else PERSON
            made.append((line, PERSON if PERSON in found else best))
        self.truth[path] = made

    def text(self, path):
        """A file as it should be."""
        return "".join(f"{line}\n" for line, _ in self.truth[path])

    def check(self):
        """The truth is about the files that are there."""
        for path in self.truth:
            found = (self.desk.root / path).read_text(encoding="utf-8")
            assert found == self.text(path), path

    def save(self, path):
        """A person's or a bot's editor writes the file."""
        file = self.desk.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(self.text(path), encoding="utf-8")

    def commit(self, message, *words, name="Ada", email="ada@example.com"):
        """Commit everything."""
        self.desk.run("git", "add", "-A", "--", ".", ":!.aider*")
        who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email}
        self.desk.run("git", "commit", "-q", "--allow-empty", "-m", message, *words, variables=who)


def _module(world, path, asked):
    """A new module; the step that writes it."""
    lines = [f'"""Module {path}."""', "", ""]
    for _ in range(4):
        lines += world.function()
    lines = lines[:-2]
    world.write(path, lines, asked)
    world.edits += 1
    return Step("write", path, new="".join(f"{line}\n" for line in lines))


def _place(world, path, asked):
    """A changed function; the step that changes it."""
    texts = [text for text, _ in world.truth[path]]
    heads = [n for n, text in enumerate(texts) if text.startswith("def ")]
    at = world.chance.choice(heads)
    end = next((n for n in range(at + 1, len(texts)) if texts[n] == ""), len(texts))
    old, new = texts[at:end], texts[at:end]
    if world.chance.random() < 0.5 and new[-2].startswith("    total") and new[-2][-1] != "(":
        new[-2] = f"    total = limit - {world.chance.randint(1000, 9999)} + len(str(limit))"
    else:
        new[-1:-1] = [f"    total += {world.chance.randint(1000, 9999)}  # {asked[:20]}"]
    world.change(path, old, new, asked)
    world.edits += 1
    before, after = ("".join(f"{line}\n" for line in some) for some in (old, new))
    return Step("edit", path, old=before, new=after)


def agent_edits(world, name, path, count=5, shell=""):
    """An agent changes places of a module in one turn; a module that is not there is made first."""
    asked = world.request(name, "Change", path)
    steps = [] if path in world.truth else [_module(world, path, asked)]
    steps += [_place(world, path, asked) for _ in range(count)]
    if shell:
        steps.append(Step("shell", command=shell))
    world.desk.ask(name, asked, steps)
    if not shell:
        world.check()


def person_edits(world, path):
    """A person adds a function, and changes a number inside somebody's line."""
    have = world.truth[path]
    own = world.function()
    have += [("", PERSON), ("", PERSON), *((line, PERSON) for line in own[:-2])]
    numbers = [n for n, (text, _) in enumerate(have) if "    total = len(" in text]
    at = world.chance.choice(numbers)
    have[at] = (have[at][0].replace(" + limit", " - limit - 1"), PERSON)
    world.save(path)


def bot_commits(world, number):
    """A bot raises versions."""
    world.write("versions.txt", [f"web=={number}.{n}.0" for n in range(6)], BOT)
    world.save("versions.txt")
    who = {"name": "dependabot[bot]", "email": "bot@example.com"}
    world.commit(f"Bump web to {number}", **who)


def make(world):
    """At least 300 edits by six programs in 60 commits, and what people do to history."""
    names = world.desk.names
    world.write("README.md", ["A shop.", "", "return None"], PERSON)
    world.save("README.md")
    world.commit("Begin")
    for turn in range(5):
        for n, name in enumerate(names):
            path = f"shop/{name}_{turn % 2}.py"
            agent_edits(world, name, path, _EDITS.get(name, 11))
            if (turn + n) % 3 == 0:  # in the agent's commit, or in one of its own
                person_edits(world, path)
            world.commit(f"Work on {path} ({turn})")
            person_edits(world, path)
            world.commit(f"By hand in {path} ({turn})")
        bot_commits(world, turn)
        for happens in _HISTORY[turn::5]:
            happens(world, turn)
        world.check()
    return world


def _squash(world, turn):
    """Two sessions on a branch, squashed into one commit."""
    desk, names = world.desk, world.desk.names
    desk.run("git", "checkout", "-q", "-b", f"side{turn}")
    for n in (0, 1):
        agent_edits(world, names[(turn + n) % len(names)], f"shop/{names[n]}_0.py", 3)
        world.commit(f"Side {turn} {n}")
    desk.run("git", "checkout", "-q", "main")
    desk.run("git", "merge", "-q", "--squash", f"side{turn}")
    world.commit(f"Squashed {turn}")


def _fixup(world, turn):
    """A fixup, put into its commit by a rebase."""
    desk, names = world.desk, world.desk.names
    path = f"shop/{names[2]}_0.py"
    agent_edits(world, names[3], path, 2)
    world.commit(f"To be fixed {turn}")
    agent_edits(world, names[4], path, 2)
    world.commit(f"fixup! To be fixed {turn}")
    quiet = {"GIT_SEQUENCE_EDITOR": ":", "GIT_EDITOR": ":"}
    desk.run("git", "rebase", "-q", "-i", "--autosquash", "HEAD~3", variables=quiet)


def _pick(world, turn):
    """A commit picked from a branch, and the commit amended."""
    desk, names = world.desk, world.desk.names
    desk.run("git", "checkout", "-q", "-b", f"pick{turn}")
    agent_edits(world, names[5], f"shop/{names[1]}_0.py", 3)
    world.commit(f"Picked {turn}")
    desk.run("git", "checkout", "-q", "main")
    desk.run("git", "cherry-pick", f"pick{turn}")
    desk.run("git", "commit", "-q", "--amend", "-m", f"Picked {turn}, with another message")


def _rename(world, turn):
    """A file gets another name, and is changed by a person in the same commit."""
    names = world.desk.names
    old, new = f"shop/{names[0]}_1.py", f"shop/{names[0]}_1_{turn}.py"
    if old in world.truth:
        world.desk.run("git", "mv", old, new)
        world.truth[new] = world.truth.pop(old)
        person_edits(world, new)
        world.commit(f"Rename {old}")


def _format(world, turn):
    """An agent runs a formatter over what it and others wrote; the next one joins lines again."""
    ruff = Path(sys.executable).parent / "ruff"
    for name, width in zip(world.desk.names[1:4], (30, 40, 100 if turn else 30), strict=True):
        path = f"shop/{name}_0.py"
        shell = f"{ruff} format --line-length {width} --isolated {path}"
        agent_edits(world, name, path, 2, shell=shell)
        world.reread(path)
        world.commit(f"Format {path}")


def _together(world, turn):
    """Two sessions in one commit."""
    names = world.desk.names
    for n in (3, 4):
        agent_edits(world, names[n], f"shop/{names[n]}_0.py", 3)
    person_edits(world, f"shop/{names[4]}_0.py")
    world.commit(f"Two at once {turn}")


def _consent(world, turn):
    """A person asks, the agent tells its plan, the person says yes."""
    name, path = "claude", "shop/claude_0.py"
    asked = world.request(name, "Plan a change of", path)
    told = world.desk.ask(name, asked, [])
    session = re.search(r'"session_id":"([^"]+)"', told)[1]
    yes = f"yes{'!' * turn}, go on"
    world.meant[yes] = asked
    world.desk.ask(name, yes, [_place(world, path, yes) for _ in range(2)], session)
    world.check()
    world.commit(f"As planned {turn}")


_HISTORY = (_format, _squash, _fixup, _pick, _rename, _together, _format, _format, _consent)


@dataclass
class Score:
    """How many lines are attributed, and how many of those rightly."""

    right: int = 0
    wrong: int = 0
    agents: int = 0
    bot_wrong: int = 0
    kinds: Counter = field(default_factory=Counter)
    mistakes: list = field(default_factory=list)

    def add(self, owner, asked, what=""):
        """Count one line by its truth and the request that was found."""
        is_agents = owner not in (PERSON, BOT)
        self.agents += is_agents
        if asked is None:
            if is_agents:
                self.mistakes.append(("missed", *what))
            return
        is_right = is_agents and asked == owner
        self.right += is_right
        self.wrong += not is_right
        self.bot_wrong += owner == BOT
        if not is_right:
            self.mistakes.append(("wrong", *what, owner, asked))

    @property
    def precision(self):
        """The share of right ones among the attributed."""
        return self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self):
        """The share of an agent's lines that were found."""
        return self.right / max(self.agents, 1)

    def __str__(self):
        """The figures on one line."""
        return (
            f"precision {self.precision:.4f}, recall {self.recall:.4f}, "
            f"{self.right + self.wrong} attributed of {self.agents} by agents, "
            f"bot lines wrong {self.bot_wrong}"
        )


def judge(world):
    """The score of attribution by text, and by time windows."""
    by_text, by_time = Score(), Score()
    with opened_index() as index:
        Updater(index, {}, world.desk.home).update(world.desk.root)
        project = os.path.realpath(world.desk.root)
        turns = {}
        for one in index.sessions(Filter(project), 100_000):
            for turn in index.turns(one.id):
                turns[one.id, turn.number] = turn
        times = sorted((turn.time, turn) for turn in turns.values())
        repository = Repository(index, world.desk.root)
        for path, truth in world.truth.items():
            lines = repository.blame(path)
            assert [line.text for line in lines] == [text for text, _ in truth], path
            for line, (text, owner) in zip(lines, truth, strict=True):
                origin = line.origin if line.origin and line.origin.is_agents else None
                found = turns[origin.session, origin.turn].request if origin else None
                by_text.add(owner, found, (path, line.number, text, origin))
                by_text.kinds[line.origin.kind if line.origin else "none"] += 1
                by_time.add(owner, _by_time(repository, line, path, times))
    return by_text, by_time


def quoted(world, count=60):
    """Of so many lines by agents: how often `why` quotes a request, and how often the right one."""
    known = [
        (path, number, world.meant.get(owner, owner))
        for path, truth in world.truth.items()
        for number, (text, owner) in enumerate(truth, 1)
        if owner not in (PERSON, BOT) and text.strip()
    ]
    rooms = open_rooms({"project": str(world.desk.root)})
    given = right = 0
    for path, number, wanted in world.chance.sample(known, count):
        said = [
            one.text
            for one in why(rooms, f"{path}:{number}").statements
            if one.section == "request"
        ]
        given += bool(said)
        right += any(wanted in text for text in said)
    return given, right


def _by_time(repository, line, path, times, window=60.0):
    """The last turn before the commit that touched the file, as others do it."""
    committed = repository._times[line.commit].committed
    at = bisect_left(times, committed + 2, key=lambda one: one[0])
    for time, turn in reversed(times[:at]):
        if committed - time > window:
            return None
        if path in turn.files:
            return turn.request
    near = times[at - 1] if at else None
    return near[1].request if near and committed - near[0] <= window else None


def main(directory, names=SIX, seed=7):
    """Make the corpus and judge it."""
    os.environ["HOME"] = str(directory / "home")
    os.environ["CLEW_HOME"] = str(directory / "home" / ".clew")
    with model_service() as service:
        world = World(Desk(directory, service, names), random.Random(seed))
        world.desk.make()
        make(world)
    by_text, by_time = judge(world)
    commits = int(world.desk.run("git", "rev-list", "--count", "HEAD"))
    return world, commits, by_text, by_time


if __name__ == "__main__":
    absent = missing(SIX)
    if absent:
        sys.exit(f"Not installed: {', '.join(absent)}; `make agents` installs them")
    made, commits, text_score, time_score = main(Path(tempfile.mkdtemp(prefix="clew-corpus-")))
    print(f"{made.edits} edits, {len(made.requests)} requests, {commits} commits, six programs")
    print(f"by text: {text_score}; evidence {dict(text_score.kinds)}")
    print(f"by time: {time_score}")
    print("quoted, right:", quoted(made))
    for mistake in text_score.mistakes[:20]:
        print("  ", mistake)
