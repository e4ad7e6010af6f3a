"""Whether `why` says what is so: sampled answers, every statement held against git itself.

`python -m benchmarks.rooms.why_truth OUT DIR...` samples 200 targets over the git directories, asks
`why`, and writes a row for each statement: where, which section, which source, and the verdict.
`false`: git says otherwise. `useless`: true, but it tells a reader nothing (a hint, an empty line, what
was told before). The rest is `true`. Texts stay out of the file; shas, paths and lines are in it.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clew.kit.errors import ClewError
from clew.thread.budget import pack_data
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why

ANSWERS = 200
SEED = 20
_KINDS = {"line": 40, "commit": 9, "file": 8, "directory": 3, "symbol": 7}
_HEAD = re.compile(r"([0-9a-f]{12}) (\d{4}-\d\d-\d\d) (.+?): (.*)$", re.DOTALL)
_SHORT = re.compile(r"\b([0-9a-f]{12})\b")
_VERSION = re.compile(r"^v?\d|\d+[._-]\d+")
_CUT = " […]"


@dataclass(frozen=True)
class History:
    """One git directory, asked by git alone."""

    root: Path

    def git(self, *words: str) -> str:
        """What git prints; nothing where it fails."""
        done = subprocess.run(
            ["git", "--literal-pathspecs", *words], cwd=self.root, capture_output=True, check=False
        )
        return done.stdout.decode("utf-8", "replace")

    def succeeds(self, *words: str) -> bool:
        """Whether git says yes."""
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=False)
        return done.returncode == 0

    def message(self, sha: str) -> str:
        """A commit's whole message, blanks made one."""
        return " ".join(self.git("log", "-1", "--format=%B", sha, "--").split())

    def changed(self, sha: str) -> dict[str, str]:
        """The paths of a commit with what happened to each."""
        words = ("log", "-1", "-M", "--name-status", "--format=", "-z", "--first-parent", "-m")
        fields = self.git(*words, sha, "--").split("\0")
        found = {}
        while len(fields) > 1:
            status = fields.pop(0).strip()
            if status[:1] in ("R", "C"):
                fields.pop(0)
            found[fields.pop(0)] = status[:1]
        return found

    def head(self, sha: str) -> tuple[str, str, str]:
        """Day, author and subject of a commit."""
        time, author, subject = (
            self.git("log", "-1", "--format=%at%x00%aN%x00%s", sha, "--").rstrip("\n").split("\0")
        )
        day = datetime.fromtimestamp(int(time), UTC).date().isoformat()
        return day, author, subject


