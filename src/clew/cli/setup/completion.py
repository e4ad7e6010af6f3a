"""`completion`: the script that teaches a shell to complete Clew's commands."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from clew.cli.core.app import command
from clew.cli.core.options import face_option
from clew.kit.errors import UsageError
from clew.kit.outcome import Outcome

SHELLS = ("bash", "zsh", "fish")


@command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@face_option("Command to complete.")
def completion(shell: str | None, face: str) -> Outcome:
    """Print a shell completion script (default: for the current shell).

    To install it, for all new shells:

    \b
      bash  echo 'eval "$(clew completion bash)"' >> ~/.bashrc
      zsh   echo 'eval "$(clew completion zsh)"' >> ~/.zshrc
      fish  clew completion fish > ~/.config/fish/completions/clew.fish

    bash must be 4.4 or newer. In zsh, put the line after compinit. The other faces have their
    own scripts: add --face chant, for example.
    """  # noqa: D301 - click wants the character itself
    chosen = shell or _current_shell()
    script = completion_script(chosen, face)
    return Outcome({"shell": chosen, "face": face, "script": script}, (script.rstrip("\n"),))


def completion_script(shell: str, face: str) -> str:
    """The script for one shell and one face."""
    from clew.cli.faces import build_group

    script_class = get_completion_class(shell)
    assert script_class is not None
    # The script alone is wanted: click's `source` for bash would start bash to ask its version.
    script = script_class(build_group(face), {}, face, f"_{face}_complete".upper())
    return script.source_template % script.source_vars()


def _current_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise UsageError(
            f"No completion for the shell {name or '(SHELL is not set)'}",
            f"Name one: clew completion {'|'.join(SHELLS)}",
        )
    return name
