"""The tools of sessions. They only read."""

from __future__ import annotations

from clew.catalog.model import (
    INTEGER,
    NUMBER,
    READS,
    STRING,
    STRINGS,
    Tool,
    integer,
    nullable,
    object_schema,
    record,
    records,
    string,
    texts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject


def search(arguments: JsonObject, call: Call) -> Answer:
    """Turns whose request or answer has these words."""
    import os

    from clew.kit.answer import Answer
    from clew.kit.project import find_project
    from clew.sessions.model import Filter
    from clew.sessions.room import current_index, refuse_off, turn_data

    project = find_project(None, call.settings)
    limit = min(max(arguments.get("limit", 10), 1), 50)
    with current_index(project) as (index, _):
        refuse_off(index)
        found = index.search(arguments["query"], Filter(os.path.realpath(project)), limit)
    hits = []
    for one in found:
        data = turn_data(one.session, one.turn)
        names = ("session", "program", "turn", "time", "files", "imported")
        kept = {name: data[name] for name in names}
        hits.append({**kept, "request": one.turn.request[:400], "snippet": one.snippet})
    return Answer.of({"hits": hits})


def show(arguments: JsonObject, call: Call) -> Answer:
    """One session: its turns in short, or one of them in full."""
    from clew.kit.answer import Answer
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.room import named_session, refuse_off, short_name, turn_data

    number = arguments.get("turn")
    with opened_index() as index:
        refuse_off(index)
        session = named_session(index, arguments["session"])
        turns = index.turns(session.id, () if number is None else (number,))
    shown = [turn_data(session, turn) for turn in turns]
    if number is None:
        shown = [{**one, "words": str(one["words"])[:300], "commands": []} for one in shown]
    data = {
        "id": short_name(session),
        "program": session.program,
        "model": session.model,
        "started": int(session.started),
        "cost": session.cost,
        "imported": session.imported,
        "turns": shown,
    }
    return Answer.of(data)


_TURN: JsonObject = {
    **texts("session program request imported"),
    "turn": INTEGER,
    "time": INTEGER,
    "files": STRINGS,
}

SESSIONS_TOOLS = (
    Tool(
        "session_search",
        "What agents were asked and said in this project, by words",
        title="Search sessions",
        face="clew",
        toolset="sessions",
        effect=READS,
        original=False,
        handler=search,
        properties={
            "query": string("Words"),
            "limit": {**integer("Most results"), "default": 10},
        },
        required=("query",),
        output=record({"hits": records({**_TURN, "snippet": STRING})}),
    ),
    Tool(
        "session_show",
        "An agent's session: requests, files, commits; or one turn in full",
        title="Show a session",
        face="clew",
        toolset="sessions",
        effect=READS,
        original=False,
        handler=show,
        properties={"session": string("Id, or its beginning"), "turn": integer("Its number")},
        required=("session",),
        output=object_schema(
            {
                **texts("id program imported"),
                "model": nullable(STRING),
                "started": INTEGER,
                "cost": nullable(NUMBER),
                "turns": {"type": "array", "items": {"type": "object"}},
            },
            "id",
            "turns",
        ),
    ),
)
