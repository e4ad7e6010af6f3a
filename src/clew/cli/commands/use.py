"""Commands on the command line: `climpt …`, and the same under `clew command …`."""

from __future__ import annotations

import os
from typing import Any

import click

from clew.cli.core.app import OutcomeCommand, command
from clew.cli.core.completion import complete_address
from clew.cli.core.options import choice, combined, flag, limit_option, option, project_option
from clew.cli.core.streams import say
from clew.commands.files.layers import ORIGINS
from clew.kit.errors import NotFound
from clew.kit.outcome import Hint, Outcome, Table, listing
from clew.kit.text.display import terminal_text

shared_options = combined(
    option("--agent", "Agent whose registry is used.", default="climpt"),
    project_option,
)


address_arguments = combined(
    *(click.argument(name, shell_complete=complete_address) for name in ("c1", "c2", "c3"))
)


layer_option = choice("--layer", "Only the commands of this layer.", among=ORIGINS)


def settings_of(project: str | None, layer: str | None = None) -> dict[str, str]:
    """What the rooms call settings."""
    named = {"project": project, "layer": layer}
    return {key: value for key, value in named.items() if value}


@command(name="list")
@option("--c1", "Only this domain.", metavar="DOMAIN")
@flag("--hidden", "Include commands hidden by a layer of higher precedence.")
@flag("--usage", "Show how often each was used here, the most used first.")
@layer_option
@shared_options
def list_commands(
    c1: str | None,
    agent: str,
    project: str | None,
    layer: str | None,
    *,
    hidden: bool,
    usage: bool,
) -> Outcome:
    """List commands with their source and purpose."""
    from clew.commands.files.layers import project_root
    from clew.commands.registry.registry import shelf, unique, usable
    from clew.commands.registry.usage import uses

    registry = shelf(agent, settings_of(project, layer)).registry()
    shown = unique(usable(registry)) + (list(registry.hidden) if hidden else [])
    chosen = [one for one in shown if c1 in (None, one.c1)]
    counts = uses(project_root(settings_of(project)), agent)[0] if usage else {}
    chosen.sort(key=lambda one: -counts.get(one.address, 0))
    data = [
        {
            **one.parts,
            "description": one.description,
            "origin": one.origin,
            "source": one.source,
            **({"uses": counts.get(one.address, 0)} if usage else {}),
        }
        for one in chosen
    ]
    columns = f"c1 c2 c3 {'uses ' * usage}origin description"
    return listing("commands", data, columns, "No commands here.")


@command()
@click.argument("query", nargs=-1)
@limit_option(3, click.IntRange(1, 100))
@option("--c1", "Only this domain.", metavar="DOMAIN")
@option("--action", "Words for the action; matched against c2.", metavar="VERBS")
@option("--target", "Words for the target; matched against c3.", metavar="NOUNS")
@choice("--algorithm", "Scoring method.", among="ranked cosine tfidf bm25", default="ranked")
@flag("--explain", "Show why each result matched.")
@layer_option
@shared_options
def search(
    query: tuple[str, ...], agent: str, project: str | None, layer: str | None, **how: Any
) -> Outcome:
    """Search commands by purpose. --agent '*' searches all agents."""
    from clew.commands.search.search import search as search_commands

    text = " ".join(query)
    if not f"{text}{how['action'] or ''}{how['target'] or ''}".strip():
        raise click.UsageError("Say what to search for")
    found = search_commands(text, agent, settings_of(project, layer), **how)
    names = [f"{hit['c1']} {hit['c2']} {hit['c3']}" for hit in found]
    rows = tuple(
        (f"{hit['score']:.2f}", name, hit.get("origin", "project"), hit["description"])
        for hit, name in zip(found, names, strict=True)
    )
    parts: list[str | Table] = [Table(("score", "command", "origin", "description"), rows)]
    for hit, name in zip(found, names, strict=True) if how["explain"] else ():
        parts.append(f"\n{name} ({hit['origin']})")
        parts += [f"  {line}" for line in hit["why"]]
    return Outcome({"results": found}, tuple(parts) if rows else ("No command matches.",))


@command()
@address_arguments
@flag("--template", "Print the template source.")
@layer_option
@shared_options
def show(
    c1: str,
    c2: str,
    c3: str,
    agent: str,
    project: str | None,
    layer: str | None,
    *,
    template: bool,
) -> Outcome:
    """Show the details of one command."""
    from clew.commands.files.disk import read_text
    from clew.commands.files.templates import default_template
    from clew.commands.render.describe import describe, explain_miss

    settings = settings_of(project, layer)
    records = describe((c1, c2, c3), agent, settings)
    if not records:
        raise explain_miss(agent, (c1, c2, c3), settings)
    chosen = default_template(agent, (records[0]["c1"], c2, c3), settings)
    path = chosen.path if chosen else None
    if template:
        if path is None:
            raise NotFound(f"{c1} {c2} {c3} has no template", "Write it: clew command new")
        return Outcome({"path": path}, (read_text(path).rstrip("\n"),))
    return Outcome({"commands": records, "template": path}, (_details(records[0], path),))


