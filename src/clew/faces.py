"""The console scripts: five names for one program.

Each looks at its first word. The word that starts a server takes the quick way, which imports
nothing that a server does not need, and so do the words that name a prompt; everything else goes to
the command line proper.
"""

from __future__ import annotations

import sys


def clew() -> int:
    """The whole program: every room and the thread through them."""
    return enter("clew", sys.argv[1:])


def chant() -> int:
    """Specs and work, under the names their users know."""
    return enter("chant", sys.argv[1:])


def commitmux() -> int:
    """History, under the names its users know."""
    return enter("commitmux", sys.argv[1:])


def climpt() -> int:
    """Commands, under the names their users know; three other words name a prompt."""
    words = sys.argv[1:]
    if words[:1] != ["mcp"]:
        from clew.cli.commands.address import name_a_prompt

        if name_a_prompt(words):
            from clew.commands.render.fast_path import run

            code = run(words)
            if code is not None:
                return code
    return enter("climpt", words)


def clariad() -> int:
    """Advisors, under the names their users know."""
    return enter("clariad", sys.argv[1:])


def enter(face_name: str, arguments: list[str]) -> int:
    """Run one face's command line and return its exit code."""
    from clew.catalog.faces import FACES

    face = FACES[face_name]
    if arguments and arguments[0] == face.serve_command:
        from clew.catalog.options import read_serve_options

        options = read_serve_options(arguments[1:])
        if options is not None and "http" not in options:
            from clew.serving import serve_stdio

            return serve_stdio(face, options)
    from clew.cli.faces import run_face

    return run_face(face_name, arguments)
