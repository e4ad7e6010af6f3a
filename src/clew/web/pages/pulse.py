"""Pulse: activity over time, hotspots, what changes together, lead time and cost of specs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from clew.kit.errors import ClewError
from clew.kit.times import day_text
from clew.web.site import page, seconds_of, site_of
from clew.web.views import charts

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.history.store.interface import HistoryStore
    from clew.web.site import Site

_WEEKS = 26
_MOST = 12
_LETTERS = 44
_OWN = ".chant/"


def show(request: Request) -> Response:
    """All plots, each with the numbers behind it."""
    site = site_of(request)
    only, plots = _history_plots(site, asks_all="all" in request.query_params)
    of_specs = _spec_plots(site) if site.shows_project() else []
    shown = [plot for plot in (*plots, *of_specs) if plot]
    return page(request, "pulse.html", here="pulse", only=only, plots=shown)


def _history_plots(site: Site, *, asks_all: bool) -> tuple[str, list[dict[str, Any] | None]]:
    """The repository that is shown where there are others too, and the plots of its history."""
    try:
        store = site.history()
        repos = store.repos()
    except ClewError:
        return "", []
    if not repos:
        return "", []
    own = "" if asks_all else site.own_repo(store)
    hottest = _hottest(store, own)
    plots = [_activity(store, own), _hotspots(hottest[:_MOST]), _together(store, hottest[:8])]
    return own if len(repos) > 1 else "", plots


def _activity(store: HistoryStore, own: str) -> dict[str, Any]:
    """Commits a week, by repository; the busiest ones by name."""
    from clew.history.questions.hotspots import WEEK, weekly_commits

    weeks, counts = weekly_commits(store, _WEEKS, own or None)
    busiest = sorted(counts, key=lambda name: -counts[name].total())[:4]
    labels = [day_text(week * WEEK) for week in weeks]
    series: dict[str, Any] = {name: [counts[name][week] for week in weeks] for name in busiest}
    total = sum(by_week.total() for by_week in counts.values())
    words = f"Commits a week: {total} in {_WEEKS} weeks up to {labels[-1]}"
    rows_shown = [
        (label, *(series[name][at] for name in busiest))
        for at, label in enumerate(labels)
        if any(series[name][at] for name in busiest)
    ]
    return {
        "title": "Activity",
        "note": words,
        "svg": charts.bars(labels, series, words=words),
        "columns": ("Week of", *busiest),
        "rows": rows_shown[::-1],
    }


def _hotspots(found: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not found:
        return None
    labels = [_short(entry["path"]) for entry in found]
    words = f"The files that most commits changed, first {found[0]['path']}"
    return {
        "title": "Hotspots",
        "note": "The files that most commits changed.",
        "svg": charts.lying_bars(labels, {"commits": [e["commits"] for e in found]}, words=words),
        "columns": ("File", "Commits", "Lines added", "Lines removed", "People"),
        "rows": [(e["path"], e["commits"], e["added"], e["removed"], e["authors"]) for e in found],
        "files": [{"repo": e["repo"], "path": e["path"]} for e in found],
    }


def _hottest(store: HistoryStore, own: str) -> list[dict[str, Any]]:
    """The files that change most, without Clew's own."""
    from clew.history.questions.hotspots import hotspots

    found: list[dict[str, Any]] = hotspots(store, repos=[own] if own else None, limit=_MOST * 10)[
        "paths"
    ]
    return [entry for entry in found if not entry["path"].startswith(_OWN)]


def _together(store: HistoryStore, hottest: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Of the hottest files, the pairs that change together most."""
    from clew.history.questions.cochange import co_change

    pairs: dict[tuple[str, str], tuple[int, float]] = {}
    for entry in hottest:
        for other in co_change(store, entry["repo"], entry["path"], limit=3)["files"]:
            first, second = sorted((entry["path"], other["path"]))
            if first.startswith(_OWN):
                continue
            pairs.setdefault((first, second), (other["support"], other["confidence"]))
    best = sorted(pairs.items(), key=lambda item: -item[1][0])[:_MOST]
    if not best:
        return None
    labels = [f"{_short(a, 20)} + {_short(b, 20)}" for (a, b), _ in best]
    values = {"commits": [support for _, (support, _) in best]}
    return {
        "title": "Change together",
        "note": "Pairs of files that the same commits changed, among the hottest ones.",
        "svg": charts.lying_bars(labels, values, words="Pairs of files that change together"),
        "columns": ("File", "With", "Commits"),
        "rows": [(a, b, support) for (a, b), (support, _) in best],
    }


def _spec_plots(site: Site) -> list[dict[str, Any]]:
    try:
        site.specs()
    except ClewError:
        return []
    return [plot for plot in (_lead_time(site), _cost(site)) if plot]


def _lead_time(site: Site) -> dict[str, Any] | None:
    """Days from a spec's creation to its completion, in order of completion."""
    from clew.specs.files.ids import date_of
    from clew.specs.query.activity import audit_events

    store = site.specs()
    created = {e.spec_id: e.time for e in audit_events(store) if e.action == "CREATED"}
    found = []
    for head in store.heads(archived=True):
        end = seconds_of(head.completed_at)
        begin = seconds_of(created.get(head.id) or date_of(head.id))
        if head.status == "completed" and end is not None and begin is not None:
            found.append((end, head.id, head.title or "", max(0.0, end - begin) / 86400))
    found = sorted(found)[-30:]
    if not found:
        return None
    labels = [day_text(end) for end, _, _, _ in found]
    days = [round(lead, 2) for _, _, _, lead in found]
    middle = sorted(days)[len(days) // 2]
    words = f"Lead time of the last {len(found)} completed specs; half took {middle:g} days or less"
    return {
        "title": "Lead time",
        "note": words,
        "svg": charts.bars(labels, {"days": days}, words=words),
        "columns": ("Completed", "Spec", "Title", "Days"),
        "rows": [(day_text(end), name, title, round(lead, 2)) for end, name, title, lead in found][
            ::-1
        ],
    }


def _cost(site: Site) -> dict[str, Any] | None:
    """What the runs of each spec cost, as far as it is known."""
    from clew.work.journal.sqlite import read_journal

    with read_journal(site.work()) as journal:
        runs = [] if journal is None else journal.runs()
    cost: Counter[str] = Counter()
    attempts: Counter[str] = Counter(run.spec_id for run in runs)
    for run in runs:
        cost[run.spec_id] += run.cost_usd or 0  # type: ignore[assignment]
    best = [(name, float(value)) for name, value in cost.most_common(_MOST) if value]
    if not best:
        return None
    total = sum(cost.values())
    words = f"Cost of runs by spec; {total:.2f} USD in all"
    values = {"USD": [round(value, 4) for _, value in best]}
    return {
        "title": "Cost",
        "note": words,
        "svg": charts.lying_bars([name for name, _ in best], values, words=words),
        "columns": ("Spec", "USD", "Runs"),
        "rows": [(name, f"{value:.2f}", attempts[name]) for name, value in best],
    }


def _short(path: str, most: int = _LETTERS) -> str:
    return path if len(path) <= most else f"…{path[-most + 1 :]}"
