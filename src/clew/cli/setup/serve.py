"""`serve` and `mcp`: the server of each face, its options built from the catalogue's table."""

from __future__ import annotations

import click

from clew.catalog.faces import FACES, Face
from clew.catalog.options import HTTP_ONLY, LISTS, SERVE_OPTIONS, with_environment
from clew.kit.errors import UsageError


def _serve_command(face: Face) -> click.Command:
    def serve(**given: str | bool | tuple[str, ...] | None) -> int:
        options = {k: _as_text(v) for k, v in given.items() if v not in (None, False, ())}
        for key, value in options.items():
            if not value and key not in LISTS:
                raise UsageError(f"--{key.replace('_', '-')} needs a value")
        if "http" not in options:
            for key in HTTP_ONLY:
                if key in options:
                    raise UsageError(f"--{key.replace('_', '-')} needs --http")
            from clew.serving import serve_stdio

            return serve_stdio(face, with_environment(options))
        from clew.serving import serve_http

        return serve_http(face, with_environment(options))

    command = click.Command(
        face.serve_command,
        callback=serve,
        help=f"Run the {face.name} server for an agent host: MCP on standard input and output.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for option in SERVE_OPTIONS:
        note = f" Also {option.variable}." if option.variable else ""
        command.params.append(
            click.Option(
                [option.flag],
                is_flag=not option.takes,
                metavar=option.takes or None,
                multiple=option.is_list,
                default=None,
                help=option.help + note,
            )
        )
    return command


def _as_text(value: str | bool | tuple[str, ...] | None) -> str:  # noqa: FBT001 - as click gives it
    if isinstance(value, tuple):
        return ",".join(value)
    return "1" if value is True else str(value)


clew_serve = _serve_command(FACES["clew"])
chant_mcp = _serve_command(FACES["chant"])
commitmux_serve = _serve_command(FACES["commitmux"])
climpt_mcp = _serve_command(FACES["climpt"])
clariad_serve = _serve_command(FACES["clariad"])