class Judge:
    """The verdict on each statement of one answer."""

    def __init__(self, history: History, target: str, statements: Sequence[dict[str, str]]) -> None:
        self.git = history
        self.target = target
        heads = [one for one in statements if one["section"] == "commit"]
        match = _HEAD.match(heads[0]["text"]) if heads else None
        self.sha = history.git("rev-parse", f"{match[1]}^{{commit}}").strip() if match else ""
        self.subject = match[4] if match else ""

    def verdict(self, one: dict[str, str]) -> str:
        """true, useless or false."""
        check = getattr(self, f"_{one['section']}", None)
        if check is None:
            return "unjudged"
        text = one["text"].removesuffix(_CUT).rstrip(", ")
        return str(check(text, one["source"]))

    def _missing(self, text: str, source: str) -> str:
        return "useless"

    def _places(self, text: str, source: str) -> str:
        place = re.match(r"(\S+):(\d+) ", text)
        if place is None:
            return "true"
        lines = self.git.git("show", f"HEAD:{place[1]}").split("\n")
        name = re.split(r"\.|::|#", self.target)[-1]
        near = "\n".join(lines[int(place[2]) - 1 : int(place[2]) + 3])
        return _true(name in near)

    def _line(self, text: str, source: str) -> str:  # noqa: PLR0911
        others = re.match(r"(\d+) more lines?: (.*)", text, re.DOTALL)
        if others:
            return self._is_head(others[2])
        if text.startswith(("also defined in", "and lines of")):
            return "true"
        place = re.fullmatch(r"file:(.+):(\d+)", source)
        if place is None:
            return "false"
        lines = self.git.git("show", f"HEAD:{place[1]}").split("\n")
        content = " ".join(lines[int(place[2]) - 1].split())
        was = re.search(r" \(then (.+):(\d+)\)$", text)
        shown = " ".join((text[: was.start()] if was else text).split())
        if not content:
            return "useless" if shown.startswith("(an empty line)") else "false"
        if was:
            then = self.git.git("show", f"{self.sha}:{was[1]}").split("\n")
            same = "".join(then[int(was[2]) - 1].split()) == "".join(content.split())
            if not same:
                return "false"
        if not content.startswith(shown.rstrip("….").rstrip()[:150]):
            return "false"
        if not self._is_blamed(place[1], int(place[2])):
            return "false"
        return "true" if re.search(r"\w", content) else "useless"

    def _is_blamed(self, path: str, line: int) -> bool:
        """Whether git blames the commit, too, or the commit added the line's text."""
        words = ("blame", "-w", "--porcelain", f"-L{line},{line}", "HEAD", "--", path)
        if self.git.git(*words)[:40] == self.sha:
            return True
        content = self.git.git("show", f"HEAD:{path}").split("\n")[line - 1]
        added = re.findall(
            r"^\+(.*)", self.git.git("show", "-w", "--format=", self.sha), re.MULTILINE
        )
        return "".join(content.split()) in "".join("".join(one.split()) for one in added)

    def _is_head(self, text: str) -> str:
        match = _HEAD.match(text)
        if match is None:
            return "false"
        day, author, subject = self.git.head(match[1])
        shown = re.sub(r" \(spec [^)]*\)$", "", match[4])
        said = _same(shown, subject) or _within(shown, self.git.message(match[1]))
        return _true((day, author) == (match[2], match[3]) and said)

    def _commit(self, text: str, source: str) -> str:
        return self._is_head(text)

    def _changes(self, text: str, source: str) -> str:
        more = re.fullmatch(r"(\d+) earlier commits? touched it", text)
        if more is None:
            sha = _SHORT.search(text)
            touched = self.git.changed(sha[1]) if sha else {}
            return self._is_head(text) if touched else "false"
        if (self.git.root / self.target).is_dir():
            whole = self.git.git("log", "--format=%H", "HEAD", "--", self.target)
        else:
            whole = self.git.git("log", "--follow", "--format=%H", "HEAD", "--", self.target)
        return _true(abs(len(whole.split()) - 9 - int(more[1])) <= 0.1 * int(more[1]) + 3)

    def _file(self, text: str, source: str) -> str:
        if "is older than what is known" in text:
            return "true"
        began = re.search(r" began with (.+), in the commit below$", text)
        if began:
            folder = began[1].rpartition("/")[0]
            whole = self.git.git("log", "--format=%H", self.sha, "--", folder).split()
            return _true(whole == [self.sha] and self.git.changed(self.sha)[began[1]] in "ARC")
        was = re.search(r" came with the commit below as (.+)$", text)
        return _true(self.git.changed(self.sha).get(was[1] if was else self.target) == "A")

    def _message(self, text: str, source: str) -> str:
        words = " ".join(text.split())
        if words not in self.git.message(self.sha):
            return "false"
        return "useless" if _same(words, self.subject) else "true"

    def _merged(self, text: str, source: str) -> str:
        merge = self.git.git("rev-parse", source.rpartition("@")[2]).strip()
        message = self.git.message(merge)
        request = re.match(r"pull request ([#!]\d+)(?: “(.*)”)?", text, re.DOTALL)
        if request:
            if request[1] not in message or not _within(request[2] or "", message):
                return "false"
        elif _HEAD.match(text):
            if self._is_head(text) == "false":
                return "false"
        elif not _within(text, message):
            return "false"
        return _true(merge == self.sha or self._brought(merge))

    def _brought(self, merge: str) -> bool:
        before = self.git.succeeds("merge-base", "--is-ancestor", self.sha, f"{merge}^1")
        after = self.git.succeeds("merge-base", "--is-ancestor", self.sha, merge)
        return after and not before

    def _version(self, text: str, source: str) -> str:
        words = ("for-each-ref", "--sort=creatordate", "--format=%(refname:strip=2)")
        every = self.git.git(*words, "refs/tags").split()
        own = self.git.git(*words, f"--contains={self.sha}", "refs/tags").split()
        versions = [tag for tag in every if _VERSION.search(tag)]
        known = [tag for tag in own if tag in versions or not versions]
        if text == "in no tag yet":
            return _true(not known)
        said = text.removeprefix("first in ").rpartition(" (")[0]
        same = [tag for tag in known if _named(tag) == _named(said)]
        if said in known[:1] and _named(said) not in ("", *self._folders(self.sha)):
            return _true(_named(said) not in self._folders("HEAD") or len(same) == len(known))
        return _true(said in same[:1])

    def _folders(self, commit: str) -> set[str]:
        paths = (
            self.git.changed(commit)
            if commit == self.sha
            else self.git.git("ls-tree", "-r", "--name-only", commit).split("\n")
        )
        return {part for path in paths for part in path.split("/")[:-1]}

    def _notes(self, text: str, source: str) -> str:
        ref, _, words = text.partition(": ")
        return _true(
            _within(
                words, " ".join(self.git.git("notes", f"--ref={ref}", "show", self.sha).split())
            )
        )

    def _issues(self, text: str, source: str) -> str:
        message = self.git.message(self.sha)
        svn = re.fullmatch(r"was Subversion revision (\d+) of (\S+)", text)
        if svn:
            return _true(f"git-svn-id: {svn[2]}@{svn[1]} " in message)
        how, ref = text.split(" ", 1)
        name = ref.removeprefix("#")
        if not re.search(rf"(?:#|GH-)?{re.escape(name)}\b", message, re.IGNORECASE):
            return "false"
        closing = rf"(?i)\b(?:fix|close|resolve)\w*(?: issue)?:? (?:#|GH-)?{re.escape(name)}"
        if how == "closes":
            return _true(re.search(closing, message) is not None)
        return "useless" if ref in self.subject else "true"

    def _people(self, text: str, source: str) -> str:
        plain = re.sub(r" \([^)]*\)", "", text)
        named = [name for role in plain.split("; ") for name in re.split(r" by |, ", role)[1:]]
        return _true(all(name in self.git.message(self.sha) for name in named))

    def _together(self, text: str, source: str) -> str:
        changed = self.git.changed(self.sha)
        bulk = re.fullmatch(r"the commit changed (\d+) files", text)
        if bulk:
            return _true(len(changed) == int(bulk[1]))
        listed = text.split(": ", 1)[1]
        paths = re.sub(r" and \d+ more$", "", listed).split(", ")
        return _true(all(path in changed for path in paths))

    def _earlier(self, text: str, source: str) -> str:
        return self._relation(text, source)

    def _later(self, text: str, source: str) -> str:
        return self._relation(text, source)

    def _relation(self, text: str, source: str) -> str:
        other = (
            self.git.git("rev-parse", source.rpartition("@")[2]).strip()
            or source.rpartition("@")[2]
        )
        if text.startswith("the line was there before"):
            return self._is_head(text.split(": ", 1)[1])
        issue = re.match(r"names (\S+), too: ", text)
        if issue:
            name = re.split(r"[#/]", issue[1])[-1]
            return _true(re.search(rf"\b{re.escape(name)}\b", self.git.message(other)) is not None)
        incoming = re.match(r"(?:is|was) (?!picked from)", text) is not None
        speaker, named = (other, self.sha) if incoming else (self.sha, other)
        message = self.git.message(speaker)
        quoted = re.search(r": “(.*)”$", text, re.DOTALL)
        if quoted and not _within(quoted[1], message):
            return "false"
        shas = [
            one
            for one in re.findall(r"\b[0-9a-f]{7,40}\b", message.lower())
            if named.startswith(one)
        ]
        by_subject = re.match(
            r'(?:Revert|fixup!|squash!|amend!) "?(.+?)"?$', self.git.head(speaker)[2]
        )
        repeated = by_subject is not None and self.git.head(named)[2].startswith(by_subject[1][:40])
        if not shas and not repeated:
            return "false"
        return self._says(text, message)

    def _says(self, text: str, message: str) -> str:
        """Whether the message has a word for what the statement calls the relation."""
        words = {
            r"(?:was )?revert": r"(?i)revert",
            r"was picked": r"(?i)cherry picked|backport",
            r"(?:was )?fixe[sd]": r"(?i)fix",
            r"(?:is named|names) as the cause": r"(?i)regress|brok|bug|introduced|caused",
            r"(?:was followed|follows) up": r"(?i)follow",
        }
        for statement, word in words.items():
            if re.match(statement, text):
                return _true(re.search(word, message) is not None)
        return "true"


