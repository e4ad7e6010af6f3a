"""Clew's own questions about history. They only read.

Required arguments go to the function that answers by position, the others by name. The command
that asks a question is declared with it.
"""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    STRINGS,
    Command,
    boolean,
    integer,
    nullable,
    numbers,
    one_of,
    records,
    string,
    texts,
)
from clew.history.tools.declaration import (
    COMMIT,
    REPO,
    REV,
    SINCE,
    UNTIL,
    history_tool,
    limit_schema,
    page_schema,
    question,
)
from clew.history.tools.following import first_hunks, hunks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.history.tools.declaration import Find
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

_CHANGED_LINES: JsonObject = {
    **numbers("added removed"),
    "lines": records({"path": STRING, "line": INTEGER, **texts("sign text")}),
}
_PATH = string("File, from the repository's root")
_MODE = one_of("hybrid", "semantic", "words")
_LINE_COMMIT: JsonObject = {**texts("sha subject author email"), "date": INTEGER}
_RANKED: JsonObject = {"score": NUMBER, "found_by": STRINGS}
_SEVERAL_SIGNS, _LIKELY_FILES, _MOST_WORDS = 3, 5, 20
_SIGNS = {
    "called": "its name says it",
    "has": "has the name in question",
    "words": "changed by commits that say the same",
}
_HOW: JsonObject = {"mode": STRING, "model": nullable(STRING), "skipped": STRINGS}


def _search_semantic() -> Find:
    from clew.history.semantic.search import search_semantic

    return search_semantic


def search_memory(arguments: JsonObject, call: Call) -> Answer:
    """Search agents' notes; only a person at the command line names other directories."""
    import os

    from clew.history.semantic.notes import search_memory as search
    from clew.kit.answer import Answer

    named = call.settings.get("memory", "").split(os.pathsep)
    return Answer.of(search(**arguments, directories=[name for name in named if name]))


def _list_repos() -> Find:
    from clew.history.sync.freshness import list_repos

    return list_repos


def _pickaxe() -> Find:
    from clew.history.questions.pickaxe import find_changes

    return find_changes


def _file_history() -> Find:
    from clew.history.questions.file_history import file_history

    return file_history


def _blame() -> Find:
    from clew.history.questions.blame import blame

    return blame


def _grep() -> Find:
    from clew.history.questions.grep import grep

    return grep


def _line_history() -> Find:
    from clew.history.questions.blame import line_history

    return line_history


def _owners() -> Find:
    from clew.history.questions.owners import owners

    return owners


def _co_change() -> Find:
    from clew.history.questions.cochange import co_change

    return co_change


def _hotspots() -> Find:
    from clew.history.questions.hotspots import hotspots

    return hotspots


def _unseen(found: JsonObject) -> Iterable[str]:
    """What the table does not say, and what was not looked at."""
    if found["total"] > len(found["commits"]) > 1:
        yield "The last one listed is the first of all."
    if found["unsearched"]:
        from clew.history.search.unsearched import unsearched_line

        yield unsearched_line(found)
    elif not found["complete"]:
        yield "The search was cut short: narrow it with --path, --since or --until."


def _partners(found: JsonObject) -> Iterable[str]:
    """The files, and why each: how often with the path, or what speaks for it, and how sure it is."""
    files = found["files"]
    if any(one["signs"] for one in files):
        several = len(files[0]["signs"]) >= _SEVERAL_SIGNS
        yield (
            "Several signs agree on the first: of such first three, 7 of 10 hold the file."
            if several
            else "Weak: of such first three, 1 of 10 hold the file."
        )
        files = files[:_LIKELY_FILES]
    for one in files:
        why = [_SIGNS[sign] for sign in one["signs"] if sign in _SIGNS]
        if one["names"]:
            why.append(f"changed with {' '.join(one['names'][:2])}")
        if one["support"]:
            why.append(f"in {one['support']} of {found['commits']} commits of its files")
        yield f"{one['path']} ({'; '.join(why)})" if why else one["path"]


