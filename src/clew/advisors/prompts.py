"""The advisors' prompts: a task each, for a client that offers them as commands."""

from __future__ import annotations

from clew.catalog.service import Source
from clew.kit.errors import Invalid, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

_LOOP = (
    "The answer has the lines numbered, the kinds of statements and the next call. Write the draft: "
    "one statement per fact, in the words of the source, each with the exact quote it rests on. Send "
    "it. Correct what is refused, cite or set aside what is listed as not cited, and ask me the open "
    "questions: do not answer them for me. Send my answers, and go on until the checks say ready."
)
_PROMPTS = {
    "vision": (
        "Write a Vision & Scope document from a text",
        {"text": "Mail, ticket, README or notes that say what is wanted"},
        "Call `vision_agent` with this text as project_description.",
    ),
    "architecture": (
        "Design the architecture of a project",
        {"name": "Name of the project", "text": "Requirements, if there are more than the vision has"},
        ("Call `architecture_agent` with this name and text. Each component serves a feature; what is "
        "decided gets options, a reason and what it costs."),
    ),
    "decision": (
        "Record one decision with its options",
        {"name": "Name of the project", "text": "What was decided, by whom, and what else was considered"},
        ("Call `architecture_agent` with this name and text, and then with a draft of one statement of "
        "kind `decision`: options (the chosen one first), because, good, bad. Ask me for what is missing."),
    ),
    "feedback": (
        "Change the vision by what users said",
        {"text": "What users said: reviews, tickets, mails", "conversation": "Of the vision, if known"},
        ("Call `vision_agent` with this text as project_description, and with the conversation as "
        "conversation_id. The answer shows which statements are known and what is new. A user's wish is "
        "no decision: ask me before an objective changes or a feature goes."),
    ),
    "specs": (
        "Turn the features of the vision into specs",
        {"text": "Which features, or anything to respect"},
        ("Call `refine_agent`. For each feature it lists, read the files it names, then call it again "
        "with `specs`: outcome, scenarios, criteria with check commands, files, and what is out of "
        "scope. Split a feature that is more than a day of work."),
    ),
}  # fmt: skip


class AdvisorSource(Source):
    """The prompts of the advisors."""

    def prompts(self) -> list[JsonObject]:
        """The tasks."""
        return [
            {
                "name": name,
                "description": about,
                "arguments": [
                    {"name": one, "description": what, "required": number == 0 and name != "specs"}
                    for number, (one, what) in enumerate(given.items())
                ],
            }
            for name, (about, given, _) in _PROMPTS.items()
        ]

    def get_prompt(self, name: str, arguments: JsonObject) -> JsonObject:
        """One task, with what the user gave."""
        if name not in _PROMPTS:
            raise NotFound(f"Unknown prompt: {name}")
        about, known, task = _PROMPTS[name]
        first = next(iter(known))
        if name != "specs" and not str(arguments.get(first) or "").strip():
            raise Invalid(f"Missing required parameter: {first}", f"Say {known[first].lower()}.")
        given = [f"{one}:\n{arguments[one]}" for one in known if arguments.get(one)]
        text = "\n\n".join([task if name == "specs" else f"{task} {_LOOP}", *given])
        return {
            "description": about,
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        }