def _named(tag: str) -> str:
    """What a tag names before its number."""
    return re.split(r"[@/_.-]*v?\d", tag.rpartition("/")[2], maxsplit=1)[0]


def _true(holds: object) -> str:
    return "true" if holds else "false"


def _same(shown: str, text: str) -> bool:
    return (
        " ".join(shown.split()).rstrip("….").lower()[:150]
        == " ".join(text.split()).rstrip("….").lower()[:150]
    )


def _within(words: str, message: str) -> bool:
    """Whether a message has the words; what was cut out of their middle may be anything."""
    parts = re.split(r"\.\.\.|…", " ".join(words.split()))
    return all(part.strip() in message for part in parts)


def targets(history: History, count: int, dice: random.Random) -> Iterator[tuple[str, str]]:
    """Kinds and targets of one history."""
    files = [line for line in history.git("ls-files").split("\n") if line]
    texts = [
        path
        for path in files
        if re.search(r"\.(py|c|h|rs|sh|rst|txt|md|js|ts|vue|java|go|perl)$", path)
    ]
    commits = history.git("rev-list", "HEAD").split()
    folders = sorted({path.rpartition("/")[0] for path in texts} - {""})
    whole = sum(_KINDS.values())
    for kind, share in _KINDS.items():
        made = 0
        while made < round(share * count / whole):
            target = _target(history, kind, dice, (texts, commits, folders))
            if target:
                made += 1
                yield kind, target


