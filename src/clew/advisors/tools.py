"""The advisors' tool handlers."""

from __future__ import annotations

from clew.kit.answer import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.advisors.conversation.turn import Asked
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

_ACTOR = "mcp"


def long_running_operation(arguments: JsonObject, call: Call) -> Answer:
    """Wait as long as asked, with progress."""
    from clew.advisors.operation import run_operation

    name, seconds = arguments["operation_name"], float(arguments["duration_seconds"])
    output = run_operation(name, seconds, call)
    return Answer(output, data={"output": output})


def vision_agent(arguments: JsonObject, call: Call) -> Answer:
    """Write or refine the Vision & Scope document."""
    return _turn(_asked("vision_agent", arguments["project_description"], "", arguments), call)


def architecture_agent(arguments: JsonObject, call: Call) -> Answer:
    """Write or refine the architecture and its decision records."""
    name, text = arguments["project_name"], arguments["requirements"]
    return _turn(_asked("architecture_agent", text, name, arguments), call)


def _asked(tool: str, text: str, name: str, arguments: JsonObject) -> Asked:
    from clew.advisors.conversation.brief import texts_by_name
    from clew.advisors.conversation.turn import Asked

    return Asked(
        tool=tool,
        kind="vision" if tool == "vision_agent" else "architecture",
        text=text,
        name=name,
        conversation_id=arguments.get("conversation_id", ""),
        answers=texts_by_name(arguments.get("answers"), "answers", ("id", "question")),
        sections=texts_by_name(arguments.get("sections"), "sections", ("key", "heading")),
        project=arguments.get("project"),
        save=arguments.get("save", True),
    )


def _turn(asked: Asked, call: Call) -> Answer:
    from clew.advisors.conversation.turn import take_turn
    from clew.advisors.results import said_data

    data = said_data(take_turn(asked, call), asked.tool)
    return Answer(data["output"], data=data)


def refine_agent(arguments: JsonObject, call: Call) -> Answer:
    """Turn the vision's features into specs."""
    from clew.advisors.actions.inputs import sources_of
    from clew.advisors.actions.refine import refine
    from clew.advisors.results import refined_text
    from clew.specs.store.store import open_store

    store = open_store(call.settings, arguments.get("project"))
    sources = sources_of(store.project, arguments.get("conversation_id", ""))
    done = refine(store, sources, later=arguments.get("later", False), actor=_ACTOR)
    output = refined_text(done)
    return Answer(output, data={"output": output, "specs": [one.as_json() for one in done]})


def review_agent(arguments: JsonObject, call: Call) -> Answer:
    """Check a spec's changes against its criteria."""
    from clew.advisors.actions.review import review
    from clew.advisors.results import review_data
    from clew.specs.store.store import open_store

    store = open_store(call.settings, arguments.get("project"))
    spec = store.load(arguments["id"])
    data = review_data(review(store.project, spec, arguments.get("range"), call))
    return Answer(data["output"], data=data)


def conversations(arguments: JsonObject, call: Call) -> Answer:
    """List conversations, or show, export or delete one."""
    from clew.advisors.conversation.store import checked_id, opened_store
    from clew.kit.errors import Invalid

    action = arguments.get("action", "list")
    if action == "list":
        with opened_store() as store:
            return Answer.of({"conversations": store.recent(arguments.get("limit", 50))}, indent=2)
    name = checked_id(arguments.get("conversation_id", "").strip())
    if not name:
        raise Invalid(f"{action} needs a conversation_id", "The action list shows them.")
    with opened_store() as store:
        if action == "delete":
            store.delete(name)
            return Answer.of({"deleted": name}, indent=2)
        exported = store.export(name)
    return Answer.of(exported if action == "export" else shown(exported), indent=2)


def shown(exported: JsonObject) -> JsonObject:
    """A conversation without old versions, facts and texts: what happened, and what there is."""
    last = {one["name"]: one for one in exported["documents"]}
    documents = [{key: one[key] for key in ("name", "version", "title", "path")}
                 for one in last.values()]  # fmt: skip
    turns = [{key: one[key] for key in ("version", "at", "tool", "summary")}
             for one in exported["turns"]]  # fmt: skip
    kept = {key: exported[key] for key in ("id", "title", "project", "version", "updated")}
    return {**kept, "documents": documents, "turns": turns}
