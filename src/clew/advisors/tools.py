"""The advisors' tools: declarations beside their handlers."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    ENDS,
    INTEGER,
    READS,
    SETS,
    STRING,
    STRINGS,
    WRITES,
    Tool,
    boolean,
    integer,
    object_schema,
    record,
    string,
    strings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

_ACTOR = "mcp"
_LONGEST_SECONDS = 3600.0
_MOST_STEPS = 10
_MOST_ENTRIES = 100
_LONGEST_ENTRY = 100_000


def vision_agent(arguments: JsonObject, call: Call) -> Answer:
    """Write or refine the Vision & Scope document."""
    return _turn("vision", arguments["project_description"], "", arguments, call)


def architecture_agent(arguments: JsonObject, call: Call) -> Answer:
    """Write or refine the architecture and its decision records."""
    name, text = arguments["project_name"], arguments["requirements"]
    return _turn("architecture", text, name, arguments, call)


def _turn(kind: Any, text: str, name: str, arguments: JsonObject, call: Call) -> Answer:
    from dataclasses import replace

    from clew.advisors.conversation.elicitation import ask_people, can_ask
    from clew.advisors.conversation.result import turn_data
    from clew.advisors.conversation.turn import TurnRequest, preview, take_turn
    from clew.kit.answer import Answer

    request = TurnRequest(
        tool=f"{kind}_agent",
        kind=kind,
        text=text,
        name=name,
        conversation_id=arguments.get("conversation_id", ""),
        answers=given_answers(arguments.get("answers")),
        draft=given_draft(arguments.get("draft")),
        project=arguments.get("project"),
        save=arguments.get("save", True),
    )
    if request.draft is not None and can_ask(call):
        seen = preview(request, call)
        told = ask_people(seen.questions, seen.main.title, call)
        request = replace(request, answers={**told, **request.answers})
    data = turn_data(take_turn(request, call), request.tool, show=arguments.get("show", False))
    return Answer(data["output"], data=data)


def given_draft(value: object) -> JsonObject | None:
    """A draft as a caller sent it: the object, its statements alone, or either as a JSON text."""
    from clew.kit.errors import Invalid
    from clew.kit.jsontext import JsonError, loads

    if isinstance(value, str) and value.strip():
        try:
            value = loads(value)
        except JsonError as error:
            raise Invalid(f"draft is not JSON: {error}", "Send it as an object.") from None
    if isinstance(value, list):
        return {"statements": value}
    if value is None or value == "":
        return None
    if not isinstance(value, dict):
        raise Invalid("draft must be an object", 'For example: {"statements": [...]}.')
    return value


def given_answers(value: object) -> dict[str, str]:
    """Answers as a caller sent them: an object, or a list of objects with a name and a text."""
    from clew.kit.errors import Invalid

    pairs = list(value.items()) if isinstance(value, dict) else _pairs(value or [])
    if pairs is None:
        raise Invalid("answers must be an object of texts", 'For example: {"Q-1": "..."}.')
    if len(pairs) > _MOST_ENTRIES:
        raise Invalid(f"answers has more than {_MOST_ENTRIES} entries", "Send fewer at a time.")
    for name, text in pairs:
        if not isinstance(text, str):
            raise Invalid(f"answers.{name} must be a string", f'Send {{"{name}": "text"}}.')
        if len(text) > _LONGEST_ENTRY:
            raise Invalid(f"answers.{name} is longer than {_LONGEST_ENTRY} characters")
    return {str(name).strip(): text for name, text in pairs}


def _pairs(value: object) -> list[tuple[Any, Any]] | None:
    """Names and texts of a list's objects; None if one of them has no name or no text."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return None
    names, texts = ("id", "question"), ("answer", "text", "content", "value")
    pairs = [(_first(entry, names), _first(entry, texts)) for entry in value]
    return None if any(None in pair for pair in pairs) else pairs


