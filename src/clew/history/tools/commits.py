"""Clew's own questions about single commits. They only read; those that start git say so."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    STRINGS,
    Command,
    boolean,
    nullable,
    record,
    records,
    string,
    texts,
)
from clew.history.tools.declaration import (
    COMMIT,
    REPO,
    REV,
    SHA,
    limit_schema,
    page_schema,
    question,
)
from clew.history.tools.following import hunks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.history.tools.declaration import Find
    from clew.kit.jsontext import JsonObject


_SHOWN_FILES = 12
_SHOWN_OF_FIX = 8  # lines of a suspect's hunk
_MATCHES = 5
_SURE = 0.5  # a likelier suspect is looked at alone
_LEAST_LIKELY, _BESIDE_THE_FIRST = 0.04, 0.2  # of suspects that are told beside the first
_HOW = {"shallow": "the clone ends here: an older commit may have written the line"}


def _similar() -> Find:
    from clew.history.questions.similar import similar

    return similar


def _links() -> Find:
    from clew.history.questions.links import commit_links

    return commit_links


def _culprit() -> Find:
    from clew.history.questions.culprit import culprit

    return culprit


def _fixed_by() -> Find:
    from clew.history.questions.culprit import fixed_by

    return fixed_by


def _hunks() -> Find:
    from clew.history.questions.hunks import commit_hunks

    return commit_hunks


def _by_issue() -> Find:
    from clew.history.questions.issues import by_issue

    return by_issue


def _contains() -> Find:
    from clew.history.questions.contains import contains

    return contains


def _hunks_of_suspect(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    if not found["commits"] or found["commits"][0]["evidence"] == "shallow":
        return None
    first, *others = found["commits"]
    if others and first["likely"] is not None and first["likely"] < _SURE:
        beside = {"repo": found["repo"], "shas": [one["sha"] for one in found["commits"][:3]]}
        matches = first["matches"]
        return "hunks", beside | ({"text": matches[0]} if matches else {"code_only": True})
    asked = {"repo": found["repo"], "shas": [first["sha"]]}
    return "hunks", asked | ({"paths": [first["path"]]} if first["path"] else {"code_only": True})


def _hunks_of_linked(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    linked = [link["sha"] for link in found["links"] if link["subject"] is not None]
    return ("hunks", {"repo": found["repo"], "shas": linked[:1]}) if linked else None


def _what_became_of_it(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    """The hunks that are missing, or else what came after."""
    if any(commit["left_out"] for commit in found["commits"]):
        return "hunks", {**asked, "max_chars": 4 * asked.get("max_chars", 2500)}
    first = next(iter(found["commits"]), None)
    return first and ("fixed_by", {"repo": found["repo"], "sha": first["sha"]})


def _fixes_of_it(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject]:
    return "fixed_by", {"repo": found["repo"], "sha": found["sha"]}


def _suspects(found: JsonObject) -> Iterable[str]:
    """A line for each suspect; below it the lines that say most of why."""
    from clew.history.lookup import reason_of
    from clew.kit.times import day_text

    if found["commits"][0]["evidence"] == "described":
        yield from _described(found["commits"])
        return
    for one in found["commits"]:
        how = _HOW.get(one["evidence"], one["evidence"])
        yield f"{one['sha'][:12]} {day_text(one['date'])} {one['subject']} ({how})"
        if one["message"]:
            said = reason_of("\n".join(one["message"].split("\n")[1:]))
            yield from (f"    {line}" for line in said.split("\n") if line)
        if one["hunk"]:
            yield f"  {one['path']}:{one['line']}"
            yield from one["hunk"].split("\n")[:_SHOWN_OF_FIX]


def _described(suspects: list[JsonObject]) -> Iterable[str]:
    """How sure the first is, and the lines that decide; a line for each that may be it instead."""
    from clew.kit.times import day_text

    first = suspects[0]["likely"]
    for place, one in enumerate(suspects):
        if place and one["likely"] < max(_LEAST_LIKELY, first * _BESIDE_THE_FIRST):
            break
        sure = f"right in {round(10 * one['likely'])} of 10 such cases" if not place else ""
        sure = sure or f"{one['likely']:.0%}"
        yield f"{one['sha'][:12]} {day_text(one['date'])} {one['subject']} ({sure})"
        fits = ", ".join(one["matches"][: _MATCHES if not place else 3])
        if not one["path"]:
            continue
        if place:
            yield f"  {one['path']}:{one['line']}: {fits}"
            continue
        stands = f"; stands today at line {one['stands']}" if one["stands"] else ""
        yield f"  {one['path']}:{one['line']}{stands}; it has of the report: {fits}"
        for line in one["hunk"].split("\n"):
            has = any(word in line or word in line.lower() for word in one["matches"])
            yield f"{'>' if has else ' '} {line}"


def _suspect_hunks(found: JsonObject) -> Iterable[str]:
    """Message and hunk of who wrote the lines; of a report's suspects, the rows say enough."""
    for one in found["commits"]:
        if one["message"] and one["evidence"] != "described":
            yield from (f"    {line}" for line in one["message"].split("\n")[1:])
            if one["hunk"]:
                yield f"{one['path']}:{one['line']}\n{one['hunk']}"