def _by_file(found: JsonObject) -> Iterable[str]:
    """The lines below their files, and the files of which no line is shown."""
    path = within = None
    for line in found["lines"]:
        if line["path"] != path:
            path, within = line["path"], None
            yield path
        if line["within"] not in ("", within):
            within = line["within"]
            yield f"    in {within}"
        wrote = f"  ({line['sha'][:10]} {line['subject']})" if line["sha"] else ""
        yield f"{line['number']:6}: {line['text']}{wrote}"
    if not found["lines"]:
        yield "Nothing found."
    shown = {line["path"] for line in found["lines"]}
    rest = [f"{one['path']} ({one['lines']})" for one in found["files"] if one["path"] not in shown]
    if found["more_files"]:
        rest.append(f"{found['more_files']} more files")
    if rest:
        yield f"Also in: {', '.join(rest)}"
    if found["total"] > len(found["lines"]):
        yield f"{len(found['lines'])} of {found['total']} lines; --path and --limit choose others."
    if not found["complete"]:
        yield "There are more: longer texts and --path look at all of them."


def _culprit_of_hit(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    first = next(iter(found["lines"]), None)
    if first is None:
        return None
    return "culprit", {"repo": found["repo"], "target": f"{first['path']}:{first['number']}"}


def _culprit_of_line(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    first = next(iter(found["lines"]), None)
    if first is None:
        return None
    place = f"{found['path']}:{first['start']}-{first['end']}"
    rev = {"rev": asked["rev"]} if asked.get("rev", "HEAD") != "HEAD" else {}
    return "culprit", {"repo": found["repo"], "target": place, **rev}


def _busiest_below(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    paths = {"paths": [found["path"]]} if found["path"] else {}
    return ("hotspots", {"repos": [found["repo"]], **paths}) if found["owners"] else None


def _surer_files(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    """The first file's history; where little speaks for it, the lines that have the words asked."""
    first = next(iter(found["files"]), None)
    if asked.get("about") and (first is None or len(first["signs"]) < _SEVERAL_SIGNS):
        from clew.history.ranking.question import IS_NAME, WRITTEN_NAME
        from clew.kit.text.tokens import telling_words

        names = [name for name in WRITTEN_NAME.findall(asked["about"]) if IS_NAME.search(name)]
        words = sorted(telling_words(asked["about"], _MOST_WORDS), key=len)[-2:]
        return "grep", {"repo": found["repo"], "texts": names[:2] or words}
    return first and ("file_history", {"repo": found["repo"], "path": first["path"]})


def _bus_factor(found: JsonObject) -> Iterable[str]:
    if not found["owners"]:
        yield "No commit of this branch touched it: `clew log` shows what there is."
        return
    yield f"Bus factor: {found['bus_factor']}"
    if found["mailmap"]:
        again = f"commitmux sync --full --repo {found['repo']}"
        yield f"Same name, several addresses. If one person, add to .mailmap, then '{again}':"
        yield from (f"  {line}" for line in found["mailmap"])


def _owners_of_first(found: JsonObject, asked: JsonObject) -> tuple[str, JsonObject] | None:
    first = next(iter(found["paths"]), None)
    return first and ("owners", {"repo": first["repo"], "path": first["path"]})


def _model(found: JsonObject) -> list[str]:
    """By which model, and what could not be used."""
    model = [f"Model: {found['model']}"] if found["model"] else []
    return [*model, *(f"Left out: {reason}" for reason in found["skipped"])]


QUESTION_TOOLS = (
    question(
        "search_semantic",
        "Commits that fit a description, by meaning and by any of its words",
        _search_semantic,
        Command(
            "semantic",
            "Search commits by meaning.",
            "Search commits by a description: by meaning and by words.",
            arguments="QUERY...",
            table="commits: date repo commit:sha author score found_by subject",
            notes=_model,
        ),
        then=hunks_of,
        title="Search by meaning",
        properties={
            "query": string("What you look for, in a sentence"),
            "mode": _MODE,
            "repos": STRINGS,
            "paths": STRINGS,
            "since": SINCE,
            "limit": limit_schema(10),
        },
        required=("query",),
        output=page_schema("commits", {**COMMIT, **_RANKED}, **_HOW),
    ),
    history_tool(
        "search_memory",
        "Sections of the Markdown notes that agents keep",
        search_memory,
        command=Command(
            "search-memory",
            "Search agents' notes.",
            "Search the Markdown notes that agents keep as their memory, section by section.",
            arguments="QUERY...",
            options={"project": "--project NAME: Only this project's notes."},
            settings=("memory",),
            table="sections: project place:source:line heading score found_by",
            notes=_model,
        ),
        title="Search memory",
        properties={
            "query": string("What you look for, in a sentence"),
            "mode": _MODE,
            "project": string("Only this project's notes"),
            "limit": limit_schema(10),
        },
        required=("query",),
        output=page_schema(
            "sections",
            {
                **texts("source project heading"),
                "line": INTEGER,
                "text": STRING,
                "is_whole": BOOLEAN,
                **_RANKED,
            },
            **_HOW,
            files=INTEGER,
        ),
        original=False,
    ),
    question(
        "list_repos",
        "Indexed repositories: commits, last sync, indexed tip, current head, stale or not",
        _list_repos,
        Command(
            "list-repos",
            "List repositories, fresh or stale.",
            "List repositories with what is indexed and whether the index is stale.",
            table="repos: repo:name commits:commit_count last_synced:last_synced_at indexed:tip"
            " now:head stale behind",
            given={"behind": True},
        ),
        title="List repositories",
        properties={"limit": limit_schema(100), "behind": boolean("Also count missing commits")},
        output=page_schema(
            "repos",
            {
                **texts("name local_path"),
                "commit_count": INTEGER,
                "last_synced_at": nullable(INTEGER),
                "last_error": nullable(STRING),
                "ref": STRING,
                "tip": nullable(STRING),
                "head": nullable(STRING),
                "stale": nullable(BOOLEAN),
                "behind": nullable(INTEGER),
            },
        ),
    ),
    question(
        "pickaxe",
        "Commits whose diff added, removed or moved a text (git log -S; regex: -G), newest first",
        _pickaxe,
        Command(
            "pickaxe",
            "Show when a text was added or removed.",
            "Show commits that added, removed or moved a text: the newest, and the first of all.",
            options={
                "regex": "TEXT is a regular expression.",
                "direction": "Which changes to include.",
            },
            table="commits: date repo commit:sha author +:added -:removed path:lines subject",
            notes=_unseen,
        ),
        then=first_hunks,
        title="When a text came or went",
        properties={
            "text": string("Part of a line"),
            "regex": boolean("text is a Python regex"),
            "direction": one_of("both", "added", "removed"),
            "repos": STRINGS,
            "paths": STRINGS,
            "since": SINCE,
            "until": UNTIL,
            "limit": limit_schema(20),
        },
        required=("text",),
        output=page_schema(
            "commits", {**COMMIT, **_CHANGED_LINES}, complete=BOOLEAN, unsearched=INTEGER
        ),
    ),
    question(
        "file_history",
        "Commits of one file across renames, newest first",
        _file_history,
        Command(
            "file-history",
            "Show a file's commits.",
            "Show the commits of one file, across renames.",
            table="commits: date commit:sha author status +:added -:removed path from:old_path"
            " subject",
        ),
        then=hunks_of,
        title="History of a file",
        properties={"repo": REPO, "path": _PATH, "since": SINCE, "limit": limit_schema(50)},
        required=("repo", "path"),
        output=page_schema(
            "commits",
            {
                **COMMIT,
                **texts("path status"),
                "old_path": nullable(STRING),
                **numbers("added removed"),
            },
        ),
    ),
    question(
        "blame",
        "Who last touched lines of a file",
        _blame,
        Command(
            "blame",
            "Show who last touched lines.",
            "Show who last touched lines of a file. Reads the repository.",
            table="lines: from:start to:end commit:sha date author subject",
        ),
        then=_culprit_of_line,
        title="Blame lines",
        properties={
            "repo": REPO,
            "path": _PATH,
            "start": integer("First line (default: all lines)"),
            "end": integer("Last line (default: the first)"),
            "rev": REV,
            "limit": limit_schema(100),
        },
        required=("repo", "path"),
        output=page_schema(
            "lines",
            {
                **numbers("start end"),
                **_LINE_COMMIT,
                "path": STRING,
                "line": INTEGER,
                "previous": nullable(STRING),
                "indexed": BOOLEAN,
            },
            **texts("repo path rev"),
        ),
    ),
    question(
        "grep",
        "Lines of the current files with one of the texts, a few of each file",
        _grep,
        Command(
            "grep",
            "Find lines in the files.",
            "Find lines with one of these texts: a few of each file. Reads the repository.",
            arguments="REPO TEXTS...",
            options={
                "regex": "TEXTS are extended regular expressions.",
                "blame": "Show the commit that wrote each line.",
                "paths": "--path PATH: Only these paths: parts or globs.",
            },
            notes=_by_file,
        ),
        then=_culprit_of_hit,
        title="Find lines",
        properties={
            "repo": REPO,
            "texts": STRINGS,
            "regex": boolean("texts are regexes"),
            "paths": STRINGS,
            "blame": boolean("Add commits"),
            "limit": limit_schema(20),
        },
        required=("repo", "texts"),
        output=page_schema(
            "lines",
            {
                **texts("path text within"),
                "number": INTEGER,
                **{key: nullable(STRING) for key in ("sha", "subject")},
                "date": nullable(INTEGER),
            },
            files=records({"path": STRING, "lines": INTEGER}),
            more_files=INTEGER,
            complete=BOOLEAN,
            **texts("repo rev"),
        ),
    ),
    question(
        "line_history",
        "All commits that changed lines of a file, newest first",
        _line_history,
        Command(
            "line-history",
            "Show every change of lines.",
            "Show all commits that changed lines of a file. Reads the repository.",
            table="commits: date commit:sha author subject",
        ),
        then=hunks_of,
        title="History of lines",
        properties={
            "repo": REPO,
            "path": _PATH,
            "start": integer("First line"),
            "end": integer("Last line (default: the first)"),
            "rev": REV,
            "limit": limit_schema(20),
        },
        required=("repo", "path", "start"),
        output=page_schema("commits", _LINE_COMMIT, **texts("repo path rev")),
    ),
    question(
        "owners",
        "Who knows a file or directory: authors by recent changes, share, bus factor",
        _owners,
        Command(
            "owners",
            "Show who knows a path best.",
            "Show who knows a file or directory, by the number and age of their changes.",
            arguments="REPO [PATH]",
            table="owners: author email commits lines last_touch share",
            notes=_bus_factor,
        ),
        then=_busiest_below,
        title="Owners of a path",
        properties={
            "repo": REPO,
            "path": string("File or directory (default: all)"),
            "since": SINCE,
            "limit": limit_schema(10),
        },
        required=("repo",),
        output=page_schema(
            "owners",
            {
                **texts("author email"),
                **numbers("commits lines last_touch"),
                "share": NUMBER,
            },
            **texts("repo path"),
            **numbers("commits bus_factor"),
            mailmap=STRINGS,
        ),
    ),
    question(
        "co_change",
        "Files that change together with a file, or that a commit may have left out",
        _co_change,
        Command(
            "co-change",
            "Show what changes with a file.",
            "Show files that usually change together with a file; with a commit's SHA instead of PATH,"
            " files that it may have left out: by history, by the names in it, by commits alike.",
            options={"about": "What has to be done, in words."},
            table="files: path commits:support confidence names",
            lines=_partners,
        ),
        then=_surer_files,
        title="What changes together",
        properties={
            "repo": REPO,
            "path": string("File from the root, or a commit's SHA"),
            "about": string("What is missing, in words"),
            "since": SINCE,
            "min_support": {**integer("Minimum number of common commits"), "default": 2},
            "limit": limit_schema(10),
        },
        required=("repo", "path"),
        output=page_schema(
            "files",
            {
                "path": STRING,
                "support": INTEGER,
                "confidence": NUMBER,
                "names": STRINGS,
                "signs": STRINGS,
            },
            **texts("repo path"),
            **numbers("commits left_out"),
        ),
    ),
    question(
        "hotspots",
        "Paths that changed most in a time",
        _hotspots,
        Command(
            "hotspots",
            "Show what changes most.",
            "Show the paths that changed most.",
            table="paths: repo path commits authors +:added -:removed",
        ),
        then=_owners_of_first,
        title="What changes most",
        properties={
            "repos": STRINGS,
            "paths": STRINGS,
            "since": SINCE,
            "until": UNTIL,
            "limit": limit_schema(20),
        },
        output=page_schema(
            "paths", {**texts("repo path"), **numbers("commits added removed authors")}
        ),
    ),
)