def _first(entry: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((entry[name] for name in names if entry.get(name) is not None), None)


def long_running_operation(arguments: JsonObject, call: Call) -> Answer:
    """Take the time asked for, and report each step: for trying out a client."""
    import time

    from clew.kit.answer import Answer

    name, asked = arguments["operation_name"], float(arguments["duration_seconds"])
    seconds = min(max(asked, 0.0), _LONGEST_SECONDS)
    steps = min(max(int(seconds), 1), _MOST_STEPS)
    started = time.monotonic()
    call.progress(0, steps, f"Started {name}")
    for step in range(1, steps + 1):
        due = started + seconds * step / steps
        call.sleep(max(due - time.monotonic(), 0.0))
        call.progress(step, steps, f"{name}: {100 * step // steps}% complete")
    output = f"Completed {name} in {time.monotonic() - started:.1f} seconds"
    if seconds != asked:
        output += f" (asked for {asked:g}, allowed is 0 to {_LONGEST_SECONDS:g})"
    return Answer(output, data={"output": output})


def refine_agent(arguments: JsonObject, call: Call) -> Answer:
    """Turn the vision's features into specs."""
    from clew.advisors.actions.project_documents import sources_of
    from clew.advisors.actions.refine import refine_all, refined_text, spec_briefing
    from clew.kit.answer import Answer
    from clew.specs.store.store import open_store

    store = open_store(call.settings, arguments.get("project"))
    sources = sources_of(store.project, arguments.get("conversation_id", ""))
    later, given = arguments.get("later", False), arguments.get("specs")
    done, refused = refine_all(store, sources, given, later=later, actor=_ACTOR)
    more = spec_briefing(store, sources, "refine_agent")
    output = "\n\n".join(filter(None, [refined_text(done, refused), more]))
    data = {
        "output": output,
        "specs": [one.as_json() for one in done],
        "refused": [one._asdict() for one in refused],
    }
    return Answer(output, data=data)


def review_agent(arguments: JsonObject, call: Call) -> Answer:
    """Check a spec's changes against its criteria."""
    from clew.advisors.actions.review import NEXT, review, review_data
    from clew.kit.answer import Answer
    from clew.specs.store.store import open_store

    store = open_store(call.settings, arguments.get("project"))
    spec = store.load(arguments["id"])
    found = review(store.project, spec, arguments.get("range"), arguments.get("opinions"))
    data = review_data(found)
    if found.criteria and not found.opinions:
        data["output"] += f"\n{NEXT}\n"
    return Answer(data["output"], data=data)


def deployment_agent(arguments: JsonObject, call: Call) -> Answer:
    """Make a checklist for a deployment of what the repository says."""
    from clew.advisors.actions.deployment import checklist, checklist_data
    from clew.kit.answer import Answer
    from clew.kit.project import find_project

    project = find_project(arguments.get("project"), call.settings)
    data = checklist_data(checklist(project))
    return Answer(data["output"], data=data)


def conversations(arguments: JsonObject, call: Call) -> Answer:
    """List conversations, or show, export or delete one."""
    from clew.advisors.conversation.store import checked_id, opened_store
    from clew.kit.answer import Answer
    from clew.kit.errors import Invalid

    action = arguments.get("action", "list")
    name = "" if action == "list" else checked_id(arguments.get("conversation_id", "").strip())
    if action != "list" and not name:
        raise Invalid(f"{action} needs a conversation_id", "The action list shows them.")
    data: JsonObject
    with opened_store() as store:
        if action == "list":
            data = {"conversations": store.recent(arguments.get("limit", 50))}
        elif action == "delete":
            store.delete(name)
            data = {"deleted": name}
        else:
            data = store.export(name) if action == "export" else summary(store.export(name))
    return Answer.indented(data)


def summary(exported: JsonObject) -> JsonObject:
    """A conversation without old versions, facts and texts: what happened, and what there is."""
    last = {one["name"]: one for one in exported["documents"]}
    document, turn = ("name", "version", "title", "path"), ("version", "at", "tool", "summary")
    return {
        **{key: exported[key] for key in ("id", "title", "project", "version", "updated")},
        "documents": [{key: one[key] for key in document} for one in last.values()],
        "turns": [{key: one[key] for key in turn} for one in exported["turns"]],
    }


_CONVERSATION = string("Optional ID to maintain context between conversations")
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_OUTPUT = record({"output": STRING})
_DOCUMENTS = object_schema(
    {
        "output": STRING,
        "conversation_id": STRING,
        "version": INTEGER,
        "documents": _OBJECTS,
        "ids": {"type": "object"},
        "refused": _OBJECTS,
        "reworded": _OBJECTS,
        "coverage": {"type": "object"},
        "questions": _OBJECTS,
        "questions_open": INTEGER,
        "checks": object_schema({"ready": BOOLEAN, "findings": _OBJECTS}),
        "writer": STRING,
        "authors": {"type": "object"},
        "skipped": STRINGS,
        "cost": STRING,
        "notes": STRINGS,
        "brief": {"type": "object"},
    },
    "output",
    "conversation_id",
)
# What the loop of the calling agent sends back; a result's brief explains it.
_LOOP = {
    # A wrong statement is refused by itself, not with the whole draft; some clients send JSON as text.
    "draft": {"type": ["object", "array", "string"]},
    "answers": {"type": ["object", "array"]},
    "show": BOOLEAN,
    "save": BOOLEAN,
    "project": STRING,
}


_STATEMENT = object_schema(
    {
        "ref": string("Your name for it, or a known id to change that"),
        "kind": string("objective, feature, ...: the first answer lists them with examples"),
        "text": string("One statement, in the words of the source"),
        "lines": {"type": "array", "items": INTEGER},
        "quote": string("The words of the source it rests on, copied exactly"),
        "serves": strings("Refs or ids of what it serves"),
        "release": string("1 or later"),
    },
    "ref",
    "kind",
    "text",
)
_DECLARED = {
    "draft": {
        **object_schema(
            {
                "title": STRING,
                "statements": {"type": "array", "items": _STATEMENT},
                "remove": strings("Refs or ids to take back"),
            },
            "statements",
        ),
        "description": "Your statements, each with a quote; more fields by kind",
    },
    "answers": {"type": "object", "description": 'Answers to open questions: {"Q-1": "..."}'},
    "show": boolean("Return the whole document too"),
}
_HINT = (
    "Call it with the text first: the answer numbers its lines and names the kinds of statements. "
    "Then call it with `draft`. Clew checks quotes, coverage and contradictions, and asks."
)


def _tool(name: str, description: str, **settings: Any) -> Tool:
    given = {"output": _OUTPUT, "slow": True, **settings}
    return Tool(name, description, face="clariad", toolset="advisors", **given)


ADVISORS_TOOLS = (
    _tool(
        "vision_agent",
        "Creates Vision & Scope documents to establish project requirements and goals",
        handler=vision_agent,
        title="Vision and scope",
        effect=WRITES,
        properties={
            "project_description": string("Brief description of the project"),
            "conversation_id": _CONVERSATION,
        },
        also_declares=_DECLARED,
        also_accepts=_LOOP,
        hint=_HINT,
        required=("project_description",),
        output=_DOCUMENTS,
    ),
    _tool(
        "architecture_agent",
        "Designs system architecture and creates Architecture Decision Records (ADRs)",
        handler=architecture_agent,
        title="Architecture and decisions",
        effect=WRITES,
        properties={
            "project_name": string("Name of the project"),
            "requirements": string("Project requirements to consider for architecture"),
            "conversation_id": _CONVERSATION,
        },
        also_declares=_DECLARED,
        also_accepts=_LOOP,
        hint=_HINT,
        required=("project_name", "requirements"),
        output=_DOCUMENTS,
    ),
    _tool(
        "long_running_operation",
        "Example of a long-running operation with streaming updates",
        title="Long-running example",
        effect=READS,
        handler=long_running_operation,
        properties={
            "operation_name": string("Name of the operation to perform"),
            "duration_seconds": {
                "type": "number",
                "description": "How long the operation should take in seconds",
            },
        },
        required=("operation_name", "duration_seconds"),
    ),
    _tool(
        "refine_agent",
        "Turn the vision's features into specs, then refine them by checked drafts",
        handler=refine_agent,
        title="Vision to specs",
        effect=SETS,
        original=False,
        properties={
            "conversation_id": string("Of unsaved documents"),
            "later": boolean("Also features of later releases"),
            "specs": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Drafts; a call without them shows their form",
            },
            "project": string("Project directory"),
        },
        output=record({"output": STRING, "specs": _OBJECTS, "refused": _OBJECTS}),
    ),
    _tool(
        "review_agent",
        "Check a finished spec's changes against its acceptance criteria",
        handler=review_agent,
        title="Review a spec",
        effect=READS,
        original=False,
        properties={
            "id": string("Spec ID"),
            "range": string("Commits, for example main..branch"),
            "opinions": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Your verdict on each criterion; a call without shows the form",
            },
            "project": string("Project directory"),
        },
        required=("id",),
        output=object_schema(
            {"output": STRING, "verdict": STRING, "criteria": _OBJECTS, "findings": _OBJECTS},
            "output",
            "verdict",
        ),
    ),
    _tool(
        "deployment_agent",
        "Deployment checklist out of the repository, with file:line",
        handler=deployment_agent,
        title="Deployment checklist",
        effect=READS,
        original=False,
        properties={"project": string("Project directory")},
        output=record({"output": STRING, "entries": _OBJECTS, "missing": STRINGS}),
    ),
    _tool(
        "advisor_conversations",
        "Conversations with the advisors",
        handler=conversations,
        title="Conversations",
        effect=ENDS,
        original=False,
        slow=False,
        properties={
            "action": {
                "type": "string",
                "description": "Default list",
                "enum": ["list", "show", "export", "delete"],
            },
            "conversation_id": string("Which one; not for list"),
            "limit": integer("Default 50"),
        },
        output={"type": "object"},
    ),
)