def _whole_hunks(found: JsonObject) -> Iterable[str]:
    """Message, files and hunks of each commit as people read them."""
    from clew.history.lookup import message_lines
    from clew.kit.times import day_text

    for commit in found["commits"]:
        yield f"{commit['sha'][:12]} {day_text(commit['date'])} {commit['subject']}"
        said = message_lines(commit["subject"], commit["body"])[1:]
        yield from (f"    {line}" for line in said if line)
        files = commit["files"]
        yield from (f"  {name}" for name in files[:_SHOWN_FILES])
        if len(files) > _SHOWN_FILES:
            yield f"  and {len(files) - _SHOWN_FILES} more files"
        if not (files or commit["hunks"] or commit["left_out"]):
            yield "No hunk changes this text."
        path = None
        for one in commit["hunks"]:
            if one["path"] != path:
                path = one["path"]
                yield path
            yield one["hunk"]
        if commit["left_out"]:
            yield f"{commit['left_out']} more hunks; --max-chars, --path or --text shows them."


def _issues(found: JsonObject) -> list[str]:
    named = " ".join(issue["ref"] for issue in found["issues"])
    return [f"Issues: {named}"] if named else []


COMMIT_TOOLS = (
    question(
        "similar",
        "Past commits most like a commit (repo and sha) or like a diff",
        _similar,
        Command(
            "similar",
            "Show commits similar to one or to a diff.",
            "Show commits similar to a commit or to a diff (--diff FILE, - for standard input).",
            arguments="[REPO] [SHA]",
            options={
                "diff": "--diff FILENAME: Compare with this diff instead of a commit.",
                "repos": "--in NAME: Only these repositories.",
            },
            table="commits: date repo commit:sha author score subject words",
        ),
        then=hunks_of,
        title="Similar commits",
        properties={
            "repo": REPO,
            "sha": SHA,
            "diff": string("A unified diff instead"),
            "repos": STRINGS,
            "limit": limit_schema(10),
        },
        output=page_schema(
            "commits",
            {**COMMIT, "score": NUMBER, "words": STRINGS, "paths": STRINGS},
            words=STRINGS,
        ),
    ),
    question(
        "links",
        "What a commit reverts, fixes or picks, what does so to it, and its issues",
        _links,
        Command(
            "links",
            "Show reverts, cherry-picks, fixes and issues.",
            "Show reverts, fixes and cherry-picks of and by a commit, and its issues.",
            table="links: link:kind commit:sha date subject words",
            notes=_issues,
        ),
        then=_hunks_of_linked,
        title="Linked commits",
        properties={"repo": REPO, "sha": SHA, "limit": limit_schema(50)},
        required=("repo", "sha"),
        output=page_schema(
            "links",
            {**texts("kind sha words"), "subject": nullable(STRING), "date": nullable(INTEGER)},
            **texts("repo sha subject"),
            issues=records({**texts("kind ref"), "closes": BOOLEAN}),
        ),
    ),
    question(
        "culprit",
        "Commits that may have caused a bug: they wrote the lines of a fix or FILE:START-END, or fit"
        " a report",
        _culprit,
        Command(
            "culprit",
            "Find the commit behind a bug.",
            "Find who wrote the lines that a fix changes, or the lines FILE:START-END; or which"
            " commits fit a bug report of a few words or its whole text.",
            arguments="REPO TARGET...",
            table="commits: date commit:sha evidence lines place:path:line subject",
            notes=_suspect_hunks,
            lines=_suspects,
        ),
        then=_hunks_of_suspect,
        title="Find the culprit",
        properties={
            "repo": REPO,
            "target": string("SHA of the fix, FILE:START-END, or the text of a report"),
            "rev": REV,
            "limit": limit_schema(5),
        },
        required=("repo", "target"),
        output=page_schema(
            "commits",
            {
                **texts("sha subject author"),
                "date": INTEGER,
                "evidence": STRING,
                "lines": INTEGER,
                "path": nullable(STRING),
                "line": nullable(INTEGER),
                "hunk": nullable(STRING),
                "message": nullable(STRING),
                "likely": nullable(NUMBER),
                "matches": STRINGS,
                "stands": nullable(INTEGER),
            },
            **texts("repo target at"),
        ),
    ),
    question(
        "fixed_by",
        "Later commits that fix a commit: they name it, or remove its lines",
        _fixed_by,
        Command(
            "fixed-by",
            "Find the fixes of a commit.",
            "Find later commits that say they fix a commit, or fix lines that it wrote.",
            table="commits: date commit:sha evidence path line subject",
        ),
        then=hunks_of,
        title="Fixes of a commit",
        properties={"repo": REPO, "sha": SHA, "limit": limit_schema(5)},
        required=("repo", "sha"),
        output=page_schema(
            "commits",
            {
                "sha": STRING,
                "subject": nullable(STRING),
                "date": nullable(INTEGER),
                "evidence": STRING,
                "path": nullable(STRING),
                "line": nullable(INTEGER),
                "text": nullable(STRING),
            },
            **texts("repo sha"),
        ),
    ),
    question(
        "hunks",
        "Messages, files and whole hunks of commits, by path or text",
        _hunks,
        Command(
            "hunks",
            "Show what commits changed, hunk by hunk.",
            "Show messages, files and whole hunks of commits.",
            arguments="REPO SHAS...",
            options={
                "code_only": "Leave out tests, prose and generated files.",
                "text": "Only hunks that change this text.",
                "max_chars": "Maximum size of all hunks together.",
            },
            notes=_whole_hunks,
        ),
        then=_what_became_of_it,
        title="Hunks of commits",
        properties={
            "repo": REPO,
            "shas": STRINGS,
            "paths": STRINGS,
            "code_only": boolean("Without tests, prose and generated files"),
            "text": string("Only hunks that change it"),
            "max_chars": {**INTEGER, "default": 2500},
        },
        required=("repo", "shas"),
        output=record(
            {
                "repo": STRING,
                "total": INTEGER,
                "commits": records(
                    {
                        **texts("sha subject"),
                        "body": nullable(STRING),
                        "author": STRING,
                        "date": INTEGER,
                        "files": STRINGS,
                        "hunks": records(texts("path hunk")),
                        "left_out": INTEGER,
                    }
                ),
            }
        ),
    ),
    question(
        "by_issue",
        "Commits whose message names an issue",
        _by_issue,
        Command(
            "by-issue",
            "Show the commits of an issue.",
            "Show commits that name an issue: #123, GH-123, ABC-123 or its address.",
            table="commits: date repo commit:sha author closes subject",
        ),
        then=hunks_of,
        title="Commits of an issue",
        properties={
            "issue": string("#123, GH-123, ABC-123 or a URL"),
            "repos": STRINGS,
            "limit": limit_schema(50),
        },
        required=("issue",),
        output=page_schema("commits", {**COMMIT, "closes": BOOLEAN}, issue=STRING),
    ),
    question(
        "contains",
        "Branches and tags that contain a commit. Reads the repository",
        _contains,
        Command(
            "contains",
            "Show which refs contain a commit.",
            "Show which branches and tags contain a commit. Reads the repository.",
            table="refs: ref indexed",
        ),
        then=_fixes_of_it,
        title="Refs with a commit",
        properties={"repo": REPO, "sha": SHA, "limit": limit_schema(100)},
        required=("repo", "sha"),
        output=page_schema("refs", {"ref": STRING, "indexed": BOOLEAN}, **texts("repo sha")),
    ),
)