def _target(
    history: History, kind: str, dice: random.Random, known: tuple[list[str], list[str], list[str]]
) -> str:
    texts, commits, folders = known
    if kind == "commit":
        return dice.choice(commits)
    if kind == "directory":
        return dice.choice(folders)
    path = dice.choice(texts)
    if kind == "file":
        return path
    lines = history.git("show", f"HEAD:{path}").split("\n")
    if kind == "line":
        telling = [n for n, line in enumerate(lines, start=1) if re.search(r"\w", line)]
        return f"{path}:{dice.choice(telling)}" if telling else ""
    named = [
        match[1]
        for line in lines
        if (
            match := re.match(
                r"\s*(?:[a-z]+ ){0,3}(?:def|class|fn|struct|function|interface|func|enum) (\w{4,})",
                line,
            )
        )
    ]
    return dice.choice(named) if named else ""


def judged(
    root: Path, database: str | None, count: int, dice: random.Random
) -> Iterator[list[str]]:
    """A row for each statement of each answer."""
    history = History(root)
    rooms = open_rooms({"project": str(root), **({"db": database} if database else {})})
    for kind, target in targets(history, count, dice):
        try:
            data = pack_data(why(rooms, target))
        except ClewError as error:
            yield [root.name, kind, target, "refused", type(error).__name__, "true"]
            continue
        judge = Judge(history, target, data["statements"])
        for one in data["statements"]:
            source = re.sub(r"\s", "_", one["source"])
            yield [root.name, kind, target, one["section"], source, judge.verdict(one)]


def main(out: str, roots: Sequence[str], databases: Sequence[str]) -> None:
    """Write the file, and say how many of each verdict there are."""
    dice = random.Random(SEED)
    rows: list[list[str]] = []
    for number, root in enumerate(roots):
        history = History(Path(root))
        rows.append([Path(root).name, "at", history.git("rev-parse", "HEAD").strip(), "", "", ""])
        count = ANSWERS // len(roots) + (number < ANSWERS % len(roots))
        database = databases[number] if number < len(databases) else None
        rows += judged(Path(root), database, count, dice)
    text = "".join("\t".join(row) + "\n" for row in rows)
    Path(out).write_text(
        "repository\tkind\ttarget\tsection\tsource\tverdict\n" + text, encoding="utf-8"
    )
    verdicts = Counter(row[5] for row in rows if row[5])
    by_section = Counter((row[3], row[5]) for row in rows if row[5] not in ("", "true"))
    print(dict(verdicts), dict(by_section))


if __name__ == "__main__":
    main(
        sys.argv[1],
        [one for one in sys.argv[2:] if not one.endswith(".db")],
        [one for one in sys.argv[2:] if one.endswith(".db")],
    )
