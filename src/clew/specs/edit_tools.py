"""The handlers of the tools that change specs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.answer import Answer
from clew.specs.tools import config_of, store_of

if TYPE_CHECKING:
    from clew.kit.call import Call

_ACTOR = "mcp"
_LISTS = ("depends_on", "labels", "target_files")


def update(arguments: dict[str, Any], call: Call) -> Answer:
    """Change a spec's status or fields, or append output."""
    from clew.specs.change.update import update_spec

    fields: dict[str, Any] = {name: arguments[name] for name in _LISTS if name in arguments}
    if arguments.get("model"):
        fields["model"] = arguments["model"]
    spec = update_spec(
        store_of(call),
        arguments["id"],
        status=arguments.get("status"),
        output=arguments.get("output"),
        fields=fields,
        expected_version=arguments.get("expected_version"),
        actor=_ACTOR,
    )
    text = f"Updated spec: {spec.id}"
    return Answer(text, data={"id": spec.id, "message": text, "version": spec.version})


def edit(arguments: dict[str, Any], call: Call) -> Answer:
    """Set status, fields and body at once, if nobody changed the spec meanwhile."""
    from clew.specs.change.update import edit_spec

    spec = edit_spec(
        store_of(call),
        arguments["id"],
        status=arguments.get("status"),
        fields=arguments.get("set"),
        body=arguments.get("body"),
        expected_version=arguments.get("expected_version"),
        actor=_ACTOR,
    )
    text = f"Updated spec: {spec.id}"
    return Answer(text, data={"id": spec.id, "message": text, "version": spec.version})


def check(arguments: dict[str, Any], call: Call) -> Answer:
    """Check or uncheck one criterion."""
    from clew.specs.change.update import check_criterion

    done = check_criterion(
        store_of(call),
        arguments["id"],
        arguments["number"],
        checked=arguments.get("checked", True),
        evidence=arguments.get("evidence"),
        expected_version=arguments.get("expected_version"),
        actor=_ACTOR,
    )
    return Answer.of(done, indent=2)


def add(arguments: dict[str, Any], call: Call) -> Answer:
    """Create a spec and lint it."""
    from clew.specs.change.add import add_spec
    from clew.specs.check.lint import lint_lines, lint_specs

    store = store_of(call)
    config = config_of(store)
    spec = add_spec(store, arguments["description"], prompt=arguments.get("prompt"), actor=_ACTOR)
    report = lint_specs(store, config, [spec])
    message = f"Created spec: {spec.id}"
    data = {
        "id": spec.id,
        "message": message,
        "diagnostics": [finding.as_json() for finding in report.findings],
    }
    return Answer(message + lint_lines(report), data=data)


def finalize(arguments: dict[str, Any], call: Call) -> Answer:
    """Complete a spec."""
    from clew.specs.change.finalize import finalize as complete

    store = store_of(call)
    done = complete(store, config_of(store), arguments["id"], actor=_ACTOR)
    text = f"Finalized spec: {done['id']}"
    return Answer(text, data={**done, "message": text})


def archive(arguments: dict[str, Any], call: Call) -> Answer:
    """Move a spec to the archive."""
    from clew.specs.change.finalize import archive as put_away

    store = store_of(call)
    spec_id = store.load(arguments["id"]).id
    path = store.paths.relative(put_away(store, spec_id, actor=_ACTOR))
    text = f"Archived spec: {spec_id} -> {path}"
    return Answer(text, data={"id": spec_id, "path": path, "message": text})
