"""What a spec's buttons do: each calls what the command line and the tools call."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Conflict, Invalid
from clew.web.pages.board import move_spec
from clew.web.site import ACTOR, back_to, form_of, path_part, site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.specs.model import Spec
    from clew.web.site import Site

    Action = Callable[[Site, Spec, dict[str, str]], str]

_MERGE_SECONDS = 3.0


def act(request: Request) -> Response:
    """Do what a button says, then show the spec with a word about it."""
    site = site_of(request)
    spec = site.specs().load(request.path_params["spec_id"])
    action = ACTIONS.get(request.path_params["action"])
    if action is None:
        raise Invalid("There is no such action", f"There are: {', '.join(ACTIONS)}.")
    place = "#review" if request.path_params["action"] == "remark" else ""
    done = action(site, spec, form_of(request))
    response = back_to(f"/specs/{path_part(spec.id)}", done)
    response.headers["location"] += place
    return response


def _start(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.work.scheduling.start import Mode, begin_work

    with site.workspace() as work:
        begun = begin_work(work, (spec.id,), Mode())
    return f"Started: {begun.record['process_id']}"


def _pause(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.work.runs.stop import pause

    with site.workspace() as work:
        pause(work, spec.id)
    return "Paused. Nothing is lost; start goes on with it."


def _take_over(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.work.runs.stop import take_over

    with site.workspace() as work:
        place = take_over(work, spec.id).worktree
    return f"It is yours. The work is in {place}" if place else "It is yours."


def _release(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.work.runs.stop import release, release_finished

    with site.workspace() as work:
        if form.get("then") == "finish":
            release_finished(work, spec.id)
            return "Handed back as done; it is being checked."
        release(work, spec.id)
    return _start(site, spec, form) if form.get("then") == "continue" else "Handed back; paused."


def _approve(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.specs.change.approval import approve

    approve(site.specs(), spec.id, by=form.get("by", "") or "board", actor=ACTOR)
    return "Approved"


def _trust(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.work.runs.approving import approve_hashes

    with site.workspace() as work:
        made, finished = approve_hashes(work, form.get("hashes", "").split(), "the board")
    checked = f"; {', '.join(finished)} is being checked" if finished else ""
    return f"Approved {len(made)} command{'s' if len(made) != 1 else ''}{checked}"


def _reject(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.specs.change.approval import reject

    by, reason = form.get("by", "") or "board", form.get("reason", "")
    reject(site.specs(), spec.id, by=by, reason=reason, actor=ACTOR)
    return "Rejected"


def _criterion(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.specs.change.update import check_criterion
    from clew.specs.files.criteria import parse_criteria

    number, seen = form.get("number", ""), form.get("text", "")
    items = {str(item.number): item.text for item in parse_criteria(spec.body).items}
    if items.get(number) != seen:
        raise Conflict(
            f"The criteria have changed meanwhile: number {number} was \u201c{seen}\u201d when you "
            f"looked, and is \u201c{items.get(number, 'gone')}\u201d now",
            "Look at them again; nothing was checked.",
        )
    done = check_criterion(
        site.specs(),
        spec.id,
        int(number),
        checked=form.get("checked") == "yes",
        evidence=form.get("evidence", "").strip() or None,
        expected_version=spec.version,
        actor=ACTOR,
    )
    return f"Criterion {number} is {'checked' if done['checked'] else 'open again'}"


def _remark(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.web.views.review import Remark, add_remark

    line = form.get("line", "")
    if not line.isdecimal() or len(line) > 9:
        raise Invalid("Which line?", "Give its number in the diff.")
    side = "old" if form.get("side") == "old" else "new"
    remark = Remark(form.get("path", ""), int(line), side, form.get("text", ""))
    add_remark(site.specs(), spec, remark, actor=ACTOR)
    return "Noted; the next attempt gets it"


def _reset(site: Site, spec: Spec, form: dict[str, str]) -> str:
    move_spec(site, spec, "pending")
    return "Put back: it can be started again"


def _complete(site: Site, spec: Spec, form: dict[str, str]) -> str:
    move_spec(site, spec, "completed")
    return "Completed"


def _cancel(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.work.runs.stop import cancel_spec

    with site.workspace() as work:
        cancel_spec(work, spec.id, actor=ACTOR)
    return "Cancelled"


def _archive(site: Site, spec: Spec, form: dict[str, str]) -> str:
    from clew.specs.change.finalize import archive

    archive(site.specs(), spec.id, actor=ACTOR)
    return "Archived"


def _merge(site: Site, spec: Spec, form: dict[str, str]) -> str:
    """Merge in the background: the project's checks may take their time."""
    from clew.work.merging.queue import Merger

    ended: list[str] = []
    failed: list[ClewError] = []

    def merge() -> None:
        try:
            with site.workspace() as work:
                results = Merger(work, work.config()).merge([spec.id])
            for result in results:
                if result.is_merged:
                    ended.append(f"Merged as {(result.commit or '')[:12]}")
                else:
                    failed.append(
                        Conflict(result.note or f"Not merged: {result.status}", result.hint)
                    )
        except ClewError as error:
            failed.append(error)

    worker = threading.Thread(target=merge, name=f"merge {spec.id}")
    worker.start()
    worker.join(_MERGE_SECONDS)
    if failed:
        raise failed[0]
    return ended[0] if ended else "Merging; this page will show the result"


ACTIONS: dict[str, Action] = {
    "start": _start,
    "pause": _pause,
    "takeover": _take_over,
    "release": _release,
    "approve": _approve,
    "reject": _reject,
    "trust": _trust,
    "criterion": _criterion,
    "remark": _remark,
    "reset": _reset,
    "complete": _complete,
    "cancel": _cancel,
    "archive": _archive,
    "merge": _merge,
}
