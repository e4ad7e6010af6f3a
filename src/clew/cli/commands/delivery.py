"""Where a filled-in prompt goes besides standard output: the clipboard, an agent, a model."""

from __future__ import annotations

import shutil
import subprocess

from clew.kit.call import Call
from clew.kit.errors import ClewError, Unavailable

# In this order; the first that is installed is used.
CLIPBOARDS = (
    ("pbcopy",),
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "--clipboard", "--input"),
    ("clip.exe",),
)
_SECONDS = 10.0
MODEL = "model"


def copy_text(text: str) -> str:
    """Put a text on the clipboard; the name of the program that did it."""
    for words in CLIPBOARDS:
        program = shutil.which(words[0])
        if program is None:
            continue
        try:
            # Some of these stay to serve the clipboard, and would keep an output pipe open.
            subprocess.run(
                [program, *words[1:]],
                input=text.encode("utf-8", "surrogateescape"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(f"{words[0]} failed: {error}", "Leave --copy out.") from error
        return words[0]
    names = ", ".join(words[0] for words in CLIPBOARDS[:-1])
    raise Unavailable("There is no clipboard program", f"Install one of: {names}.")


def answer_of(receiver: str, prompt: str) -> str:
    """What the configured model, or an agent without tools, answers to a prompt."""
    if receiver == MODEL:
        return _from_model(prompt)
    from clew.work.agents.one_shot import ask_agent
    from clew.work.model import AgentChoice

    answered = ask_agent(AgentChoice(name=receiver), prompt, Call())
    return answered.texts[0] if answered.texts else ""


def _from_model(prompt: str) -> str:
    from clew.models.language import Clock, load_language_model, seconds_allowed

    model = load_language_model()
    if model is None:
        raise ClewError("No model is configured", "Name one in CLEW_MODEL, or use --to claude.")
    return model.write("", prompt, clock=Clock(seconds_allowed()), call=Call())