def _details(record: dict[str, Any], path: str | None) -> str:
    options = record.get("options") or {}
    accepts = [name for name in ("stdin", "file", "destination") if options.get(name) is True]
    variants = [" ".join(variant.values()) for variant in record["variants"]]
    lines = [
        f"{record['c1']} {record['c2']} {record['c3']} ({record['origin']})",
        record["description"],
        "",
        f"usage      {record.get('usage') or '-'}",
        f"accepts    {', '.join(accepts) or '-'}",
        f"variants   {', '.join(variants) or 'none: there is no template'}",
        f"asks for   {', '.join(record['variables']) or '-'}",
        f"template   {path or '-'}",
    ]
    return "\n".join(lines)


_RUN_HELP = """\
Print the filled-in prompt of a command. Standard input is its input.

\b
  -e, --edition NAME       edition of the template
  -a, --adaptation NAME    adaptation of the template
  -f, --from, --file PATH  file to work on
  -o, --destination PATH   destination of the result; only fills in {destination_path}
  --write FILE             write the prompt to a file
  --copy                   copy the prompt to the clipboard too
  --to AGENT               give the prompt to an agent (claude, codex, ...), or to the model
                           that CLEW_MODEL names (--to model), and print the answer
  --layer NAME             only this layer: project, user or packaged
  --uv-NAME VALUE          value of a template variable
  -c, --config NAME        domain, instead of the first word
  --agent NAME             agent whose command it is (default: climpt)
  --project DIRECTORY      project directory (default: the current one)
  --strict                 fail instead of warning
  --compat                 render as the original system does
  --force                  let --write overwrite a file
  --json                   print one JSON object

Both `-e NAME` and `-e=NAME` work.
"""


class _RunCommand(OutcomeCommand):
    """A command whose options may be anywhere; those of every command are taken out first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the options of every command before all other words."""
        end = args.index("--") if "--" in args else len(args)
        own = [word for word in args[:end] if word in ("--json", "-h", "--help")]
        rest = [word for word in args[:end] if word not in own]
        return super().parse_args(ctx, [*own, *rest, *args[end:]])


@click.command(
    cls=_RunCommand,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
    help=_RUN_HELP,
)
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="DOMAIN ACTION TARGET [OPTION]…",
    shell_complete=complete_address,
)
def run(words: tuple[str, ...]) -> Outcome:
    """Print the filled-in prompt of a command."""
    from clew.cli.commands.delivery import answer_of, copy_text
    from clew.commands.render.arguments import read_words, request_from_words
    from clew.commands.render.execute import execute, open_variables
    from clew.commands.render.streams import read_standard_input, unread_input, write_guarded

    found = read_words(list(words))
    settings = settings_of(found.options.get("project"))
    request = request_from_words(found)
    request.read_input = read_standard_input
    if os.isatty(0) and os.isatty(2):
        for name, purpose in open_variables(request, settings):
            request.variables[name] = click.prompt(terminal_text(purpose), err=True)
    result = execute(request, settings)
    program = click.get_current_context().find_root().info_name or "clew"
    if output := found.options.get("write"):
        path = write_guarded(output, result.prompt, settings, force="force" in found.flags)
        say(f"{program}: wrote {path}")
    for warning in (*result.remarks, *unread_input(request.text)):
        say(f"{program}: {warning}")
    if "copy" in found.flags:
        say(f"{program}: copied by {copy_text(result.prompt)}")
    data = {"prompt": result.prompt, **result.report()}
    if receiver := found.options.get("to"):
        data["answer"] = answer_of(receiver, result.prompt)
    return Outcome(data, (data.get("answer", result.prompt).removesuffix("\n"),))


@command()
@shared_options
def reload(agent: str, project: str | None) -> Outcome:
    """Reload configuration, registry and prompts, and report what is broken."""
    from clew.commands.registry.registry import reload as reload_commands

    found = reload_commands(agent, settings_of(project))
    lines = [found["message"]]
    lines += [f"broken: {one['path']}: {one['details']}" for one in found["broken"]]
    lines += [f"drift: {one}" for one in found["drift"]]
    if found.get("hidden"):
        lines.append(
            f"{len(found['hidden'])} are hidden by layers of higher precedence: list --hidden"
        )
    return Outcome(found, tuple(lines), exit_code=1 if found["broken"] else 0)


@command()
@flag("--force", "Overwrite existing templates.")
@project_option
def init(project: str | None, *, force: bool) -> Outcome:
    """Copy the packaged commands into this project so that you can edit them."""
    from clew.commands.authoring.templates import install

    root, written, kept = install(settings_of(project), force=force)
    lines = [f"wrote {path}" for path in written]
    if kept:
        lines.append(f"Kept {len(kept)} existing templates; --force overwrites them.")
    lines.append(Hint("Next: climpt list"))
    return Outcome({"project": root, "written": written, "kept": kept}, tuple(lines))
