"""New specs and their acceptance criteria on the command line."""

from __future__ import annotations

from typing import Any

import click

from clew.cli.core.app import OutcomeCommand, command
from clew.cli.core.options import flag, option, project_option, repeatable, spec_argument
from clew.cli.core.streams import read_text
from clew.cli.specs.edit import ACTOR, message, set_box
from clew.cli.specs.read import opened
from clew.kit.errors import UsageError
from clew.kit.outcome import Outcome

_ORDER = "order of criteria and checks"


class _InOrder(OutcomeCommand):
    """A command that knows in which order its options were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse them, and note which of `--criterion` and `--check` came when."""
        _values, _rest, given = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [one.name for one in given if one.name in ("criteria", "checks")]
        return super().parse_args(ctx, args)


@click.command(cls=_InOrder)
@click.argument("description", nargs=-1)
@repeatable("--criterion", "criteria", "Acceptance criterion.", metavar="TEXT")
@repeatable("--check", "checks", "Command that checks the criterion before it.", metavar="COMMAND")
@option("--body-file", "File with the text below the title; - is stdin.", metavar="FILE")
@option("--prompt", "Prompt for the agent.", metavar="NAME")
@flag("--needs-approval", "Require approval before work starts.")
@option("--template", "Create the spec from this template.", metavar="NAME")
@repeatable("--var", "variables", "Variable of the template.", metavar="KEY=VALUE")
@repeatable("--label", "labels", "Label.", metavar="LABEL")
@option("--type", "spec_type", "Type of the spec (default: code).", metavar="TYPE")
@repeatable("--depends-on", "Spec that must be completed first.", metavar="ID")
@repeatable("--file", "target_files", "File that the spec changes.", metavar="PATH")
@project_option
@click.pass_context
def add(
    context: click.Context,
    /,
    description: tuple[str, ...],
    *,
    template: str | None,
    variables: tuple[str, ...],
    project: str | None,
    **given: Any,
) -> Outcome:
    """Create a spec. DESCRIPTION becomes its title; `-` reads the whole text from stdin."""
    from clew.specs.change.add import add_from_template, add_spec
    from clew.specs.check.lint import lint_lines, lint_specs

    store = opened(project)
    fields: dict[str, Any] = {"type": given["spec_type"]} if given["spec_type"] else {}
    lists = {name: list(given[name]) for name in ("labels", "target_files") if given[name]}
    if given["depends_on"]:
        lists["depends_on"] = [store.load(name).id for name in given["depends_on"]]
    words = _text(" ".join(description), given["body_file"])
    criteria = _paired(context.meta[_ORDER], given["criteria"], given["checks"])
    how: dict[str, Any] = {"fields": fields | lists, "criteria": criteria, "actor": ACTOR}
    if template:
        spec = add_from_template(store, template, variables, words, **how)
    elif words:
        asks = {name: given[name] for name in ("prompt", "needs_approval")}
        spec = add_spec(store, words, **asks, **how)
    else:
        raise UsageError("What is to be done?", 'For example: chant add "Add a login page"')
    report = lint_specs(store, store.config(), [spec])
    found = [finding.as_json() for finding in report.findings]
    text = f"Created spec: {spec.id}{lint_lines(report)}"
    return message({"id": spec.id, "path": spec.head.path, "diagnostics": found}, text)


def _text(words: str, file: str | None) -> str:
    if words == "-" and file is None:
        return read_text("-")
    return f"{words}\n{read_text(file)}".lstrip("\n") if file is not None else words


def _paired(
    order: list[str], criteria: tuple[str, ...], checks: tuple[str, ...]
) -> list[tuple[str, str | None]]:
    """Each criterion with the check that was given after it."""
    texts, commands = iter(criteria), iter(checks)
    pairs: list[tuple[str, str | None]] = []
    for name in order:
        if name == "criteria":
            pairs.append((next(texts), None))
        elif not pairs or pairs[-1][1] is not None:
            raise UsageError("--check needs a --criterion before it", "Give one of each in turn.")
        else:
            pairs[-1] = (pairs[-1][0], next(commands))
    return pairs


@command(name="add")
@spec_argument
@click.argument("text")
@option("--check", "Command that checks the criterion.", metavar="COMMAND")
@project_option
def add_criterion(spec_id: str, text: str, check: str | None, project: str | None) -> Outcome:
    """Add an acceptance criterion to a spec."""
    from clew.specs.change.update import new_criterion

    done = new_criterion(opened(project), spec_id, text, check, actor=ACTOR)
    return Outcome(done, (f"Added criterion {done['number']} to {done['id']}",))


@command()
@spec_argument
@click.argument("number", type=int)
@option("--evidence", "Evidence that the criterion is met.", metavar="TEXT")
@project_option
def check(spec_id: str, number: int, evidence: str | None, project: str | None) -> Outcome:
    """Check an acceptance criterion by its number."""
    return set_box(project, spec_id, number, checked=True, evidence=evidence)


@command()
@spec_argument
@click.argument("number", type=int)
@project_option
def uncheck(spec_id: str, number: int, project: str | None) -> Outcome:
    """Uncheck an acceptance criterion by its number."""
    return set_box(project, spec_id, number, checked=False)
