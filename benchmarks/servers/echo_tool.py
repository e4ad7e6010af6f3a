"""The handler that `clew_catalogue` names; imported at the first call, as every handler is."""

from clew.kit.answer import Answer
from clew.kit.call import Call


def echo(arguments: dict, call: Call) -> Answer:
    """What was said."""
    return Answer(arguments["text"], data={"result": arguments["text"]})
